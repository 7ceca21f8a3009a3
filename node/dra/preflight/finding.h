// What a node lacks for a driver, and how to fix it. Pure.
#pragma once

#include <string>
#include <vector>

namespace dra {

struct Finding {
  bool stops = false;  // No pod gets a device until it is fixed.
  std::string text = {};
  friend bool operator==(const Finding&, const Finding&) = default;
};

// Adds what keeps containers from their devices. `cdi_trouble` is as CdiTrouble() says, and
// `runtime` as the Node's status does: "containerd://2.1.4". Both may be empty.
void AddContainers(const std::string& cdi_trouble, const std::string& runtime,
                   std::vector<Finding>& findings);

// While pods hold devices, no finding stops the plugin: only a running plugin can release them.
std::vector<Finding> Settled(std::vector<Finding> findings, bool has_prepared);

}  // namespace dra
