#include "node/plugin/loop/plugin_state.h"

#include <utility>

namespace plugin {

bool PluginState::IsAlive(const std::string& domain) const {
  if (api == nullptr) return false;
  const auto known = api->domains().Find(domain);
  return known && !known->domain.is_deleting;
}

base::Result<void> PluginState::Save(Checkpoint next) {
  TRY(checkpoint_file.Save(std::move(next)));
  metrics.CountPrepared(checkpoint_file.checkpoint());
  return {};
}

}  // namespace plugin
