// How a process finds its API server, and talks to it.
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
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

// Whether both lead to the same server with the same credentials.
[[nodiscard]] bool IsSameConfig(const ClientConfig& a, const ClientConfig& b);

// Loads the configuration until it can be used, every 5 seconds. Logs each new error once.
//
// For one thread. What is passed outlives it.
class ConfigLoader {
 public:
  ConfigLoader(LoadClientConfig load, const base::Clock& clock, base::Logger& logger)
      : load_(std::move(load)), clock_(clock), logger_(logger) {}

  // A configuration that was loaded now. Empty if it is not time to load one, or there is none that
  // can be used. After a success the next is loaded `again` later.
  [[nodiscard]] std::optional<ClientConfig> Poll(std::chrono::nanoseconds again);
  // When Poll() loads the next time.
  [[nodiscard]] base::Clock::TimePoint next() const { return next_; }
  // The error of the last load. Empty if it succeeded.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  const LoadClientConfig load_;
  const base::Clock& clock_;
  base::Logger& logger_;
  base::Clock::TimePoint next_ = {};
  std::string error_ = {};
};

// Requests and watches with one configuration.
//
// Each queue has a connection and a thread of its own, and sends one request after the other.
// Post() and Watch() are for one thread. The destructor gives up requests under way, and begins no
// other task. Bound: as of base::TaskQueue.
class ApiSession {
 public:
  // May block for as long as a request takes.
  using Task = std::function<void(http::Transport& transport)>;

  // `program` is how the audit log of the API server knows this process. `clock` outlives it.
  ApiSession(ClientConfig config, std::string_view program, const base::Clock& clock,
             std::size_t queues);
  ~ApiSession();

  [[nodiscard]] const ClientConfig& config() const { return config_; }

  void Post(std::size_t queue, Task task);

  // Keeps the reflectors in sync until the thread is asked to stop; calls `on_turn` after each
  // turn, on that thread. The reflectors outlive it, and so does the session.
  [[nodiscard]] std::jthread Watch(std::initializer_list<Reflector*> reflectors,
                                   std::function<void()> on_turn) const;

 private:
  struct Queue {
    std::unique_ptr<http::CurlTransport> transport;
    std::unique_ptr<base::SerialExecutor> executor;  // Last: it uses the other.
  };

  const ClientConfig config_;
  const std::string user_agent_;
  const base::Clock& clock_;
  http::Gate gate_;
  std::vector<Queue> queues_;
};

}  // namespace kube
