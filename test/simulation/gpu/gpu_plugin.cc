#include "test/simulation/gpu/gpu_plugin.h"

#include <utility>

#include "test/simulation/apiserver/contract.h"

namespace simulation {

class GpuPlugin::Host final : public gpu::GpuReader {
 public:
  explicit Host(GpuHost host) : host_(std::move(host)) {}
  std::string DriverMark() const override { return host_.driver_mark(); }
  base::Result<gpu::GpuRead> Read() override { return host_.read(); }

 private:
  const GpuHost host_;
};

GpuPlugin::GpuPlugin(ApiServer& server, DiskContent& disk, const PluginOptions& options,
                     gpu::Rules rules, GpuHost host, Serve serve, EditDisk edit)
    : Plugin(server, options, gpu::MetricsOf(options.node), std::move(serve)),
      disk_(disk, std::move(edit)),
      host_(std::make_unique<Host>(std::move(host))) {
  auto session = NewSession();
  loop_ = std::make_unique<gpu::GpuLoop>(gpu::LoopParts{.node = options.node,
                                                        .ns = std::string(kDriverNamespace),
                                                        .clock = clock(),
                                                        .logger = logger(),
                                                        .tasks = tasks(),
                                                        .metrics = metrics(),
                                                        .claim_disk = disk_,
                                                        .host = *host_,
                                                        .executor = executor(),
                                                        .boot_id = disk.boot_id,
                                                        .rules = std::move(rules),
                                                        .instances = options.instances});
  api_ = std::make_unique<gpu::GpuApi>(std::move(session), options.node, NewRandom(), logger(),
                                       tasks(), [this] { NoteChange(); });
  loop_->Connect(api_.get());
  Run(*loop_);
}

GpuPlugin::~GpuPlugin() = default;

}  // namespace simulation
