// The API server, as the deciding thread of the plugin uses it: also domains, the node, and the
// clique that a claim waits for.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "controller/api/types.h"
#include "node/dra/api/driver_api.h"
#include "node/plugin/api/domain_cache.h"
#include "pkg/base/log.h"
#include "pkg/base/random.h"
#include "pkg/base/task_queue.h"
#include "pkg/kube/cache/reflector.h"
#include "pkg/kube/cache/store.h"
#include "pkg/kube/client/config.h"
#include "pkg/kube/runtime/api_session.h"

namespace plugin {

// User agent in the API server's audit log.
inline constexpr std::string_view kProgram = "compute-domain-kubelet-plugin";

class PluginApi final : public dra::DriverApi {
 public:
  // Returns random numbers for one watch.
  using MakeRandom = std::function<std::unique_ptr<base::Random>()>;
  // `session` has kQueues. `on_change` is called on the session's threads. `clock`, `logger` and
  // `tasks` must outlive the object.
  PluginApi(std::unique_ptr<kube::ApiSession> session, std::string node, const base::Clock& clock,
            MakeRandom make_random, base::Logger& logger, base::TaskQueue& tasks,
            std::function<void()> on_change);
  // Returns one over connections to the server of `config`, with threads of its own.
  static std::unique_ptr<PluginApi> Connect(kube::ClientConfig config, const std::string& node,
                                            const base::Clock& clock, base::Logger& logger,
                                            base::TaskQueue& tasks,
                                            std::function<void()> on_change);
  ~PluginApi() override;

  // State as of the watches. Null until the node is read.
  const DomainCache& domains() const { return domains_; }
  std::shared_ptr<const api::Node> node() const { return nodes_.Get({.name = node_name_}); }

  // Watches this clique instead of the earlier one. Returns false while that is forbidden.
  bool WatchClique(const kube::ObjectKey& key);
  // Returns whether the node is Ready in that clique. Empty until it is read.
  std::optional<bool> IsReadyIn(const kube::ObjectKey& key) const;

 private:
  struct CliqueWatch;

  const std::string node_name_;
  const base::Clock& clock_;
  const MakeRandom make_random_;
  base::Logger& logger_;
  DomainCache domains_;
  kube::Store<api::Node> nodes_;
  kube::Reflector domain_reflector_;
  kube::Reflector node_reflector_;
  base::Clock::TimePoint watch_again_ = {};  // When to watch a clique again after a refusal.
  // Last: they use the other members.
  std::unique_ptr<CliqueWatch> clique_;
  kube::ApiSession::WatchHandle watch_;
};

}  // namespace plugin
