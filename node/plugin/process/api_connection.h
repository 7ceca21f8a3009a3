// The connection to the API server, by the newest client configuration.
//
// Used by the deciding thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "node/plugin/api/plugin_api.h"
#include "node/plugin/settings.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/task_queue.h"
#include "pkg/kube/runtime/api_session.h"

namespace plugin {

class ApiConnection {
 public:
  // `on_change` is called on other threads when a watch has news.
  // The other arguments outlive the connection.
  ApiConnection(const Settings& settings, const base::Clock& clock, base::Logger& logger,
                base::TaskQueue& tasks, kube::LoadClientConfig load,
                std::function<void()> on_change)
      : settings_(settings),
        clock_(clock),
        logger_(logger),
        tasks_(tasks),
        config_(std::move(load), clock, logger),
        on_change_(std::move(on_change)) {}
  ~ApiConnection() { Close(); }
  ApiConnection(const ApiConnection&) = delete;
  ApiConnection& operator=(const ApiConnection&) = delete;

  // Makes api() once a configuration is loaded, and again if it changes: the server, its CA or the
  // source of the credentials. It is loaded every minute. Requests in flight end on the earlier
  // connection.
  void Turn();
  // Null until then. Valid until the next Turn() or Close().
  PluginApi* api() const { return api_.get(); }
  // Returns when to call Turn() again if nothing changes.
  base::Clock::TimePoint next() const { return config_.next(); }
  // Drops what is in flight.
  void Close();
  // Returns the configuration of api(). Empty if there is none.
  const std::optional<kube::ClientConfig>& used() const { return used_; }

 private:
  const Settings& settings_;
  const base::Clock& clock_;
  base::Logger& logger_;
  base::TaskQueue& tasks_;
  kube::ConfigLoader config_;
  const std::function<void()> on_change_;
  std::optional<kube::ClientConfig> used_ = {};
  std::unique_ptr<PluginApi> api_;
  std::unique_ptr<PluginApi> earlier_;  // Null if it has nothing in flight.
};

}  // namespace plugin
