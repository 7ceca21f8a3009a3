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
#include "node/plugin/api/plugin_api.h"
#include "pkg/base/log.h"
#include "pkg/base/system_random.h"
#include "pkg/kube/cache/reflector.h"
#include "pkg/kube/cache/store.h"
#include "pkg/kube/client/config.h"
#include "pkg/kube/runtime/api_session.h"

namespace plugin {

// User agent in the API server's audit log.
inline constexpr std::string_view kProgram = "compute-domain-kubelet-plugin";

class PluginApiClient final : public PluginApi {
 public:
  // `on_change` is called on other threads. The arguments must outlive the client.
  PluginApiClient(kube::ClientConfig config, const std::string& node, const base::Clock& clock,
                  base::Logger& logger, std::function<void()> on_change);
  ~PluginApiClient() override;

  const DomainCache& domains() const override { return domains_; }
  std::shared_ptr<const api::Node> node() const override {
    return nodes_.Get({.name = node_name_});
  }
  std::optional<std::vector<kube::ObjectMeta>> slices() const override;
  SliceApi dra_version() const override { return dra_version_; }
  bool WatchClique(const kube::ObjectKey& key) override;
  std::optional<bool> IsReadyIn(const kube::ObjectKey& key) const override;
  // Each queue has its own thread.
  void Enqueue(Queue queue, Task task) override {
    ++open_;
    session_.Post(static_cast<std::size_t>(queue),
                  [this, task = std::move(task)](http::Transport& transport) {
                    task(transport);
                    --open_;
                  });
  }
  int open() const override { return open_; }

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
