#include "node/plugin/process/run.h"

#include <memory>
#include <utility>

#include "controller/api/names.h"
#include "node/dra/process/api_connection.h"
#include "node/dra/process/driver_process.h"
#include "node/plugin/host/file_disk.h"
#include "node/plugin/loop/plugin_loop.h"
#include "node/plugin/process/file_host_reader.h"

namespace plugin {

namespace {

using base::Result;

dra::ServeOptions OptionsOf(const Settings& settings) {
  dra::ServeOptions options = {.service = {.driver = std::string(api::kDriver),
                                           .registry_folder = settings.registry_folder,
                                           .plugin_folder = settings.Folder(),
                                           .daemon_namespace = settings.ns,
                                           .pod_uid = settings.pod_uid},
                               .cdi_folder = settings.cdi_folder,
                               .metrics_address = settings.metrics_address,
                               .metrics_path = settings.metrics_path,
                               .ready_notes = api::TextsOf(settings.IgnoredGates())};
  if (settings.health_port >= 0) options.service.health_port = settings.health_port;
  return options;
}

}  // namespace

Result<void> Run(const Settings& settings, command_line::Frame& frame,
                 std::unique_ptr<base::SerialExecutor> reader) {
  Metrics metrics(MetricsOf(settings.node, settings.IgnoredGates()));
  dra::DriverProcess process(frame, OptionsOf(settings));
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
  dra::ApiConnection<PluginApi> connection(
      frame.clock(), frame.logger(), [&frame] { return frame.LoadConfig(); },
      [&](kube::ClientConfig config) {
        return PluginApi::Connect(std::move(config), settings.node, frame.clock(), frame.logger(),
                                  frame.tasks(), [&process] { process.NoteChange(); });
      });
  const auto connect = [&] {
    connection.Turn();
    loop.Connect(connection.api());
    return connection.next();
  };
  TRY(dra::MakeFolders(settings.Folder() + "/domains"));
  auto done = process.Run(loop, connect, frame.stop());
  loop.Connect(nullptr);
  connection.Close();  // Its threads use the loop.
  reader.reset();
  process.Close();
  return done;
}

}  // namespace plugin
