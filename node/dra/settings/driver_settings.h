// The flags and environment that kubelet plugins share, under the names of NVIDIA's plugins.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/command_line/settings.h"

namespace dra {

struct DriverSettings : command_line::CommonSettings {
  std::string node = {};
  std::string ns = "default";  // The driver namespace.
  std::string pod_uid =
      {};  // UID of the plugin's own pod. If empty, names of sockets do not have it.

  std::string registry_folder = "/var/lib/kubelet/plugins_registry";
  std::string plugins_folder = "/var/lib/kubelet/plugins";
  std::string cdi_folder = "/etc/cdi";
  std::string host_driver_root = "/";
  std::string driver_root = "/driver-root";  // The same folder in this container.
  // Further folders of NVIDIA's libraries, below the driver's root.
  std::vector<std::string> library_folders = {};
  std::string hook = {};     // Path on the host. If empty, a copy of cdom's own, if it has one.
  std::string devices = {};  // Replaces /proc/devices. Empty if it does not.
  std::string boot_id = "/proc/sys/kernel/random/boot_id";
  bool keeps_privileges = false;  // Keeps all capabilities of the process.

  int health_port = -1;              // Negative if there is no health check. 0 means any port.
  std::string metrics_address = {};  // Empty if no metrics are served.
  std::string metrics_path = "/metrics";

  // Returns the folder of a driver.
  std::string FolderOf(std::string_view driver) const {
    return plugins_folder + "/" + std::string(driver);
  }
  std::string DevicesPath() const { return devices.empty() ? "/proc/devices" : devices; }
};

// Adds the flags, and reads those that other values follow from. Outlives the app.
class DriverFlags {
 public:
  explicit DriverFlags(DriverSettings& settings) : settings_(settings) {}

  // `ns_help` says what else is in the driver namespace.
  void AddNode(CLI::App& app, const std::string& ns_help);
  // `devices_help` says what else --proc-devices changes.
  void AddPlaces(CLI::App& app, const std::string& devices_help);
  // The example of --http-endpoint has this port.
  void AddSeen(CLI::App& app, const std::string& port);
  // Sets what follows from the flags. Returns what is wrong with them. Empty if nothing is.
  std::string Finish();

 private:
  std::string CheckPlaces() const;
  std::string ReadLibraryFolders();

  DriverSettings& settings_;
  std::string host_driver_root_ = {};
  std::string library_folders_ = {};
  const CLI::Option* driver_root_ = nullptr;
  double qps_ = 0;
  int burst_ = 0;
};

}  // namespace dra
