// Flags and environment variables of the controller. Names as in NVIDIA's controller.
#pragma once

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "controller/api/feature_gates.h"
#include "controller/api/names.h"
#include "controller/compute_domain/model/facts.h"
#include "pkg/command_line/exit.h"
#include "pkg/command_line/settings.h"
#include "pkg/kube/lease/leader_elector.h"

namespace settings {

enum class Command {
  kRun,
  kReleaseFinalizers,  // Releases finalizers, then exits.
};

struct Settings : command_line::CommonSettings {
  Command command = Command::kRun;
  bool force = false;  // Release finalizers even while the Lease is held.

  // Identity of this process.
  // Like `image`, empty only for commands other than kRun.
  std::string pod_name = {};
  std::string ns = "default";  // The driver namespace, in which daemons run.
  kube::ObjectKey Pod() const { return {.ns = ns, .name = pod_name}; }
  std::vector<std::string> additional_namespaces = {};
  // Returns all driver namespaces, `ns` first.
  std::vector<std::string> DriverNamespaces() const {
    std::vector<std::string> all = {ns};
    all.insert(all.end(), additional_namespaces.begin(), additional_namespaces.end());
    return all;
  }

  // Daemons.
  std::string image = {};
  std::vector<std::string> pull_secrets = {};
  int nodes_per_imex_domain_max = 18;
  int daemon_log_verbosity = 0;
  bool controller_writes_membership = false;
  // Returns whether the controller writes cliques although the image name is that of NVIDIA's
  // driver, whose daemons write their entries themselves.
  bool HasTwoWriters() const;
  api::FeatureGates feature_gates = {};
  // Returns the feature gates that are set and have no effect.
  api::IgnoredGates IgnoredGates() const { return feature_gates.Ignored(rules.imex_on_hosts); }
  // What the rules read. RuleSettingsOf() adds `ns` to `controller_writes_membership` above.
  compute_domain::RuleSettings rules = {};

  // The API server.
  std::string config = {};  // Path of a file: see configuration.h. Empty if there is none.
  int workers = 32;

  // Leader election.
  bool elects = true;
  // Returns whether the process takes part in leader election. A dry run leads nothing.
  bool Elects() const { return elects && !dry_run; }
  std::string lease_name = std::string(api::kLeaseNames.front());
  std::string lease_namespace = {};  // Empty for `ns`.
  // Returns the Lease of this controller first, then Leases of other controllers in its namespace.
  std::vector<kube::ObjectKey> KnownLeases() const;
  kube::LeaseTiming lease = {};
  // NVIDIA's controller is in the driver namespace, too: see process/nvidia_controller.h.
  bool beside_nvidia = false;

  // Endpoints and metrics.
  std::string http_endpoint = {};  // Empty if it is off.
  // Debug pages, which name all users. Only for readers on the same host or in the same pod. Empty
  // if they are off.
  std::string debug_endpoint = "127.0.0.1:8081";
  std::string metrics_path = "/metrics";
  // Port for metrics with names, over TLS, for users that the API server allows. 0 if it is off.
  int metrics_secure_port = 0;
  std::string metrics_cert_file = {};  // Both empty for a self-signed certificate.
  std::string metrics_key_file = {};
  bool dry_run = false;
};

// Returns what the rules read of the settings.
compute_domain::RuleSettings RuleSettingsOf(const Settings& settings);

// Exit statuses of the process. --help prints them, and docs/flags.md lists them.
inline constexpr auto kExitStatuses = std::to_array<command_line::ExitStatus>({
    {0, "Ended by SIGTERM or SIGINT, or the command has done everything"},
    {command_line::kFailed,
     "The Lease was lost six times in ten minutes, the command failed or refused, or two signals "
     "came"},
    {command_line::kMisused,
     "A flag, a variable or the file of --config is invalid; nothing was started"},
    command_line::kDefect,
});

using Parsed = command_line::Parsed<Settings>;

// Reads the command line, the environment and the file of --config. A flag or variable takes
// precedence over the file. Long names with one dash ("-kubeconfig", "-v=4") are accepted. An Exit
// with a status other than 0 names the flag, the problem and the correct form.
Parsed Parse(const std::vector<std::string>& arguments);

}  // namespace settings
