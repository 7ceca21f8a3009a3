// A plugin's connection to the API server: watches, and request queues.
//
// Each queue has its own thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "controller/api/types.h"
#include "node/plugin/api/api_calls.h"
#include "node/plugin/api/domain_cache.h"
#include "pkg/base/log.h"
#include "pkg/base/system_random.h"
#include "pkg/kube/cache/reflector.h"
#include "pkg/kube/cache/store.h"
#include "pkg/kube/client/config.h"
#include "pkg/kube/runtime/api_session.h"

namespace plugin {

// User agent in the API server's audit log.
inline constexpr std::string_view kProgram = "compute-domain-kubelet-plugin";

class PluginApiClient {
 public:
  // `on_change` is called on other threads. The arguments must outlive the client.
  PluginApiClient(kube::ClientConfig config, const std::string& node, const base::Clock& clock,
                  base::Logger& logger, std::function<void()> on_change);
  ~PluginApiClient();

  const kube::ClientConfig& config() const { return session_.config(); }

  // State as of the watches. Thread-safe. Null until the node is read.
  const DomainCache& domains() const { return domains_; }
  std::shared_ptr<const api::Node> node() const { return nodes_.Get({.name = node_name_}); }
  // Empty until they are read.
  std::optional<std::vector<kube::ObjectMeta>> slices() const;
  // Returns the API version in which the server serves slices and claims.
  SliceApi dra_version() const { return dra_version_; }

  // Watches this clique instead of the earlier one. Returns false while that is forbidden.
  bool WatchClique(const kube::ObjectKey& key);
  // Returns whether the node is Ready in that clique. Empty until it is read.
  std::optional<bool> IsReadyIn(const kube::ObjectKey& key) const;

  // Runs a task on the thread of its queue, in order. Called by one thread. A task may block for
  // one request. Tasks that have not started when the client is destroyed are dropped.
  enum class Queue { kClaims, kReads, kNode, kSlices };
  void Enqueue(Queue queue, kube::ApiSession::Task task) {
    ++open_;
    session_.Post(static_cast<std::size_t>(queue),
                  [this, task = std::move(task)](http::Transport& transport) {
                    task(transport);
                    --open_;
                  });
  }
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
  base::Logger& logger_;
  const std::function<void()> on_change_;
  base::SystemRandom random_;
  DomainCache domains_;
  kube::Store<api::Node> nodes_;
  kube::Store<SliceMeta> slices_;
  kube::Reflector domain_reflector_;
  kube::Reflector node_reflector_;
  kube::Reflector slice_reflector_;
  std::atomic<bool> slices_read_ = false;
  std::atomic<int> open_ = 0;
  std::atomic<SliceApi> dra_version_ = SliceApi::kV1;
  base::Clock::TimePoint watch_again_ = {};  // When to watch a clique again after a refusal.
  // Last: they use the other members.
  kube::ApiSession session_;
  std::unique_ptr<CliqueWatch> clique_;
  std::jthread watch_;
};

}  // namespace plugin
