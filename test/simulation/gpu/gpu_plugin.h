// One process of the GPU plugin.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "node/gpu/loop/gpu_loop.h"
#include "test/simulation/driver/process.h"

namespace simulation {

// As gpu::GpuReader has them.
struct GpuHost {
  std::function<std::string()> driver_mark = {};
  std::function<base::Result<gpu::GpuRead>()> read = {};
};

class GpuPlugin final : public Plugin {
 public:
  GpuPlugin(ApiServer& server, DiskContent& disk, const PluginOptions& options, gpu::Rules rules,
            GpuHost host, Serve serve, EditDisk edit);
  ~GpuPlugin() override;

 private:
  class Host;

  ProcessDisk disk_;
  const std::unique_ptr<Host> host_;
  std::unique_ptr<gpu::GpuApi> api_;
  std::unique_ptr<gpu::GpuLoop> loop_;
};

}  // namespace simulation
