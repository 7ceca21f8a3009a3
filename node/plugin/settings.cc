#include "node/plugin/settings.h"

#include <map>
#include <sstream>

#include "controller/api/names.h"
#include "pkg/command_line/flags.h"
#include "pkg/http/listener.h"
#include "pkg/kube/api/names.h"

namespace plugin {

namespace {

using command_line::Add, command_line::Quoted;

constexpr int kPortMax = 65'535;
constexpr int kWaitMost = 3600;
constexpr const char* kCapability = "/proc/driver/nvidia/capabilities/fabric-imex-mgmt";

// Values of flags that are accepted so that a command line for NVIDIA's plugin works here.
struct Given {
  std::string gates = {};
  std::string imex_mode = "driverManaged";
  std::string imex_isolation = "domain";
  std::string host_driver_root = {};
  std::string library_folders = {};
  const CLI::Option* driver_root = nullptr;
  double qps = 0;
  int burst = 0;
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

// Returns what is wrong with values that become part of paths and names. Empty if nothing is.
std::string CheckPlaces(const Settings& settings) {
  if (!kube::IsDnsSubdomain(settings.node)) {
    return "--node-name " + Quoted(settings.node) +
           " is not a node's name: set it, or NODE_NAME, to spec.nodeName";
  }
  if (!kube::IsDnsLabel(settings.ns)) {
    return "--namespace " + Quoted(settings.ns) + " is not a namespace's name";
  }
  if (!settings.pod_uid.empty() && !kube::IsDnsSubdomain(settings.pod_uid)) {
    return "--pod-uid " + Quoted(settings.pod_uid) +
           " is not a UID: set it to metadata.uid, or leave it out";
  }
  const std::string& endpoint = settings.metrics_address;
  if (const auto checked = http::CheckAddress(endpoint); !endpoint.empty() && !checked) {
    return "--http-endpoint " + Quoted(endpoint) + ": " + checked.error().message;
  }
  const std::map<std::string, const std::string*> paths = {
      {"--kubelet-registrar-directory-path", &settings.registry_folder},
      {"--kubelet-plugins-directory-path", &settings.plugins_folder},
      {"--cdi-root", &settings.cdi_folder},
      {"--nvidia-driver-root", &settings.host_driver_root},
      {"--container-driver-root", &settings.driver_root}};
  for (const auto& [flag, path] : paths) {
    if (!path->starts_with('/')) {
      return flag + " " + Quoted(*path) + " must be a path that begins with a /";
    }
  }
  return {};
}

std::string ReadLibraryFolders(const Given& given, Settings& settings) {
  std::istringstream text(given.library_folders);
  for (std::string folder; std::getline(text, folder, ':');) {
    if (!folder.starts_with('/')) {
      return "--nvidia-driver-library-paths " + Quoted(given.library_folders) +
             " must be paths that begin with a /, separated by colons";
    }
    settings.library_folders.push_back(folder);
  }
  return {};
}

void AddGiven(CLI::App& app, Settings& settings, Given& given) {
  app.option_defaults()->group("Node and domains");
  Add(app, "--node-name", "NODE_NAME", settings.node, "This node; required")->required();
  Add(app, "--namespace", "NAMESPACE", settings.ns,
      "Driver namespace: the namespace of daemons and cliques (default)");
  Add(app, "--pod-uid", "POD_UID", settings.pod_uid,
      "UID of the plugin's pod. With it, the next pod serves before this one ends. Needs "
      "Kubernetes 1.33");
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

void AddPlaces(CLI::App& app, Settings& settings, Given& given) {
  app.option_defaults()->group("Files and programs");
  command_line::AddKubeconfig(app, settings);
  Add(app, "--kubelet-registrar-directory-path", "KUBELET_REGISTRAR_DIRECTORY_PATH",
      settings.registry_folder,
      "Folder in which the kubelet looks for plugins (/var/lib/kubelet/plugins_registry)");
  Add(app, "--kubelet-plugins-directory-path", "KUBELET_PLUGINS_DIRECTORY_PATH",
      settings.plugins_folder, "Folder of the plugins' folders (/var/lib/kubelet/plugins)");
  Add(app, "--cdi-root", "CDI_ROOT", settings.cdi_folder,
      "Folder in which the container runtime looks for CDI specs (/etc/cdi)");
  given.driver_root = Add(app, "--nvidia-driver-root", "NVIDIA_DRIVER_ROOT",
                          settings.host_driver_root, "Root of NVIDIA's driver on the host (/)");
  Add(app, "--host-driver-root,--host_driver-root", "HOST_DRIVER_ROOT", given.host_driver_root,
      "Old name of --nvidia-driver-root");
  Add(app, "--container-driver-root", "DRIVER_ROOT_CTR_PATH", settings.driver_root,
      "Root of NVIDIA's driver in the plugin's container (/driver-root)");
  Add(app, "--nvidia-driver-library-paths", "NVIDIA_DRIVER_LIBRARY_PATHS", given.library_folders,
      "Further folders of NVIDIA's libraries below the driver's root, separated by colons");
  Add(app, "--nvidia-cdi-hook-path", "NVIDIA_CDI_HOOK_PATH", settings.hook,
      "Path of nvidia-cdi-hook on the host (a copy of this container's /usr/bin/nvidia-cdi-hook, "
      "if it exists)");
  Add(app, "--config-template", "CONFIG_TEMPLATE", settings.config_template,
      "Template of IMEX's configuration (/templates/compute-domain-daemon-config.tmpl.cfg)");
  Add(app, "--proc-devices", "ALT_PROC_DEVICES_PATH", settings.devices,
      "File to read instead of /proc/devices. The IMEX capability is then searched under the "
      "driver's root");
  Add(app, "--boot-id", "BOOT_ID_PATH", settings.boot_id,
      "File with the ID of this boot (/proc/sys/kernel/random/boot_id)");
  Add(app, "--keep-privileges", "KEEP_PRIVILEGES", settings.keeps_privileges,
      "Keep all capabilities and system calls after the start, for drivers that need them (false)");
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

void AddSeen(CLI::App& app, Settings& settings, Given& given) {
  app.option_defaults()->group("Log and endpoints");
  Add(app, "--healthcheck-port", "HEALTHCHECK_PORT", settings.health_port,
      "Port of the gRPC health check, services liveness and registration; 0: any, -1: off (-1)")
      ->check(CLI::Range(-1, kPortMax));
  Add(app, "--http-endpoint", "HTTP_ENDPOINT", settings.metrics_address,
      "host:port of metrics, /livez and /readyz, e.g. :8081; empty: off (off)");
  Add(app, "--metrics-path", "METRICS_PATH", settings.metrics_path,
      "Path of the metrics (/metrics)");
  command_line::AddLogging(app, settings);
  Add(app, "--kube-api-qps", "KUBE_API_QPS", given.qps, "Accepted and ignored")
      ->group(command_line::kIgnored);
  Add(app, "--kube-api-burst", "KUBE_API_BURST", given.burst, "Accepted and ignored")
      ->group(command_line::kIgnored);
}

}  // namespace

std::string Settings::Folder() const { return plugins_folder + "/" + std::string(api::kDriver); }

std::string Settings::DevicesPath() const { return devices.empty() ? "/proc/devices" : devices; }

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
  command_line::SetUpApp(app, kExitStatuses);
  AddGiven(app, parsed.settings, given);
  AddPlaces(app, parsed.settings, given);
  AddPreflight(app, parsed.settings);
  AddSeen(app, parsed.settings, given);
  parsed.exit = command_line::Parse(app, arguments);
  if (parsed.exit) return parsed;
  if (given.driver_root->empty() && !given.host_driver_root.empty()) {
    parsed.settings.host_driver_root = given.host_driver_root;
  }
  std::string wrong = CheckPlaces(parsed.settings);
  if (wrong.empty()) wrong = ReadLibraryFolders(given, parsed.settings);
  if (wrong.empty()) wrong = ReadGatesAndImex(given, parsed.settings);
  if (!wrong.empty()) parsed.exit = command_line::Misused(wrong + "\n");
  return parsed;
}

}  // namespace plugin
