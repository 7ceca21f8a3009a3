// The daemon's flags and environment, under the names of NVIDIA's daemon.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/api/feature_gates.h"
#include "node/daemon/identity.h"
#include "pkg/command_line/exit.h"
#include "pkg/command_line/settings.h"

namespace imex_daemon {

enum class Command {
  kRun,
  kCheck,  // Reports whether IMEX is ready, for the pod's probes.
};

struct Settings : command_line::CommonSettings {
  Command command = Command::kRun;
  DaemonIdentity self = {};
  std::string domain_name = {};  // Name of the ComputeDomain, for the log.
  std::string domain_namespace = "default";
  api::FeatureGates feature_gates = {};

  // Paths. The defaults match the controller's pod template.
  std::string folder = "/imexd";  // The IMEX configuration template, and the files made from it.
  std::string hosts_file = "/etc/hosts";
  std::string program = "nvidia-imex";
  std::string ctl_program = "nvidia-imex-ctl";
  std::vector<std::string> program_arguments = {};  // In addition to the daemon's own.
  std::vector<std::string> scratch_folders = {};    // Emptied at the start.

  // IMEX's own settings. If empty or false, the template's values apply.
  std::optional<int> disconnected_grace = {};  // Seconds. -1 means no limit.
  bool encrypts = false;
  std::string keys_folder = "/imex-keys";  // Has tls.key, tls.crt and ca.crt, as in a Secret.

  std::string PathOf(std::string_view file) const { return folder + "/" + std::string(file); }
};

// Exit statuses of the process. --help prints them.
inline constexpr auto kExitStatuses = std::to_array<command_line::ExitStatus>({
    {0, "Ended by SIGTERM or SIGINT; check: IMEX is ready"},
    {command_line::kFailed,
     "IMEX could not be started, the last line says why; check: IMEX is not ready"},
    {command_line::kMisused, "A flag or a variable is invalid; nothing was started"},
    command_line::kDefect,
});

using Parsed = command_line::Parsed<Settings>;

// Reads the command line and the environment. The text of an Exit with a status other than 0 is one
// line that says what is wrong and what to do.
Parsed Parse(const std::vector<std::string>& arguments);

}  // namespace imex_daemon
