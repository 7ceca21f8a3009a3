#include "node/gpu/api/gpu_api.h"

#include <utility>

#include "node/gpu/rules/claim.h"
#include "pkg/base/system_random.h"

namespace gpu {

GpuApi::GpuApi(std::unique_ptr<kube::ApiSession> session, const std::string& node,
               std::unique_ptr<base::Random> random, base::Logger& logger, base::TaskQueue& tasks,
               std::function<void()> on_change)
    : DriverApi(std::move(session), kDriver, node, std::move(random), logger, tasks,
                std::move(on_change)),
      node_name_(node),
      nodes_(&DecodeNode, kube::kNoKeys, kube::OnAnyChange(this->on_change()), logger),
      node_reflector_(kube::OneNamed(kube::kNodes, {.name = node}), nodes_, this->random(), logger),
      watch_(Watch({&node_reflector_})) {}

GpuApi::~GpuApi() = default;

std::unique_ptr<GpuApi> GpuApi::Connect(kube::ClientConfig config, const std::string& node,
                                        const base::Clock& clock, base::Logger& logger,
                                        base::TaskQueue& tasks, std::function<void()> on_change) {
  return std::make_unique<GpuApi>(std::make_unique<kube::ThreadedApiSession>(
                                      std::move(config), kProgram, clock, logger, kQueues),
                                  node, std::make_unique<base::SystemRandom>(), logger, tasks,
                                  std::move(on_change));
}

base::Result<GpuApi::NodeMeta> GpuApi::DecodeNode(json::View object) {
  return NodeMeta{.meta = TRY(kube::DecodeMeta(object))};
}

std::string GpuApi::node_uid() const {
  const auto node = nodes_.Get({.name = node_name_});
  return node == nullptr ? "" : node->meta.uid;
}

}  // namespace gpu
