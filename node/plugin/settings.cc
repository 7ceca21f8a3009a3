#include "node/plugin/settings.h"

#include "controller/api/names.h"
#include "pkg/command_line/flags.h"

namespace plugin {

namespace {

using command_line::Add, command_line::Quoted;

constexpr int kWaitMost = 3600;
constexpr const char* kCapability = "/proc/driver/nvidia/capabilities/fabric-imex-mgmt";

// Values of flags that are accepted so that a command line for NVIDIA's plugin works here.
struct Given {
  std::string gates = {};
  std::string imex_mode = "driverManaged";
  std::string imex_isolation = "domain";
};

std::string ReadGatesAndImex(const Given& given, Settings& settings) {
  auto gates = api::FeatureGates::Read(given.gates);
  if (!gates) return "--feature-gates (FEATURE_GATES): " + gates.error().message;
  settings.crash_on_fabric_errors = gates->IsOn("CrashOnNVLinkFabricErrors");
  settings.partitions = gates->IsOn("FabricManagerPartitioning");
  settings.feature_gates = *std::move(gates);
  if (given.imex_isolation != "domain") {
    return "--imex-isolation must be domain, not " + Quoted(given.imex_isolation);
  }
  settings.host_managed = given.imex_mode == "hostManaged";
  if (!settings.host_managed && given.imex_mode != "driverManaged") {
    return "--imex-mode must be driverManaged or hostManaged, not " + Quoted(given.imex_mode);
  }
  if (settings.host_managed && !settings.feature_gates.IsOn("HostManagedIMEXDaemon")) {
    return "--imex-mode=hostManaged needs the feature gate HostManagedIMEXDaemon=true, here as for "
           "the controller";
  }
  return {};
}

void AddGiven(CLI::App& app, Settings& settings, Given& given) {
  Add(app, "--imex-mode", "IMEX_MODE", given.imex_mode,
      "Where IMEX runs [driverManaged, hostManaged]. driverManaged: in daemon pods; hostManaged: "
      "as a service of the host (driverManaged)");
  Add(app, "--imex-isolation", "IMEX_ISOLATION", given.imex_isolation, "domain (domain)")
      ->group(command_line::kIgnored);
  Add(app, "--imex-host-socket-path", "IMEX_HOST_SOCKET_PATH", settings.imex_socket,
      "Socket of the host's IMEX (/etc/nvidia-imex/imex_ctrl.sock)");
  Add(app, "--gpu-clique-label-enabled", "GPU_CLIQUE_LABEL_ENABLED", settings.labels_clique,
      "Label the node with its clique, nvidia.com/gpu.clique (false)");
  Add(app, "--feature-gates", "FEATURE_GATES", given.gates,
      "NVIDIA's feature gates as name=bool, separated by commas. Unknown gates are ignored");
}

void AddPreflight(CLI::App& app, Settings& settings) {
  app.add_subcommand("preflight",
                     "Lists what this node lacks, with the fix, and exits. For an init container")
      ->fallthrough()
      ->callback([&settings] { settings.command = Command::kPreflight; });
  app.option_defaults()->group("Preflight");
  Add(app, "--preflight-wait", "PREFLIGHT_WAIT", settings.preflight_wait,
      "Seconds to wait for what is missing, before it fails (0)")
      ->check(CLI::Range(0, kWaitMost));
  Add(app, "--preflight-facts", "PREFLIGHT_FACTS", settings.preflight_facts,
      "Also print the raw answers of NVIDIA's library and IMEX (false)");
  Add(app, "--host-cgroups", "HOST_CGROUPS", settings.host_cgroups,
      "The host's /sys/fs/cgroup, to detect IMEX that runs on the host (/host/cgroup)");
}

}  // namespace

std::string Settings::Folder() const { return FolderOf(api::kDriver); }

std::string Settings::CapabilityPath() const {
  return devices.empty() ? kCapability : driver_root + kCapability;
}

Parsed Parse(const std::vector<std::string>& arguments) {
  Parsed parsed;
  CLI::App app(
      "Prepares claims for channels and daemons of ComputeDomains, for the kubelet of one "
      "node.",
      "compute-domain-kubelet-plugin");
  Given given;
  dra::DriverFlags flags(parsed.settings);
  command_line::SetUpApp(app, kExitStatuses);
  app.option_defaults()->group("Node and domains");
  flags.AddNode(app, ": the namespace of daemons and cliques (default)");
  AddGiven(app, parsed.settings, given);
  flags.AddPlaces(app, ". The IMEX capability is then searched under the driver's root");
  Add(app, "--config-template", "CONFIG_TEMPLATE", parsed.settings.config_template,
      "Template of IMEX's configuration (/templates/compute-domain-daemon-config.tmpl.cfg)");
  AddPreflight(app, parsed.settings);
  flags.AddSeen(app, "8081");
  parsed.exit = command_line::Parse(app, arguments);
  if (parsed.exit) return parsed;
  std::string wrong = flags.Finish();
  if (wrong.empty()) wrong = ReadGatesAndImex(given, parsed.settings);
  if (!wrong.empty()) parsed.exit = command_line::Misused(wrong + "\n");
  return parsed;
}

}  // namespace plugin
