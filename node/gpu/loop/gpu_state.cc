#include "node/gpu/loop/gpu_state.h"

#include <map>
#include <utility>

namespace gpu {

base::Result<void> GpuState::Save(Checkpoint next) {
  TRY(checkpoint_file.Save(std::move(next)));
  CountPrepared();
  return {};
}

void GpuState::CountPrepared() {
  std::map<std::string, int> count;
  for (const auto& [uid, claim] : checkpoint_file.checkpoint().claims) {
    if (claim.state != ClaimState::kCompleted) continue;
    for (const PreparedGroup& group : claim.groups) {
      for (const PreparedDevice& device : group.devices) ++count[device.type];
    }
  }
  metrics.CountPrepared(count);
}

dra::Metrics::Of MetricsOf(const std::string& node) {
  return {.driver = std::string(kDriver), .node = node, .device_types = {"gpu", "mig", "vfio"}};
}

}  // namespace gpu
