#include "node/plugin/process/api_connection.h"

#include <chrono>
#include <utility>

#include "pkg/base/system_random.h"

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
  auto session = std::make_unique<kube::ThreadedApiSession>(*std::move(config), kProgram, clock_,
                                                            logger_, PluginApi::kQueues);
  earlier_ = std::exchange(api_, std::make_unique<PluginApi>(
                                     std::move(session), settings_.node, clock_,
                                     [] { return std::make_unique<base::SystemRandom>(); }, logger_,
                                     tasks_, on_change_));
}

void ApiConnection::Close() {
  api_.reset();
  used_.reset();
  earlier_.reset();
}

}  // namespace plugin
