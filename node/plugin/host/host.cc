#include "node/plugin/host/host.h"

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <system_error>

#include "node/cdi/files.h"
#include "node/nvml/library.h"
#include "node/plugin/host/base_spec.h"
#include "pkg/base/file.h"
#include "pkg/base/number.h"
#include "pkg/base/subprocess.h"
#include "pkg/base/text.h"

namespace plugin {

namespace {

using base::ErrorCode, base::Fail, base::Result, base::Trim, base::Unavailable;

constexpr std::size_t kTextMax = 64U << 10;
constexpr std::size_t kOutputMax = 4096;
constexpr std::chrono::seconds kProgramTime{5};
constexpr const char* kChannels = "nvidia-caps-imex-channels";
constexpr const char* kCapabilities = "nvidia-caps";

std::optional<std::int64_t> NumberIn(std::string_view text) {
  const auto number = base::ParseNumber<std::int32_t>(text);
  if (!number || *number < 0) return {};
  return *number;
}

// Turns an error of reading into kNotFound, because it is not an error of the fabric.
base::Error NotThere(base::Error error) {
  error.code = ErrorCode::kNotFound;
  return error;
}

Result<std::optional<cdi::DeviceNode>> Management(const HostPaths& paths,
                                                  std::string_view devices) {
  const auto major = MajorOf(devices, kCapabilities);
  const auto text = base::ReadFile(paths.capability, kTextMax);
  if (!text && text.error().code == ErrorCode::kNotFound) return std::optional<cdi::DeviceNode>();
  if (!text) return tl::unexpected(text.error());
  if (!major) {
    return Unavailable(paths.devices + " has no " + kCapabilities + ", and " + paths.capability +
                       " is there");
  }
  return TRY(CapabilityIn(*text, *major).map_error(base::While(paths.capability)));
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
  const std::string root = RootOfDevices(driver_root);
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

std::string DriverMark(const HostPaths& paths) {
  std::string mark = base::ReadFile(paths.devices, kTextMax).value_or("");
  for (const std::string& gpu : FindGpus(paths.driver_root)) mark += " " + gpu;
  const auto library = nvml::FindLibrary(paths.driver_root, paths.library_folders);
  struct stat file = {};
  if (!library || ::stat(library->c_str(), &file) != 0) return mark;
  for (const auto number : {static_cast<std::uint64_t>(file.st_dev), file.st_ino,
                            static_cast<std::uint64_t>(file.st_mtim.tv_sec),
                            static_cast<std::uint64_t>(file.st_mtim.tv_nsec)}) {
    mark += " " + std::to_string(number);
  }
  return mark + " " + *library;
}

std::optional<std::int64_t> MajorOf(std::string_view devices, std::string_view name) {
  bool is_character = false;
  while (!devices.empty()) {
    const std::string_view line = Trim(base::TakePart(devices, '\n'));
    if (line == "Character devices:") is_character = true;
    if (line == "Block devices:") is_character = false;
    const std::size_t gap = line.find(' ');
    if (!is_character || gap == std::string_view::npos || Trim(line.substr(gap)) != name) continue;
    return NumberIn(line.substr(0, gap));
  }
  return {};
}

Result<cdi::DeviceNode> CapabilityIn(std::string_view text, std::int64_t major) {
  std::optional<std::int64_t> minor;
  std::optional<std::int64_t> mode;
  while (!text.empty()) {
    const std::string_view line = base::TakePart(text, '\n');
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = Trim(line.substr(0, colon));
    if (name == "DeviceFileMinor") minor = NumberIn(Trim(line.substr(colon + 1)));
    if (name == "DeviceFileMode") mode = NumberIn(Trim(line.substr(colon + 1)));
  }
  if (!minor || !mode) return Unavailable("it has no DeviceFileMinor and DeviceFileMode");
  std::string path = "/dev/nvidia-caps/nvidia-cap" + std::to_string(*minor);
  return cdi::DeviceNode{
      .path = path, .host_path = path, .major = major, .minor = *minor, .mode = *mode};
}

std::optional<std::string> RunInRoot(const std::string& driver_root,
                                     const std::vector<std::string>& command,
                                     const base::Clock& clock, const std::stop_token& stop) {
  base::Program program = {.path = "/usr/sbin/chroot",
                           .arguments = {driver_root},
                           .environment = {"PATH=" + ProgramPath()}};
  program.arguments.insert(program.arguments.end(), command.begin(), command.end());
  auto end = base::RunProgram(program, {.time = kProgramTime, .output_bytes_max = kOutputMax},
                              clock, stop);
  if (!end || !end->Succeeded()) return {};
  return std::move(end->output);
}

Result<Host> ReadHost(const HostPaths& paths, const HostNeeds& needs) {
  const std::string devices = TRY(base::ReadFile(paths.devices, kTextMax).map_error(NotThere));
  const auto major = MajorOf(devices, kChannels);
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
