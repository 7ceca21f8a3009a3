#include "node/daemon/settings.h"

#include <limits>
#include <map>

#include "node/imex/hosts_file.h"
#include "node/imex/names.h"
#include "pkg/command_line/flags.h"
#include "pkg/kube/api/names.h"

namespace imex_daemon {

namespace {

using command_line::Add, command_line::Quoted;

// Returns what is wrong with the gates. Empty if nothing is.
std::string ReadGates(const std::string& text, Settings& settings) {
  auto gates = api::FeatureGates::Read(text);
  if (!gates) return "--feature-gates (FEATURE_GATES): " + gates.error().message;
  settings.feature_gates = *std::move(gates);
  return {};
}

// Returns what is wrong with the identity that the container was given. Empty if nothing is.
std::string CheckIdentity(const DaemonIdentity& self) {
  if (self.domain.empty()) {
    return "COMPUTE_DOMAIN_UUID is empty: the CDI edits of this pod's claim did not apply; switch "
           "CDI on in the node's container runtime, and see the log of its kubelet plugin";
  }
  if (!kube::IsLabelValue(self.domain) || !kube::IsLabelValue(self.clique)) {
    return "COMPUTE_DOMAIN_UUID " + Quoted(self.domain) + " or CLIQUE_ID " + Quoted(self.clique) +
           " is not a label's value; the kubelet plugin sets both: see its log";
  }
  const std::map<std::string, const std::string*> given = {{"NODE_NAME", &self.node},
                                                           {"POD_NAME", &self.pod.name},
                                                           {"POD_NAMESPACE", &self.pod.ns},
                                                           {"POD_UID", &self.pod_uid}};
  for (const auto& [variable, value] : given) {
    if (value->empty()) {
      return variable + " is empty: check the DaemonSet's pod template, which sets it";
    }
  }
  if (!imex::IsAddress(self.ip)) {
    return "POD_IP " + Quoted(self.ip) +
           " is not an address: the DaemonSet sets it to status.podIP";
  }
  return {};
}

void AddGiven(CLI::App& app, Settings& settings, std::string& names, std::string& gates) {
  app.option_defaults()->group("Environment of the pod");
  DaemonIdentity& self = settings.self;
  Add(app, "--cliqueid", "CLIQUE_ID", self.clique,
      "NVLink clique of this node; empty: the node has no fabric");
  Add(app, "--compute-domain-uuid", "COMPUTE_DOMAIN_UUID", self.domain, "UID of the ComputeDomain");
  Add(app, "--compute-domain-name", "COMPUTE_DOMAIN_NAME", settings.domain_name,
      "Name of the ComputeDomain");
  Add(app, "--compute-domain-namespace", "COMPUTE_DOMAIN_NAMESPACE", settings.domain_namespace,
      "Namespace of the ComputeDomain (default default)");
  Add(app, "--node-name", "NODE_NAME", self.node, "This node");
  Add(app, "--pod-ip", "POD_IP", self.ip, "Address of this pod");
  Add(app, "--pod-uid", "POD_UID", self.pod_uid, "UID of this pod");
  Add(app, "--pod-name", "POD_NAME", self.pod.name, "Name of this pod");
  Add(app, "--pod-namespace", "POD_NAMESPACE", self.pod.ns, "Namespace of this pod");
  Add(app, "--max-nodes-per-imex-domain", "MAX_NODES_PER_IMEX_DOMAIN", self.nodes_max,
      "Maximum number of nodes in a clique. The same for all daemons of a domain (18)")
      ->check(CLI::Range(1, imex::kNodesMax));
  Add(app, "--imex-node-names", "IMEX_NODE_NAMES", names,
      "Names of the nodes in IMEX: domain has a hash of the domain's UID in them, shared does not, "
      "as NVIDIA's daemons before 0.6. The same for all daemons of a domain (shared)")
      ->check(CLI::IsMember({"domain", "shared"}));
  Add(app, "--feature-gates", "FEATURE_GATES", gates,
      "NVIDIA's feature gates as name=bool, separated by commas. Unknown gates are ignored");
}

void AddPlaces(CLI::App& app, Settings& settings) {
  app.option_defaults()->group("Files and programs");
  command_line::AddKubeconfig(app, settings);
  Add(app, "--imex-folder", "IMEX_FOLDER", settings.folder,
      "Folder of the template of IMEX's configuration, and of the files made from it (/imexd)");
  Add(app, "--hosts-file", "HOSTS_FILE", settings.hosts_file,
      "Hosts file that gets the names of the peers (/etc/hosts)");
  Add(app, "--imex-program", "IMEX_PROGRAM", settings.program,
      "IMEX: a path, or a name in PATH (nvidia-imex)");
  Add(app, "--imex-ctl-program", "IMEX_CTL_PROGRAM", settings.ctl_program,
      "IMEX's control program: a path, or a name in PATH (nvidia-imex-ctl)");
  Add(app, "--imex-argument", "IMEX_ARGUMENTS", settings.program_arguments,
      "Further arguments for IMEX, e.g. --nogpu, separated by commas. May be repeated")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  Add(app, "--scratch-folder", "SCRATCH_FOLDERS", settings.scratch_folders,
      "Folders to empty at the start, because the pod's containers share them, separated by "
      "commas. May be repeated")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void AddImex(CLI::App& app, Settings& settings) {
  app.option_defaults()->group("Settings of IMEX");
  Add(app, "--imex-node-disconnected-grace-time", "IMEX_NODE_DISCONNECTED_GRACE_TIME",
      settings.disconnected_grace,
      "Seconds for which IMEX keeps the memory of a lost peer; -1: no limit (the template's value)")
      ->check(CLI::Range(-1, std::numeric_limits<int>::max()));
  Add(app, "--imex-enable-auth-encryption", "IMEX_ENABLE_AUTH_ENCRYPTION", settings.encrypts,
      "1: IMEX authenticates its peers by TLS and encrypts its traffic (0)");
  Add(app, "--imex-keys-folder", "IMEX_KEYS_FOLDER", settings.keys_folder,
      "Folder of tls.key, tls.crt and ca.crt, which encryption needs (/imex-keys)");
}

}  // namespace

Parsed Parse(const std::vector<std::string>& arguments) {
  Parsed parsed;
  CLI::App app("Runs IMEX for one node of a ComputeDomain.", "compute-domain-daemon");
  std::string names;
  std::string gates;
  Settings& settings = parsed.settings;
  command_line::SetUpApp(app, kExitStatuses);
  AddGiven(app, settings, names, gates);
  AddPlaces(app, settings);
  AddImex(app, settings);
  app.option_defaults()->group("Log and endpoints");
  command_line::AddLogging(app, settings);
  app.require_subcommand(1);
  app.fallthrough();
  app.add_subcommand("run", "Joins the clique and runs IMEX, until SIGTERM");
  app.add_subcommand("check", "Exits with status 0 if IMEX is ready. For probes")
      ->callback([&settings] { settings.command = Command::kCheck; });
  parsed.exit = command_line::Parse(app, arguments);
  if (parsed.exit || settings.command == Command::kCheck) return parsed;
  std::string wrong = CheckIdentity(settings.self);
  if (wrong.empty()) wrong = ReadGates(gates, settings);
  if (names == "domain") settings.self.name_prefix = imex::PrefixOf(settings.self.domain);
  if (!wrong.empty()) parsed.exit = command_line::Misused(wrong + "\n");
  return parsed;
}

}  // namespace imex_daemon
