#include "node/plugin/api/plugin_api.h"

#include <utility>

#include "controller/api/names.h"
#include "node/plugin/api/api_calls.h"
#include "pkg/base/system_random.h"

namespace plugin {

namespace {

kube::ReflectorOptions SlicesOf(const std::string& node) {
  return {.resource = kube::kResourceSlices,
          .versions = kube::kDraVersions,
          .field_selector = "spec.driver=" + std::string(api::kDriver) + ",spec.nodeName=" + node};
}

// A plugin that may not watch cliques is refused, and tries again after this time.
constexpr std::chrono::minutes kRefusedFor(10);

dra::SliceApi SliceApiOf(std::string_view version) {
  for (const dra::SliceApi api : {dra::SliceApi::kV1, dra::SliceApi::kV1Beta2}) {
    if (dra::NameOf(api) == version) return api;
  }
  return dra::SliceApi::kV1Beta1;
}

}  // namespace

struct PluginApi::CliqueWatch {
  CliqueWatch(PluginApi& api, kube::ObjectKey which)
      : key(std::move(which)),
        cliques(&api::DecodeClique, kube::kNoKeys, kube::OnAnyChange(api.on_change_), api.logger_),
        random(api.make_random_()),
        reflector(kube::OneNamed(api::kComputeDomainCliques, key), cliques, *random, api.logger_),
        watch(api.session_->Watch({&reflector}, [this, &api] {
          if (reflector.HasSynced() && !has_read.exchange(true)) api.on_change_();
          const bool is = reflector.problem().kind == kube::ReflectorProblem::Kind::kForbidden;
          if (is_refused.exchange(is) != is) api.on_change_();
        })) {}

  const kube::ObjectKey key;
  kube::Store<api::Clique> cliques;
  const std::unique_ptr<base::Random> random;
  kube::Reflector reflector;
  std::atomic<bool> has_read = false;
  std::atomic<bool> is_refused = false;
  kube::ApiSession::WatchHandle watch;  // Last, because it uses the others.
};

PluginApi::PluginApi(std::unique_ptr<kube::ApiSession> session, std::string node,
                     const base::Clock& clock, MakeRandom make_random, base::Logger& logger,
                     base::TaskQueue& tasks, std::function<void()> on_change)
    : node_name_(std::move(node)),
      clock_(clock),
      make_random_(std::move(make_random)),
      logger_(logger),
      tasks_(tasks),
      on_change_(std::move(on_change)),
      random_(make_random_()),
      domains_(node_name_, on_change_),
      nodes_(&api::DecodeNode, kube::kNoKeys, kube::OnAnyChange(on_change_), logger),
      slices_(&DecodeSliceMeta, kube::kNoKeys, kube::OnAnyChange(on_change_), logger),
      domain_reflector_({.resource = api::kComputeDomains}, domains_, *random_, logger),
      node_reflector_(kube::OneNamed(kube::kNodes, {.name = node_name_}), nodes_, *random_, logger),
      slice_reflector_(SlicesOf(node_name_), slices_, *random_, logger),
      session_(std::move(session)),
      watch_(session_->Watch({&domain_reflector_, &node_reflector_, &slice_reflector_},
                             [this] { OnTurn(); })) {}

std::unique_ptr<PluginApi> PluginApi::Connect(kube::ClientConfig config, const std::string& node,
                                              const base::Clock& clock, base::Logger& logger,
                                              base::TaskQueue& tasks,
                                              std::function<void()> on_change) {
  return std::make_unique<PluginApi>(
      std::make_unique<kube::ThreadedApiSession>(std::move(config), kProgram, clock, logger,
                                                 kQueues),
      node, clock, [] { return std::make_unique<base::SystemRandom>(); }, logger, tasks,
      std::move(on_change));
}

PluginApi::~PluginApi() = default;

void PluginApi::OnTurn() {
  const dra::SliceApi version = SliceApiOf(slice_reflector_.resource().version);
  if (!slice_reflector_.HasSynced()) return;
  dra_version_ = version;
  if (!slices_read_.exchange(true)) on_change_();
}

base::Result<PluginApi::SliceMeta> PluginApi::DecodeSliceMeta(json::View object) {
  return SliceMeta{.meta = TRY(kube::DecodeMeta(object))};
}

std::optional<std::vector<kube::ObjectMeta>> PluginApi::slices() const {
  if (!slices_read_) return {};
  std::vector<kube::ObjectMeta> found;
  for (const auto& slice : slices_.List()) found.push_back(slice->meta);
  return found;
}

void PluginApi::Enqueue(Queue queue, Task task) {
  ++open_;
  session_->Post(static_cast<std::size_t>(queue),
                 [this, task = std::move(task)](http::Transport& transport) {
                   tasks_.Post(task(transport));
                   --open_;
                 });
}

bool PluginApi::WatchClique(const kube::ObjectKey& key) {
  if (clique_ != nullptr && clique_->is_refused) {
    clique_.reset();
    watch_again_ = clock_.Now() + kRefusedFor;
  }
  if (clock_.Now() < watch_again_) return false;
  if (clique_ == nullptr || clique_->key != key) {
    clique_.reset();
    clique_ = std::make_unique<CliqueWatch>(*this, key);
  }
  return true;
}

std::optional<bool> PluginApi::IsReadyIn(const kube::ObjectKey& key) const {
  if (clique_ == nullptr || clique_->key != key || !clique_->has_read) return {};
  if (clique_->is_refused) return {};  // What was read before may be stale.
  const auto clique = clique_->cliques.Get(key);
  return clique != nullptr && plugin::IsReadyIn(*clique, node_name_);
}

}  // namespace plugin
