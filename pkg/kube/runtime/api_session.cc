#include "pkg/kube/runtime/api_session.h"

#include <thread>
#include <utility>

#include "pkg/base/version.h"
#include "pkg/http/exchange_log.h"
#include "pkg/kube/runtime/watch_loop.h"

namespace kube {

constexpr std::chrono::seconds kRetry{5};

bool IsSameConfig(const ClientConfig& a, const ClientConfig& b) {
  return a.endpoint == b.endpoint && a.credentials->Source() == b.credentials->Source();
}

std::optional<ClientConfig> ConfigLoader::Poll(std::chrono::nanoseconds again) {
  const base::Clock::TimePoint now = clock_.Now();
  if (now < next_) return {};
  base::Result<ClientConfig> config = load_();
  next_ = now + (config ? again : kRetry);
  if (config) {
    error_.clear();
    return *std::move(config);
  }
  if (std::exchange(error_, config.error().message) != error_) {
    logger_.Error("No API server found, will retry every 5 s", {{"err", error_}});
  }
  return {};
}

ThreadedApiSession::ThreadedApiSession(ClientConfig config, std::string_view program,
                                       const base::Clock& clock, base::Logger& logger,
                                       std::size_t queues)
    : config_(std::move(config)),
      user_agent_(base::UserAgent(program)),
      clock_(clock),
      log_exchange_(
          [&logger](const http::ExchangeReport& report) { http::LogExchange(report, logger); }),
      gate_([] { return true; }, clock) {
  for (std::size_t i = 0; i < queues; ++i) {
    queues_.push_back(
        {.transport = std::make_unique<http::CurlTransport>(
             config_.endpoint, *config_.credentials, user_agent_, log_exchange_, nullptr, &gate_),
         .executor = std::make_unique<base::SerialExecutor>()});
  }
}

ThreadedApiSession::~ThreadedApiSession() { gate_.Close(std::chrono::milliseconds(0)); }

void ThreadedApiSession::Post(std::size_t queue, Task task) {
  const Queue& to = queues_.at(queue);
  to.executor->Post([task = std::move(task), &transport = *to.transport](
                        const std::stop_token& /*stop*/) { task(transport); });
}

ApiSession::WatchHandle ThreadedApiSession::Watch(std::vector<Reflector*> reflectors,
                                                  std::function<void()> on_turn) {
  return std::make_shared<std::jthread>(
      [this, reflectors = std::move(reflectors),
       on_turn = std::move(on_turn)](const std::stop_token& stop) {
        WatchLoop loop(config_.endpoint, *config_.credentials, user_agent_, clock_, log_exchange_);
        for (Reflector* reflector : reflectors) loop.Add(*reflector);
        loop.Run(stop, on_turn);
      });
}

}  // namespace kube
