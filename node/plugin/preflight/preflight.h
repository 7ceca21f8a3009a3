// What a node lacks for the plugin, and how to fix it. Pure.
//
// probe.h finds out what the node has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "node/dra/preflight/finding.h"
#include "node/nvml/fabric.h"

namespace plugin {

struct NodeProbe {
  // From the settings.
  std::string driver_root = {};  // Path on the host.
  std::string imex_socket = {};  // Of the host's IMEX.

  std::string library = {};                // Path of NVIDIA's library. Empty if it was not found.
  std::vector<nvml::Fabric> fabrics = {};  // From NVML, for each GPU that is not a display GPU.
  std::string library_trouble = {};        // Why NVIDIA's library cannot be used. Empty if it can.
  std::string files_trouble = {};   // Why daemons get no libraries of it. Empty if they get some.
  std::string driver_version = {};  // Empty if unknown.
  std::string fabric_trouble =
      {};                          // Why the fabric is still forming or broken. Empty if it is not.
  std::string fabric_health = {};  // What NVML reports as wrong with the fabric.
  std::string imex_version = {};   // Empty if unknown.
  std::string cdi_trouble = {};    // Why CDI specs cannot be written. Empty if they can.
  std::string runtime = {};        // In the Node's status, "containerd://2.1.4". Empty if unknown.

  enum class Fabric {
    kUnknown,
    kNone,
    kJoined,
    kForming,
    kBroken,
  } fabric = Fabric::kUnknown;

  bool host_managed = false;    // IMEX runs on the host, not in daemons.
  bool has_channels = false;    // The kernel has IMEX channel devices.
  bool has_management = false;  // The device by which IMEX manages the fabric exists.
  bool has_imex = false;        // nvidia-imex and, below, nvidia-imex-ctl exist.
  bool has_ctl = false;
  bool has_socket = false;    // Of the host's IMEX.
  bool runs_on_host = false;  // IMEX runs on the host as nvidia-imex.service.
  bool has_prepared = false;  // Pods of this boot hold devices, which need a plugin to be released.
};

using dra::Finding;

// Returns what is missing, in the order in which to fix it. Empty if nothing is. While pods hold
// devices, no finding stops the plugin: only a running plugin can release them.
std::vector<Finding> Preflight(const NodeProbe& found);

// Returns what NVIDIA's library and IMEX report, with the raw numbers, one line each. For reports
// from machines that only their owner can access.
std::vector<std::string> FactsOf(const NodeProbe& found);

// Returns the version in the output of "nvidia-imex --version", such as "IMEX version is:
// 580.95.05". Empty if there is none.
std::string ImexVersionIn(std::string_view output);

}  // namespace plugin
