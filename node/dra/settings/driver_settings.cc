#include "node/dra/settings/driver_settings.h"

#include <map>
#include <sstream>

#include "pkg/command_line/flags.h"
#include "pkg/http/listener.h"
#include "pkg/kube/api/names.h"

namespace dra {

using command_line::Add, command_line::Quoted;

constexpr int kPortMax = 65'535;

void DriverFlags::AddNode(CLI::App& app, const std::string& ns_help) {
  Add(app, "--node-name", "NODE_NAME", settings_.node, "This node; required")->required();
  Add(app, "--namespace", "NAMESPACE", settings_.ns, "Driver namespace" + ns_help);
  Add(app, "--pod-uid", "POD_UID", settings_.pod_uid,
      "UID of the plugin's pod. With it, the next pod serves before this one ends. Needs "
      "Kubernetes 1.33");
}

void DriverFlags::AddPlaces(CLI::App& app, const std::string& devices_help) {
  DriverSettings& settings = settings_;
  app.option_defaults()->group("Files and programs");
  command_line::AddKubeconfig(app, settings);
  Add(app, "--kubelet-registrar-directory-path", "KUBELET_REGISTRAR_DIRECTORY_PATH",
      settings.registry_folder,
      "Folder in which the kubelet looks for plugins (/var/lib/kubelet/plugins_registry)");
  Add(app, "--kubelet-plugins-directory-path", "KUBELET_PLUGINS_DIRECTORY_PATH",
      settings.plugins_folder, "Folder of the plugins' folders (/var/lib/kubelet/plugins)");
  Add(app, "--cdi-root", "CDI_ROOT", settings.cdi_folder,
      "Folder in which the container runtime looks for CDI specs (/etc/cdi)");
  driver_root_ = Add(app, "--nvidia-driver-root", "NVIDIA_DRIVER_ROOT", settings.host_driver_root,
                     "Root of NVIDIA's driver on the host (/)");
  Add(app, "--host-driver-root,--host_driver-root", "HOST_DRIVER_ROOT", host_driver_root_,
      "Old name of --nvidia-driver-root");
  Add(app, "--container-driver-root", "DRIVER_ROOT_CTR_PATH", settings.driver_root,
      "Root of NVIDIA's driver in the plugin's container (/driver-root)");
  Add(app, "--nvidia-driver-library-paths", "NVIDIA_DRIVER_LIBRARY_PATHS", library_folders_,
      "Further folders of NVIDIA's libraries below the driver's root, separated by colons");
  Add(app, "--nvidia-cdi-hook-path", "NVIDIA_CDI_HOOK_PATH", settings.hook,
      "Path of nvidia-cdi-hook on the host (a copy of this container's /usr/bin/nvidia-cdi-hook, "
      "if it exists)");
  Add(app, "--proc-devices", "ALT_PROC_DEVICES_PATH", settings.devices,
      "File to read instead of /proc/devices" + devices_help);
  Add(app, "--boot-id", "BOOT_ID_PATH", settings.boot_id,
      "File with the ID of this boot (/proc/sys/kernel/random/boot_id)");
  Add(app, "--keep-privileges", "KEEP_PRIVILEGES", settings.keeps_privileges,
      "Keep all capabilities and system calls after the start, for drivers that need them (false)");
}

void DriverFlags::AddSeen(CLI::App& app, const std::string& port) {
  DriverSettings& settings = settings_;
  app.option_defaults()->group("Log and endpoints");
  Add(app, "--healthcheck-port", "HEALTHCHECK_PORT", settings.health_port,
      "Port of the gRPC health check, services liveness and registration; 0: any, -1: off (-1)")
      ->check(CLI::Range(-1, kPortMax));
  Add(app, "--http-endpoint", "HTTP_ENDPOINT", settings.metrics_address,
      "host:port of metrics, /livez and /readyz, e.g. :" + port + "; empty: off (off)");
  Add(app, "--metrics-path", "METRICS_PATH", settings.metrics_path,
      "Path of the metrics (/metrics)");
  command_line::AddLogging(app, settings);
  Add(app, "--kube-api-qps", "KUBE_API_QPS", qps_, "Accepted and ignored")
      ->group(command_line::kIgnored);
  Add(app, "--kube-api-burst", "KUBE_API_BURST", burst_, "Accepted and ignored")
      ->group(command_line::kIgnored);
}

// Of values that become part of paths and names.
std::string DriverFlags::CheckPlaces() const {
  const DriverSettings& settings = settings_;
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

std::string DriverFlags::ReadLibraryFolders() {
  std::istringstream text(library_folders_);
  for (std::string folder; std::getline(text, folder, ':');) {
    if (!folder.starts_with('/')) {
      return "--nvidia-driver-library-paths " + Quoted(library_folders_) +
             " must be paths that begin with a /, separated by colons";
    }
    settings_.library_folders.push_back(folder);
  }
  return {};
}

std::string DriverFlags::Finish() {
  if (driver_root_->empty() && !host_driver_root_.empty()) {
    settings_.host_driver_root = host_driver_root_;
  }
  std::string wrong = CheckPlaces();
  return wrong.empty() ? ReadLibraryFolders() : wrong;
}

}  // namespace dra
