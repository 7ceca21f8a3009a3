// The connection to the API server, by the newest client configuration.
//
// Used by the deciding thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/kube/client/config.h"
#include "pkg/kube/runtime/api_session.h"

namespace dra {

// `Api` is a DriverApi.
template <typename Api>
class ApiConnection {
 public:
  using Make = std::function<std::unique_ptr<Api>(kube::ClientConfig config)>;
  // `clock` and `logger` outlive the connection. `make` connects.
  ApiConnection(const base::Clock& clock, base::Logger& logger, kube::LoadClientConfig load,
                Make make)
      : logger_(logger), config_(std::move(load), clock, logger), make_(std::move(make)) {}
  ~ApiConnection() { Close(); }
  ApiConnection(const ApiConnection&) = delete;
  ApiConnection& operator=(const ApiConnection&) = delete;

  // Makes api() once a configuration is loaded, and again if it changes: the server, its CA or the
  // source of the credentials. It is loaded every minute. Requests in flight end on the earlier
  // connection.
  void Turn() {
    if (earlier_ != nullptr && earlier_->open() == 0) earlier_.reset();
    auto config = config_.Poll(kConfigLook);
    if (!config) return;
    const bool is_same = used_ && kube::IsSameConfig(*used_, *config);
    // Only one is waited for. Each request ends within seconds.
    if (is_same || earlier_ != nullptr) return;
    logger_.Info("Talking to the API server",
                 {{"server", config->endpoint.url}, {"from", config->source}});
    used_ = *config;
    earlier_ = std::exchange(api_, make_(*std::move(config)));
  }
  // Null until then. Valid until the next Turn() or Close().
  Api* api() const { return api_.get(); }
  // Returns when to call Turn() again if nothing changes.
  base::Clock::TimePoint next() const { return config_.next(); }
  // Drops what is in flight.
  void Close() {
    api_.reset();
    used_.reset();
    earlier_.reset();
  }
  // Returns the configuration of api(). Empty if there is none.
  const std::optional<kube::ClientConfig>& used() const { return used_; }

 private:
  static constexpr std::chrono::seconds kConfigLook{60};

  base::Logger& logger_;
  kube::ConfigLoader config_;
  const Make make_;
  std::optional<kube::ClientConfig> used_ = {};
  std::unique_ptr<Api> api_;
  std::unique_ptr<Api> earlier_;  // Null if it has nothing in flight.
};

}  // namespace dra
