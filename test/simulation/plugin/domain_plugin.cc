#include "test/simulation/plugin/domain_plugin.h"

#include <utility>

#include "test/simulation/apiserver/contract.h"

namespace simulation {

namespace {

using base::Result;

plugin::Settings SettingsOf(const std::string& node) {
  plugin::Settings settings;
  settings.node = node;
  settings.ns = kDriverNamespace;
  settings.plugins_folder = "/plugin";
  return settings;
}

}  // namespace

class DomainPlugin::Host final : public plugin::HostReader {
 public:
  explicit Host(DomainHost host) : host_(std::move(host)) {}
  std::string DriverMark() const override { return host_.driver_mark(); }
  Result<std::string> InstallHook() override { return std::string(); }
  bool HasHook(const std::string& /*path*/) const override { return true; }
  Result<plugin::DriverRead> Read(const std::string& /*hook*/) override {
    return host_.read_driver();
  }
  bool IsImexReady(const std::stop_token& /*stop*/) override { return false; }

 private:
  const DomainHost host_;
};

DomainPlugin::DomainPlugin(ApiServer& server, DiskContent& disk, const PluginOptions& options,
                           plugin::Rules rules, DomainHost host, Serve serve, EditDisk edit)
    : Plugin(server, options, plugin::MetricsOf(options.node), std::move(serve)),
      settings_(SettingsOf(options.node)),
      disk_(disk, std::move(edit)),
      host_(std::make_unique<Host>(std::move(host))) {
  auto session = NewSession();
  loop_ = std::make_unique<plugin::PluginLoop>(
      plugin::LoopParts{.settings = settings_,
                        .clock = clock(),
                        .logger = logger(),
                        .tasks = tasks(),
                        .metrics = metrics(),
                        .claim_disk = disk_,
                        .disk = disk_,
                        .host = *host_,
                        .executor = executor(),
                        .start_poller = [] { return std::make_unique<StepExecutor>(); },
                        .boot_id = disk.boot_id,
                        .rules = std::move(rules),
                        .instances = options.instances});
  api_ = std::make_unique<plugin::PluginApi>(
      std::move(session), settings_.node, clock(), [this] { return NewRandom(); }, logger(),
      tasks(), [this] { NoteChange(); });
  loop_->Connect(api_.get());
  Run(*loop_);
}

DomainPlugin::~DomainPlugin() = default;

}  // namespace simulation
