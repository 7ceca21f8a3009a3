#include "node/gpu/preflight/probe.h"

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "node/cdi/files.h"
#include "node/dra/preflight/wait.h"
#include "node/driver/files.h"
#include "node/driver/kernel.h"
#include "node/gpu/inventory/inventory.h"
#include "node/gpu/rules/checkpoint.h"
#include "node/kubelet/socket_file.h"
#include "node/nvml/library.h"
#include "pkg/base/file.h"

namespace gpu {

namespace {

constexpr std::size_t kTextMax = 64U << 10;

// Returns the versions of CUDA's library that are not the driver's.
std::vector<std::string> OtherVersions(const Settings& settings, const std::string& version) {
  constexpr std::string_view kCuda = "libcuda.so.";
  std::set<std::string> others;
  for (const std::string& folder :
       nvml::LibraryFolders(settings.driver_root, settings.library_folders)) {
    const auto names = cdi::NamesIn(nvml::Under(settings.driver_root, folder));
    if (!names) continue;
    for (const std::string& name : *names) {
      if (!name.starts_with(kCuda)) continue;
      const std::string other = name.substr(kCuda.size());
      // "libcuda.so.1" is a link, and has no version.
      if (other != version && other.find('.') != std::string::npos) others.insert(other);
    }
  }
  return {others.begin(), others.end()};
}

void ProbeDriver(const Settings& settings, NodeProbe& found) {
  const auto numbers = base::ReadFile(settings.DevicesPath(), kTextMax).value_or("");
  found.has_gpu_numbers =
      driver::MajorOf(numbers, "nvidia-frontend") || driver::MajorOf(numbers, "nvidia");
  found.has_uvm_numbers = driver::MajorOf(numbers, "nvidia-uvm").has_value();
  const auto read = [&]() -> base::Result<void> {
    const std::string file = TRY(nvml::FindLibrary(settings.driver_root, settings.library_folders));
    const nvml::Library library = TRY(nvml::Library::Open(file, nvml::Library::Needs::kGpus));
    const nvml::Machine machine = TRY(library.ReadMachine());
    const Inventory inventory = InventoryOf(machine, {});
    found.driver_version = machine.driver_version;
    found.devices = static_cast<int>(inventory.devices.size());
    for (const Unpublished& left : inventory.unpublished) {
      found.unpublished.push_back(left.device + " " + left.why);
    }
    return {};
  }();
  if (!read) {
    found.library_trouble = read.error().message;
    return;
  }
  const driver::DriverFiles files = driver::FindDriverFiles({.root = settings.driver_root,
                                                             .version = found.driver_version,
                                                             .folders = settings.library_folders});
  found.files_trouble = driver::LibrariesTrouble(files, settings.driver_root, found.driver_version);
  found.other_versions = OtherVersions(settings, found.driver_version);
}

// Returns the socket of another driver. Without a pod's UID, this plugin's own has that name.
std::string OtherDriver(const Settings& settings) {
  if (settings.pod_uid.empty()) return {};
  std::string path = settings.registry_folder + "/" + std::string(kDriver) + "-reg.sock";
  return kubelet::IsServed(path) ? path : "";
}

}  // namespace

NodeProbe ProbeNode(const ProbeContext& context) {
  const Settings& settings = context.settings;
  NodeStatus status = context.node_status();
  NodeProbe found = {
      .driver_root = settings.host_driver_root,
      .other_driver = OtherDriver(settings),
      .cdi_trouble = dra::CdiTrouble(settings.cdi_folder),
      .runtime = std::move(status.runtime),
      .offered_gpus = std::move(status.offered_gpus),
      .has_prepared = dra::HasPrepared<CheckpointClaim>(settings.Folder(), settings.boot_id)};
  ProbeDriver(settings, found);
  return found;
}

base::Result<void> WaitForNode(const ProbeContext& context) {
  const auto look = [&]() -> dra::Look {
    const NodeProbe found = ProbeNode(context);
    return {.findings = Preflight(found),
            .has = "driver " + (found.driver_version.empty() ? "unknown" : found.driver_version) +
                   ", " + std::to_string(found.devices) + " devices" +
                   (found.runtime.empty() ? "" : ", " + found.runtime)};
  };
  return dra::WaitForNode({.clock = context.clock,
                           .most = std::chrono::seconds(context.settings.preflight_wait),
                           .say = context.say,
                           .pause = context.pause},
                          look);
}

}  // namespace gpu
