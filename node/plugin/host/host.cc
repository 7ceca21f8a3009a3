#include "node/plugin/host/host.h"

#include <filesystem>
#include <system_error>

#include "node/cdi/files.h"
#include "node/driver/files.h"
#include "node/driver/kernel.h"
#include "node/nvml/library.h"
#include "pkg/base/file.h"

namespace plugin {

namespace {

using base::ErrorCode, base::Fail, base::Result, base::Unavailable;

constexpr std::size_t kTextMax = 64U << 10;
constexpr const char* kChannels = "nvidia-caps-imex-channels";
constexpr const char* kCapabilities = "nvidia-caps";

// Turns an error of reading into kNotFound, because it is not an error of the fabric.
base::Error NotThere(base::Error error) {
  error.code = ErrorCode::kNotFound;
  return error;
}

Result<std::optional<cdi::DeviceNode>> Management(const HostPaths& paths,
                                                  std::string_view devices) {
  const auto major = driver::MajorOf(devices, kCapabilities);
  const auto text = base::ReadFile(paths.capability, kTextMax);
  if (!text && text.error().code == ErrorCode::kNotFound) return std::optional<cdi::DeviceNode>();
  if (!text) return tl::unexpected(text.error());
  if (!major) {
    return Unavailable(paths.devices + " has no " + kCapabilities + ", and " + paths.capability +
                       " is there");
  }
  return TRY(driver::CapabilityIn(*text, *major).map_error(base::While(paths.capability)));
}

Result<void> ReadDriver(const HostPaths& paths, const HostNeeds& needs, Host& host) {
  const std::string file =
      TRY(nvml::FindLibrary(paths.driver_root, paths.library_folders).map_error(NotThere));
  const nvml::Library library = TRY(nvml::Library::Open(file).map_error(NotThere));
  host.driver_version = TRY(library.DriverVersion().map_error(NotThere));
  if (needs.daemons && !nvml::KnowsNames(host.driver_version)) {
    return Fail(ErrorCode::kNotFound,
                "NVIDIA's driver is " + host.driver_version +
                    ", and IMEX knows peers by names from 570.158.01 on: install a newer one");
  }
  const auto fabrics = TRY(library.Fabrics().map_error(NotThere));
  host.clique = TRY(nvml::CliqueOf(fabrics, StrictnessOn(paths.driver_root, needs)));
  host.gpus = static_cast<int>(fabrics.size());
  host.fabric_health = nvml::HealthTrouble(fabrics);
  if (needs.daemons && !host.clique.empty() && !host.management) {
    return Unavailable(paths.capability +
                       " does not exist, and without it IMEX cannot manage channels: look at the "
                       "driver's log (dmesg)");
  }
  return {};
}

// Returns whether the host has NVLink switches, as devices or behind a management port.
bool HasSwitches(const std::string& driver_root) {
  namespace fs = std::filesystem;
  std::error_code error;
  const std::string root = driver::RootOfDevices(driver_root);
  if (!fs::is_empty(root + "/proc/driver/nvidia-nvswitch/devices", error) && !error) return true;
  const std::string ports = root + "/sys/class/infiniband/";
  for (const std::string& port : cdi::NamesIn(ports).value_or(std::vector<std::string>())) {
    const auto vpd = base::ReadFile(ports + port + "/device/vpd", kTextMax);
    if (vpd && vpd->find("SW_MNG") != std::string::npos) return true;
  }
  return false;
}

}  // namespace

nvml::Strictness StrictnessOn(const std::string& driver_root, const HostNeeds& needs) {
  const bool is_partitioned = needs.partitions &&
                              needs.strictness == nvml::Strictness::kAllAttached &&
                              HasSwitches(driver_root);
  return is_partitioned ? nvml::Strictness::kCompletedOnes : needs.strictness;
}

Result<Host> ReadHost(const HostPaths& paths, const HostNeeds& needs) {
  const std::string devices = TRY(base::ReadFile(paths.devices, kTextMax).map_error(NotThere));
  const auto major = driver::MajorOf(devices, kChannels);
  if (!major) {
    return Fail(ErrorCode::kNotFound, paths.devices + " has no " + kChannels +
                                          ": load NVIDIA's driver with IMEX channels");
  }
  Host host = {.channel_major = *major};
  host.management = TRY(Management(paths, devices).map_error(NotThere));
  TRY(ReadDriver(paths, needs, host));
  return host;
}

}  // namespace plugin
