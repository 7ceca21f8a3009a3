#include "node/plugin/process/run.h"

#include <memory>
#include <utility>

#include "controller/api/names.h"
#include "node/dra/process/driver_process.h"
#include "node/dra/process/run_driver.h"
#include "node/plugin/host/file_disk.h"
#include "node/plugin/loop/plugin_loop.h"
#include "node/plugin/process/file_host_reader.h"

namespace plugin {

base::Result<void> Run(const Settings& settings, command_line::Frame& frame,
                       std::unique_ptr<base::SerialExecutor> reader) {
  Metrics metrics(MetricsOf(settings.node, settings.IgnoredGates()));
  dra::DriverProcess process(
      frame, dra::OptionsOf(settings, api::kDriver, api::TextsOf(settings.IgnoredGates())));
  TRY(process.StartServer(metrics));
  std::string boot_id = TRY(dra::ReadBootId(settings.boot_id));
  FileDisk disk({.folder = settings.Folder(),
                 .cdi_folder = settings.cdi_folder,
                 .config_template = settings.config_template});
  FileHostReader host(settings, frame.clock(), frame.logger());
  PluginLoop loop({.settings = settings,
                   .clock = frame.clock(),
                   .logger = frame.logger(),
                   .tasks = frame.tasks(),
                   .metrics = metrics,
                   .claim_disk = disk,
                   .disk = disk,
                   .host = host,
                   .executor = *reader,
                   .start_poller = [] { return std::make_unique<base::SerialExecutor>(); },
                   .boot_id = std::move(boot_id),
                   .instances = process.instances()});
  TRY(dra::MakeFolders(settings.Folder() + "/domains"));
  return dra::RunDriver<PluginApi>(settings.node, frame, process, loop, std::move(reader));
}

}  // namespace plugin
