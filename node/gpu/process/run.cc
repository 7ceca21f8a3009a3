#include "node/gpu/process/run.h"

#include <string>
#include <utility>

#include "node/dra/host/file_claim_disk.h"
#include "node/dra/process/driver_process.h"
#include "node/dra/process/privileges.h"
#include "node/dra/process/run_driver.h"
#include "node/gpu/loop/gpu_loop.h"
#include "node/gpu/rules/claim_devices.h"

namespace gpu {

namespace {

using base::Result;

constexpr const char* kOwnHook = "/usr/bin/nvidia-cdi-hook";  // Of the image.

// Returns the path on the host of a program that sets up libraries in containers. Empty if there is
// none: then each name of a library is mounted.
Result<std::string> InstallHook(const Settings& settings) {
  if (!settings.hook.empty()) return settings.hook;
  TRY(dra::MakeFolders(settings.Folder()));
  auto copied = dra::CopyProgram(settings.Folder(), kOwnHook);
  if (copied || copied.error().code != base::ErrorCode::kNotFound) return copied;
  return settings.host_driver_root == "/" ? FindHook(settings.driver_root) : std::string();
}

}  // namespace

Result<void> Run(const Settings& settings, command_line::Frame& frame,
                 std::unique_ptr<base::SerialExecutor> reader) {
  dra::Metrics::Of metrics_of = MetricsOf(settings.node);
  metrics_of.ignored_gates = api::LabelsOf(settings.feature_gates.IgnoredOfGpus());
  dra::Metrics metrics(metrics_of);
  dra::DriverProcess process(
      frame,
      dra::OptionsOf(settings, kDriver, api::TextsOf(settings.feature_gates.IgnoredOfGpus())));
  TRY(process.StartServer(metrics));
  std::string boot_id = TRY(dra::ReadBootId(settings.boot_id));
  dra::FileClaimDisk disk({.folder = settings.Folder(),
                           .cdi_folder = settings.cdi_folder,
                           .cdi_vendor = std::string(kCdiVendor)});
  const std::string hook = TRY(InstallHook(settings));
  frame.logger().Info("Containers get the driver's libraries",
                      {{"by", hook.empty() ? "mounts and LD_LIBRARY_PATH" : hook}});
  HostGpuReader host(
      {.node = settings.node,
       .driver_root = settings.driver_root,
       .host_driver_root = settings.host_driver_root,
       .library_folders = settings.library_folders,
       .devices = settings.DevicesPath(),
       .capabilities = settings.CapabilitiesPath(),
       .sysfs = settings.SysfsPath(),
       .hook = hook},
      // Only the first read may have to make device nodes.
      [&settings, &frame] { dra::DropReadersRights(settings.keeps_privileges, frame.logger()); });
  GpuLoop loop({.node = settings.node,
                .ns = settings.ns,
                .clock = frame.clock(),
                .logger = frame.logger(),
                .tasks = frame.tasks(),
                .metrics = metrics,
                .claim_disk = disk,
                .host = host,
                .executor = *reader,
                .boot_id = std::move(boot_id),
                .additions = {.numa_node = settings.publishes_numa_node,
                              .clique = settings.publishes_clique},
                .instances = process.instances()});
  return dra::RunDriver<GpuApi>(settings.node, frame, process, loop, std::move(reader));
}

}  // namespace gpu
