#include "node/plugin/loop/plugin_state.h"

#include <map>
#include <utility>

#include "controller/api/names.h"

namespace plugin {

bool PluginState::IsAlive(const std::string& domain) const {
  if (api == nullptr) return false;
  const auto known = api->domains().Find(domain);
  return known && !known->domain.is_deleting;
}

base::Result<void> PluginState::Save(Checkpoint next) {
  TRY(checkpoint_file.Save(std::move(next)));
  CountPrepared();
  return {};
}

void PluginState::CountPrepared() {
  std::map<std::string, int> count;
  for (const auto& [uid, claim] : checkpoint_file.checkpoint().claims) {
    if (claim.state != ClaimState::kCompleted) continue;
    for (const PreparedGroup& group : claim.groups) {
      count[std::string(NameOf(group.type))] += static_cast<int>(group.devices.size());
    }
  }
  metrics.CountPrepared(count);
}

Metrics::Of MetricsOf(const std::string& node, const api::IgnoredGates& ignored_gates) {
  return {.driver = std::string(api::kDriver),
          .node = node,
          .device_types = {std::string(NameOf(DeviceType::kChannel)),
                           std::string(NameOf(DeviceType::kDaemon))},
          .ignored_gates = api::LabelsOf(ignored_gates)};
}

}  // namespace plugin
