#include "node/plugin/process/file_host_reader.h"

#include <filesystem>
#include <system_error>

#include "node/cdi/spec.h"
#include "node/dra/process/privileges.h"
#include "node/driver/kernel.h"
#include "node/nvml/fabric.h"
#include "node/plugin/host/base_spec.h"
#include "node/plugin/host/file_disk.h"
#include "pkg/base/text.h"

namespace plugin {

using base::Result;

HostPaths FileHostReader::Paths() const {
  return {.driver_root = settings_.driver_root,
          .library_folders = settings_.library_folders,
          .devices = settings_.DevicesPath(),
          .capability = settings_.CapabilityPath()};
}

std::string FileHostReader::DriverMark() const {
  return driver::DriverMark(settings_.driver_root, settings_.library_folders,
                            settings_.DevicesPath());
}

Result<std::string> FileHostReader::InstallHook() {
  if (!settings_.hook.empty()) return settings_.hook;
  auto copied = dra::CopyProgram(settings_.Folder(), own_hook_);
  if (!copied && copied.error().code == base::ErrorCode::kNotFound) return std::string();
  return copied;
}

bool FileHostReader::HasHook(const std::string& path) const {
  std::error_code ignored;
  return !settings_.hook.empty() || std::filesystem::exists(path, ignored);
}

Result<DriverRead> FileHostReader::Read(const std::string& hook) {
  DriverRead read = {.mark = DriverMark()};
  read.host = TRY(ReadHost(
      Paths(), {.strictness = settings_.crash_on_fabric_errors ? nvml::Strictness::kAllAttached
                                                               : nvml::Strictness::kOnlyAttached,
                .daemons = !settings_.host_managed,
                .partitions = settings_.partitions}));
  const std::string& version = read.host.driver_version;
  const driver::DriverFiles files = FindDaemonFiles(
      {.root = settings_.driver_root, .version = version, .folders = settings_.library_folders});
  const std::string trouble = driver::LibrariesTrouble(files, settings_.driver_root, version);
  if (!settings_.host_managed && !trouble.empty()) {
    return base::Fail(base::ErrorCode::kNotFound, trouble);
  }
  const int gpus = driver::CountGpus(files);
  if (!settings_.host_managed && !read.host.clique.empty() && gpus < read.host.gpus) {
    read.has_gpu = gpus > 0;
    read.lacks = std::to_string(read.host.gpus - gpus) + " of " + std::to_string(read.host.gpus) +
                 " GPUs have no device node, such as /dev/nvidia0, in the driver's root: "
                 "nvidia-persistenced or nvidia-modprobe creates them";
  }
  read.base_spec = cdi::Render(BaseSpec(
      files, {.host_root = settings_.host_driver_root, .hook = hook, .driver_version = version}));
  if (read.lacks.empty()) dra::DropReadersRights(settings_.keeps_privileges, logger_);
  return read;
}

bool FileHostReader::IsImexReady(const std::stop_token& stop) {
  const auto printed =
      driver::RunInRoot(settings_.driver_root,
                        {"nvidia-imex-ctl", "-q", "--u=" + settings_.imex_socket}, clock_, stop);
  return printed && base::Trim(*printed) == "READY";
}

}  // namespace plugin
