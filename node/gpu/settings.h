// The GPU driver's flags and environment, under the names of NVIDIA's plugin.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "controller/api/feature_gates.h"
#include "node/dra/settings/driver_settings.h"
#include "pkg/command_line/exit.h"

namespace gpu {

enum class Command {
  kServe,
  kPreflight,  // Checks the node, and starts nothing.
};

struct Settings : dra::DriverSettings {
  Command command = Command::kServe;
  int preflight_wait = 0;  // Seconds to wait for what is missing.
  api::FeatureGates feature_gates = {};
  bool publishes_numa_node = false;
  bool publishes_clique = false;

  std::string Folder() const;  // The driver's folder.
  // Folder with the capabilities of MIG instances.
  std::string CapabilitiesPath() const;
  std::string SysfsPath() const;
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

}  // namespace gpu
