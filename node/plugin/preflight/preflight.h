// What a node lacks for the plugin to be of use on it, and what to do about that: a rule over what
// was found there. look.h finds it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plugin {

struct NodeProbe {
  // As the plugin is to run.
  std::string driver_root = {};  // On the host.
  std::string imex_socket = {};  // Of the host's IMEX.

  std::string library_trouble = {};  // Why NVIDIA's library is of no use; empty: it is.
  std::string driver_version = {};   // Empty: unknown.
  std::string fabric_trouble = {};   // Of one that forms or is broken.
  std::string imex_version = {};     // Empty: unknown.
  std::string cdi_trouble = {};      // Why CDI specs cannot be written; empty: they can.
  std::string runtime = {};          // As the Node has it, "containerd://2.1.4"; empty: unknown.

  enum class Fabric {
    kUnknown,
    kNone,
    kJoined,
    kForming,
    kBroken,
  } fabric = Fabric::kUnknown;

  bool host_managed = false;    // IMEX is the host's.
  bool needs_names = true;      // Daemons tell IMEX its peers by names.
  bool has_channels = false;    // Devices of them, in the kernel.
  bool has_management = false;  // The device by which a daemon manages them.
  bool has_imex = false;        // The programs.
  bool has_ctl = false;
  bool has_socket = false;    // Of the host's IMEX.
  bool runs_on_host = false;  // IMEX, as nvidia-imex.service.
  bool has_prepared = false;  // Pods of this boot hold devices, which have to be taken back.
};

struct Finding {
  bool stops = false;  // Without it no pod gets a channel here.
  std::string text = {};
  friend bool operator==(const Finding&, const Finding&) = default;
};

// In the order in which things are to be put right; none: all is there. Where pods hold devices
// nothing stops: a plugin that does not run cannot take them back.
[[nodiscard]] std::vector<Finding> Preflight(const NodeProbe& found);

// In what "nvidia-imex --version" prints, such as "IMEX version is: 580.95.05"; empty: there is
// none.
[[nodiscard]] std::string ImexVersionIn(std::string_view words);

}  // namespace plugin
