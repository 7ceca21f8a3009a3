#include "node/plugin/process/api_connection.h"

#include <chrono>
#include <utility>

namespace plugin {

constexpr std::chrono::seconds kConfigLook{60};

void ApiConnection::Turn() {
  if (earlier_ != nullptr && earlier_->open() == 0) earlier_.reset();
  auto config = config_.Poll(kConfigLook);
  if (!config) return;
  const bool is_same = used_ && kube::IsSameConfig(*used_, *config);
  // Only one is waited for. Each request ends within seconds.
  if (is_same || earlier_ != nullptr) return;
  logger_.Info("Talking to the API server",
               {{"server", config->endpoint.url}, {"from", config->source}});
  used_ = *config;
  earlier_ = std::exchange(api_, PluginApi::Connect(*std::move(config), settings_.node, clock_,
                                                    logger_, tasks_, on_change_));
}

void ApiConnection::Close() {
  api_.reset();
  used_.reset();
  earlier_.reset();
}

}  // namespace plugin
