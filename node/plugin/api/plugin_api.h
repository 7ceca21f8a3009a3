// The API server, as the deciding thread of a plugin uses it: caches of what is watched, and
// queues of requests.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/api/types.h"
#include "node/dra/rules/resource_slice.h"
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

class PluginApi {
 public:
  enum class Queue { kClaims, kReads, kNode, kSlices };
  static constexpr std::size_t kQueues = 4;

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
  ~PluginApi();
  PluginApi(const PluginApi&) = delete;
  PluginApi& operator=(const PluginApi&) = delete;

  // State as of the watches. Null until the node is read.
  const DomainCache& domains() const { return domains_; }
  std::shared_ptr<const api::Node> node() const { return nodes_.Get({.name = node_name_}); }
  // Empty until they are read.
  std::optional<std::vector<kube::ObjectMeta>> slices() const;
  // Returns the API version in which the server serves slices and claims.
  dra::SliceApi dra_version() const { return dra_version_; }

  // Watches this clique instead of the earlier one. Returns false while that is forbidden.
  bool WatchClique(const kube::ObjectKey& key);
  // Returns whether the node is Ready in that clique. Empty until it is read.
  std::optional<bool> IsReadyIn(const kube::ObjectKey& key) const;

  // Runs a task, in the order of its queue, and what it returns on the deciding thread. A task may
  // block for one request. Tasks that have not started when this is destroyed are dropped.
  using Completion = base::TaskQueue::Task;
  using Task = std::function<Completion(http::Transport& transport)>;
  void Enqueue(Queue queue, Task task);
  // Returns the number of tasks that have not ended.
  int open() const { return open_; }

 private:
  struct SliceMeta {
    kube::ObjectMeta meta = {};
  };
  struct CliqueWatch;
  static base::Result<SliceMeta> DecodeSliceMeta(json::View object);
  void OnTurn();

  const std::string node_name_;
  const base::Clock& clock_;
  const MakeRandom make_random_;
  base::Logger& logger_;
  base::TaskQueue& tasks_;
  const std::function<void()> on_change_;
  const std::unique_ptr<base::Random> random_;  // Of the watches but the clique's.
  DomainCache domains_;
  kube::Store<api::Node> nodes_;
  kube::Store<SliceMeta> slices_;
  kube::Reflector domain_reflector_;
  kube::Reflector node_reflector_;
  kube::Reflector slice_reflector_;
  std::atomic<bool> slices_read_ = false;
  std::atomic<int> open_ = 0;
  std::atomic<dra::SliceApi> dra_version_ = dra::SliceApi::kV1;
  base::Clock::TimePoint watch_again_ = {};  // When to watch a clique again after a refusal.
  // Last: they use the other members.
  const std::unique_ptr<kube::ApiSession> session_;
  std::unique_ptr<CliqueWatch> clique_;
  kube::ApiSession::WatchHandle watch_;
};

}  // namespace plugin
