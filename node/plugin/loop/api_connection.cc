#include "node/plugin/loop/api_connection.h"

#include <chrono>
#include <utility>

#include "node/plugin/api/api_client.h"

namespace plugin {

constexpr std::chrono::seconds kConfigLook{60};

void ApiConnection::Turn() {
  if (earlier_ != nullptr && earlier_->open() == 0) earlier_.reset();
  auto config = config_.Poll(kConfigLook);
  if (!config) return;
  const bool is_same = used_ && kube::IsSameConfig(*used_, *config);
  // Only one is waited for. Each request ends within seconds.
  if (is_same || earlier_ != nullptr) return;
  state_.logger.Info("Talking to the API server",
                     {{"server", config->endpoint.url}, {"from", config->source}});
  used_ = *config;
  earlier_ = std::exchange(
      state_.api, std::make_unique<PluginApiClient>(*std::move(config), state_.settings.node,
                                                    state_.clock, state_.logger, on_change_));
}

void ApiConnection::Close() {
  state_.api.reset();
  used_.reset();
  earlier_.reset();
}

}  // namespace plugin
