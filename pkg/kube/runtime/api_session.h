// Loads the client configuration, and sends requests and watches with it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/result.h"
#include "pkg/base/serial_executor.h"
#include "pkg/http/curl_transport.h"
#include "pkg/http/gate.h"
#include "pkg/kube/cache/reflector.h"
#include "pkg/kube/client/config.h"

namespace kube {

using LoadClientConfig = std::function<base::Result<ClientConfig>()>;

// Returns whether both are for the same server and credentials.
bool IsSameConfig(const ClientConfig& a, const ClientConfig& b);

// Loads the configuration every 5 seconds until it succeeds. Logs each new error once.
//
// For one thread. The constructor's arguments outlive it.
class ConfigLoader {
 public:
  ConfigLoader(LoadClientConfig load, const base::Clock& clock, base::Logger& logger)
      : load_(std::move(load)), clock_(clock), logger_(logger) {}

  // Returns a newly loaded configuration. Empty if it is too early to load, or if the load failed.
  // After a success, the next load is `again` later.
  std::optional<ClientConfig> Poll(std::chrono::nanoseconds again);
  // When Poll() loads next.
  base::Clock::TimePoint next() const { return next_; }
  // The error of the last load. Empty if it succeeded.
  const std::string& error() const { return error_; }

 private:
  const LoadClientConfig load_;
  const base::Clock& clock_;
  base::Logger& logger_;
  base::Clock::TimePoint next_ = {};
  std::string error_ = {};
};

// Sends requests and keeps watches, elsewhere than on the caller's thread.
//
// For one thread. The destructor abandons requests in flight, and drops the tasks that wait.
class ApiSession {
 public:
  // May block while a request runs.
  using Task = std::function<void(http::Transport& transport)>;
  // Destroying the last copy ends the watch, and waits for that.
  using WatchHandle = std::shared_ptr<void>;

  virtual ~ApiSession() = default;
  // Each queue sends one request after the other, and does not wait for another queue.
  virtual void Post(std::size_t queue, Task task) = 0;
  // Keeps the reflectors in sync. Calls `on_turn` after each turn, perhaps on another thread. The
  // reflectors and the session outlive the handle.
  virtual WatchHandle Watch(std::vector<Reflector*> reflectors, std::function<void()> on_turn) = 0;
};

// Over connections to the server of one configuration. Each queue and each watch has a thread.
// Bound: as of base::TaskQueue.
class ThreadedApiSession final : public ApiSession {
 public:
  // `program` names this process in the API server's audit log. `clock` and `logger` outlive the
  // session.
  ThreadedApiSession(ClientConfig config, std::string_view program, const base::Clock& clock,
                     base::Logger& logger, std::size_t queues);
  ~ThreadedApiSession() override;

  const ClientConfig& config() const { return config_; }

  void Post(std::size_t queue, Task task) override;
  WatchHandle Watch(std::vector<Reflector*> reflectors, std::function<void()> on_turn) override;

 private:
  struct Queue {
    std::unique_ptr<http::CurlTransport> transport;
    std::unique_ptr<base::SerialExecutor> executor;  // Last: it uses the other.
  };

  const ClientConfig config_;
  const std::string user_agent_;
  const base::Clock& clock_;
  const http::OnExchange log_exchange_;
  http::Gate gate_;
  std::vector<Queue> queues_;
};

}  // namespace kube
