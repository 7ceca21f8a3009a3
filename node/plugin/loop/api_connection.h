// The connection to the API server, by the newest client configuration.
//
// Used by the deciding thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "node/plugin/loop/plugin_state.h"
#include "pkg/kube/runtime/api_session.h"

namespace plugin {

class ApiConnection {
 public:
  // `on_change` is called on other threads when a watch has news.
  ApiConnection(PluginState& state, kube::LoadClientConfig load, std::function<void()> on_change)
      : state_(state),
        config_(std::move(load), state.clock, state.logger),
        on_change_(std::move(on_change)) {}
  ~ApiConnection() { Close(); }
  ApiConnection(const ApiConnection&) = delete;
  ApiConnection& operator=(const ApiConnection&) = delete;

  // Sets `api` of the state once a configuration is loaded, and again if it changes: the server,
  // its CA or the source of the credentials. It is loaded every minute. Requests in flight end on
  // the earlier connection.
  void Turn();
  // Returns when to call Turn() again if nothing changes.
  TimePoint next() const { return config_.next(); }
  // Drops what is in flight.
  void Close();
  // Returns the configuration of the API in the state. Empty if there is none.
  const std::optional<kube::ClientConfig>& used() const { return used_; }

 private:
  PluginState& state_;
  kube::ConfigLoader config_;
  const std::function<void()> on_change_;
  std::optional<kube::ClientConfig> used_ = {};  // Of the API in the state.
  std::unique_ptr<PluginApi> earlier_;           // Null if it has nothing in flight.
};

}  // namespace plugin
