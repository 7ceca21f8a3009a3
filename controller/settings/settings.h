// Flags and environment of the controller, under the names of NVIDIA's.
#pragma once

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "controller/api/names.h"
#include "controller/compute_domain/model/facts.h"
#include "controller/daemon_set/render.h"
#include "pkg/command_line/exit.h"
#include "pkg/command_line/settings.h"
#include "pkg/kube/lease/leader_elector.h"

namespace settings {

enum class Command {
  kRun,
  kReleaseFinalizers,  // And end.
};

struct Settings : command_line::CommonSettings {
  Command command = Command::kRun;
  bool force = false;  // Release finalizers although the Lease is held.

  // Who we are.
  std::string pod_name = {};   // And `image`: empty only with a command other than kRun.
  std::string ns = "default";  // The driver namespace: where daemons run.
  std::vector<std::string> additional_namespaces = {};
  // That one first.
  [[nodiscard]] std::vector<std::string> DriverNamespaces() const {
    std::vector<std::string> all = {ns};
    all.insert(all.end(), additional_namespaces.begin(), additional_namespaces.end());
    return all;
  }

  // The daemons.
  std::string image = {};
  std::vector<std::string> pull_secrets = {};
  int nodes_per_imex_domain_max = 18;
  int daemon_log_verbosity = 0;
  bool controller_writes_membership = false;
  // Whether the controller writes cliques although the image, by its name, is NVIDIA's, whose
  // daemons write their entries themselves.
  [[nodiscard]] bool HasTwoWriters() const;
  bool imex_on_hosts = false;    // No daemons: see compute_domain::Facts.
  bool may_be_on_hosts = false;  // By a feature gate.
  std::chrono::seconds deletion_grace{600};
  std::chrono::milliseconds status_window{500};
  bool names_others = false;  // Of all namespaces, in what the owner of a domain reads.
  std::chrono::seconds index_hold{60};
  std::vector<std::string> leaving_taints = {api::kLeavingTaints.begin(),
                                             api::kLeavingTaints.end()};
  compute_domain::RolloutSettings rollout = {};
  // What --config says of their pods; the rest of it is above.
  daemon_set::DaemonSetSettings daemons = {};

  // The API server.
  std::string config = {};  // Path of a file: see configuration.h. Empty: none.
  int workers = 32;

  // Leader election.
  bool elects = true;
  std::string lease_name = std::string(api::kLeaseNames.front());
  std::string lease_namespace = {};  // Empty: `ns`.
  // That of this controller first, then those by which other controllers may lead in its namespace.
  [[nodiscard]] std::vector<kube::ObjectKey> KnownLeases() const;
  kube::LeaseTiming lease = {};

  // What others see.
  std::string http_endpoint = {};  // Empty: off.
  // Of pages that name all users: for who is on the same host, or in the same pod. Empty: off.
  std::string debug_endpoint = "127.0.0.1:8081";
  std::string metrics_path = "/metrics";
  // Of metrics with names, over TLS and for users that the API server allows. 0: off.
  int metrics_secure_port = 0;
  std::string metrics_cert_file = {};  // Both empty: a certificate that signs itself.
  std::string metrics_key_file = {};
  bool dry_run = false;
};

// With what the process ends. --help says the same at its end, and so does docs/flags.md.
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

// Reads the command line, the process's environment and the file of --config; a flag or variable
// takes precedence over the file. Words with one dash and a long name
// ("-kubeconfig", "-v=4") are taken as well. An Exit with a status other than 0 names the flag,
// what is wrong with it and how it should look.
[[nodiscard]] Parsed Parse(const std::vector<std::string>& arguments);

}  // namespace settings
