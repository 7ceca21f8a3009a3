// The kubelet plugin's flags and environment, under the names of NVIDIA's plugin.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "controller/api/feature_gates.h"
#include "node/dra/settings/driver_settings.h"
#include "pkg/command_line/exit.h"

namespace plugin {

enum class Command {
  kServe,
  kPreflight,  // Checks the node, and starts nothing.
};

struct Settings : dra::DriverSettings {
  Command command = Command::kServe;
  bool host_managed = false;                                    // IMEX runs on the hosts.
  std::string imex_socket = "/etc/nvidia-imex/imex_ctrl.sock";  // Socket of the host's IMEX.
  api::FeatureGates feature_gates = {};
  // Returns the feature gates that are set and have no effect.
  api::IgnoredGates IgnoredGates() const { return feature_gates.Ignored(host_managed); }
  bool crash_on_fabric_errors = true;  // If false, GPUs outside of the fabric are ignored.
  bool partitions = false;             // GPUs outside of their node's partition are ignored, too.
  bool labels_clique = false;  // Whether the plugin labels the node with nvidia.com/gpu.clique.

  std::string config_template = "/templates/compute-domain-daemon-config.tmpl.cfg";

  int preflight_wait = 0;        // Seconds to wait for what is missing.
  bool preflight_facts = false;  // Also prints what the driver reports.
  std::string host_cgroups = "/host/cgroup";

  std::string Folder() const;  // The plugin's folder.
  std::string CapabilityPath() const;
};

// Exit statuses of the process. --help prints them.
inline constexpr auto kExitStatuses = std::to_array<command_line::ExitStatus>({
    {0, "Ended by SIGTERM or SIGINT"},
    {command_line::kFailed,
     "Cannot serve the kubelet, the last line says why; preflight: something is missing"},
    {command_line::kMisused, "A flag or a variable is invalid; nothing was started"},
    command_line::kDefect,
});

using Parsed = command_line::Parsed<Settings>;

// Reads the command line and the environment. The text of an Exit with a status other than 0 is one
// line that says what is wrong and what to do.
Parsed Parse(const std::vector<std::string>& arguments);

}  // namespace plugin
