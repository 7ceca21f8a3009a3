// The kubelet plugin's flags and environment, under the names of NVIDIA's plugin.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "pkg/command_line/exit.h"
#include "pkg/command_line/settings.h"

namespace plugin {

enum class Command {
  kServe,
  kPreflight,  // Whether the node has what it takes, before anything is begun.
};

struct Settings : command_line::CommonSettings {
  Command command = Command::kServe;
  std::string node = {};
  std::string ns = "default";  // Of the driver: of daemons and cliques.
  std::string pod_uid = {};    // Of the plugin's own pod; empty: its sockets have no mark.
  bool host_managed = false;   // IMEX runs on the hosts.
  std::string imex_socket = "/etc/nvidia-imex/imex_ctrl.sock";  // Of the host's.
  bool crash_on_fabric_errors = true;  // Else GPUs outside of the fabric are left out.
  bool partitions = false;             // GPUs outside of their node's partition are left out, too.
  bool labels_clique = false;          // The node, with nvidia.com/gpu.clique.

  std::string registry_folder = "/var/lib/kubelet/plugins_registry";
  std::string plugins_folder = "/var/lib/kubelet/plugins";
  std::string cdi_folder = "/etc/cdi";
  std::string host_driver_root = "/";
  std::string driver_root = "/driver-root";  // The same, as it is seen here.
  std::string hook = {};                     // On the host; empty: a copy of ours, if we have one.
  std::string config_template = "/templates/compute-domain-daemon-config.tmpl.cfg";
  std::string devices = {};  // In place of /proc/devices.
  std::string boot_id = "/proc/sys/kernel/random/boot_id";

  bool keeps_privileges = false;  // All capabilities that the process was started with.

  int preflight_wait = 0;        // Seconds, for what is missing.
  bool preflight_facts = false;  // Prints what the driver says, too.
  std::string host_cgroups = "/host/cgroup";

  int health_port = -1;              // Negative: no health check; 0: any.
  std::string metrics_address = {};  // Empty: none are served.
  std::string metrics_path = "/metrics";

  [[nodiscard]] std::string Folder() const;  // The plugin's.
  [[nodiscard]] std::string DevicesPath() const;
  [[nodiscard]] std::string CapabilityPath() const;
};

// With what the process ends. --help says the same at its end.
inline constexpr auto kExitStatuses = std::to_array<command_line::ExitStatus>({
    {0, "Ended by SIGTERM or SIGINT"},
    {command_line::kFailed,
     "Cannot serve the kubelet, the last line says why; preflight: something is missing"},
    {command_line::kMisused, "A flag or a variable is invalid; nothing was started"},
    command_line::kDefect,
});

using Parsed = command_line::Parsed<Settings>;

// Reads the command line and the process's environment. An Exit with a status other than 0 is one
// line that says what is wrong and what to do.
[[nodiscard]] Parsed Parse(const std::vector<std::string>& arguments);

}  // namespace plugin
