#include "node/plugin/api/api_client.h"

#include <utility>

#include "controller/api/names.h"

namespace plugin {

namespace {

kube::ReflectorOptions SlicesOf(const std::string& node) {
  return {.resource = kube::kResourceSlices,
          .versions = kube::kDraVersions,
          .field_selector = "spec.driver=" + std::string(api::kDriver) + ",spec.nodeName=" + node};
}

// A plugin that may not watch cliques is refused, and tries again after this time.
constexpr std::chrono::minutes kRefusedFor(10);

constexpr std::size_t kQueues = 4;  // Values of PluginApiClient::Queue.

SliceApi SliceApiOf(std::string_view version) {
  for (const SliceApi api : {SliceApi::kV1, SliceApi::kV1Beta2}) {
    if (NameOf(api) == version) return api;
  }
  return SliceApi::kV1Beta1;
}

}  // namespace

// The watch of one clique, on its own thread.
struct PluginApiClient::CliqueWatch {
  CliqueWatch(PluginApiClient& link, kube::ObjectKey which)
      : key(std::move(which)),
        cliques(&api::DecodeClique, kube::kNoKeys, kube::OnAnyChange(link.on_change_),
                link.logger_),
        reflector(kube::OneNamed(api::kComputeDomainCliques, key), cliques, random, link.logger_),
        thread(link.session_.Watch({&reflector}, [this, &link] {
          if (reflector.HasSynced() && !has_read.exchange(true)) link.on_change_();
          const bool is = reflector.problem().kind == kube::ReflectorProblem::Kind::kForbidden;
          if (is_refused.exchange(is) != is) link.on_change_();
        })) {}

  const kube::ObjectKey key;
  base::SystemRandom random;
  kube::Store<api::Clique> cliques;
  kube::Reflector reflector;
  std::atomic<bool> has_read = false;
  std::atomic<bool> is_refused = false;
  std::jthread thread;  // Last, because it uses the others.
};

PluginApiClient::PluginApiClient(kube::ClientConfig config, const std::string& node,
                                 const base::Clock& clock, base::Logger& logger,
                                 std::function<void()> on_change)
    : node_name_(node),
      clock_(clock),
      logger_(logger),
      on_change_(std::move(on_change)),
      domains_(node, on_change_),
      nodes_(&api::DecodeNode, kube::kNoKeys, kube::OnAnyChange(on_change_), logger),
      slices_(&DecodeSliceMeta, kube::kNoKeys, kube::OnAnyChange(on_change_), logger),
      domain_reflector_({.resource = api::kComputeDomains}, domains_, random_, logger),
      node_reflector_(kube::OneNamed(kube::kNodes, {.name = node}), nodes_, random_, logger),
      slice_reflector_(SlicesOf(node), slices_, random_, logger),
      session_(std::move(config), kProgram, clock, logger, kQueues),
      watch_(session_.Watch({&domain_reflector_, &node_reflector_, &slice_reflector_},
                            [this] { OnTurn(); })) {}

PluginApiClient::~PluginApiClient() = default;

void PluginApiClient::OnTurn() {
  const SliceApi version = SliceApiOf(slice_reflector_.resource().version);
  if (!slice_reflector_.HasSynced()) return;
  dra_version_ = version;
  if (!slices_read_.exchange(true)) on_change_();
}

base::Result<PluginApiClient::SliceMeta> PluginApiClient::DecodeSliceMeta(json::View object) {
  return SliceMeta{.meta = TRY(kube::DecodeMeta(object))};
}

std::optional<std::vector<kube::ObjectMeta>> PluginApiClient::slices() const {
  if (!slices_read_) return {};
  std::vector<kube::ObjectMeta> found;
  for (const auto& slice : slices_.List()) found.push_back(slice->meta);
  return found;
}

bool PluginApiClient::WatchClique(const kube::ObjectKey& key) {
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

std::optional<bool> PluginApiClient::IsReadyIn(const kube::ObjectKey& key) const {
  if (clique_ == nullptr || clique_->key != key || !clique_->has_read) return {};
  if (clique_->is_refused) return {};  // What was read before may be stale.
  const auto clique = clique_->cliques.Get(key);
  return clique != nullptr && plugin::IsReadyIn(*clique, node_name_);
}

}  // namespace plugin
