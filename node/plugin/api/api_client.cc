#include "node/plugin/api/api_client.h"

#include <string_view>
#include <utility>

#include "controller/api/names.h"
#include "pkg/base/version.h"
#include "pkg/kube/runtime/watch_loop.h"

namespace plugin {

namespace {

kube::ReflectorOptions SlicesOf(const std::string& node) {
  return {.resource = kube::kResourceSlices,
          .versions = kube::kDraVersions,
          .field_selector = "spec.driver=" + std::string(api::kDriver) + ",spec.nodeName=" + node};
}

// Who may not watch cliques is told so once, and looks whether that is still so from time to time.
constexpr std::chrono::minutes kRefusedFor(10);

SliceApi SliceApiOf(std::string_view version) {
  for (const SliceApi api : {SliceApi::kV1, SliceApi::kV1Beta2}) {
    if (NameOf(api) == version) return api;
  }
  return SliceApi::kV1Beta1;
}

}  // namespace

// One clique, on a thread of its own.
struct ApiClient::CliqueWatch {
  CliqueWatch(ApiClient& link, kube::ObjectKey which)
      : key(std::move(which)),
        cliques(&api::DecodeClique, kube::kNoKeys, kube::OnAnyChange(link.on_change_),
                link.logger_),
        reflector(kube::OneNamed(api::kComputeDomainCliques, key), cliques, random, link.logger_),
        thread([this, &link](const std::stop_token& stop) {
          kube::WatchLoop loop(link.config_.endpoint, *link.config_.credentials,
                               base::UserAgent(kProgram), link.clock_);
          loop.Add(reflector);
          loop.Run(stop, [this, &link] {
            if (reflector.HasSynced() && !has_read.exchange(true)) link.on_change_();
            is_refused = reflector.problem().kind == kube::ReflectorProblem::Kind::kForbidden;
          });
        }) {}

  const kube::ObjectKey key;
  base::SystemRandom random;
  kube::Store<api::Clique> cliques;
  kube::Reflector reflector;
  std::atomic<bool> has_read = false;
  std::atomic<bool> is_refused = false;
  std::jthread thread;  // Last: it uses the others.
};

ApiClient::ApiClient(kube::ClientConfig config, const std::string& node, const base::Clock& clock,
                     base::Logger& logger, std::function<void()> on_change)
    : config_(std::move(config)),
      node_name_(node),
      clock_(clock),
      logger_(logger),
      on_change_(std::move(on_change)),
      domains_(node, on_change_),
      nodes_(&api::DecodeNode, kube::kNoKeys, kube::OnAnyChange(on_change_), logger),
      slices_(&DecodeSliceMeta, kube::kNoKeys, kube::OnAnyChange(on_change_), logger),
      domain_reflector_({.resource = api::kComputeDomains}, domains_, random_, logger),
      node_reflector_(kube::OneNamed(kube::kNodes, {.name = node}), nodes_, random_, logger),
      slice_reflector_(SlicesOf(node), slices_, random_, logger),
      gate_([] { return true; }, clock) {
  for (RequestQueue& queue : queues_) {
    queue.transport = std::make_unique<http::CurlTransport>(config_.endpoint, *config_.credentials,
                                                            base::UserAgent(kProgram),
                                                            http::OnExchange(), nullptr, &gate_);
    queue.worker = std::make_unique<base::Worker>();
  }
  watch_ = std::jthread([this](const std::stop_token& stop) {
    kube::WatchLoop loop(config_.endpoint, *config_.credentials, base::UserAgent(kProgram), clock_);
    loop.Add(domain_reflector_);
    loop.Add(node_reflector_);
    loop.Add(slice_reflector_);
    loop.Run(stop, [this] { OnTurn(); });
  });
}

ApiClient::~ApiClient() {
  gate_.Close(std::chrono::milliseconds(0));  // Who ends waits for nobody.
  for (RequestQueue& queue : queues_) queue.worker.reset();
}

void ApiClient::OnTurn() {
  const SliceApi version = SliceApiOf(slice_reflector_.resource().version);
  if (!slice_reflector_.HasSynced()) return;
  dra_version_ = version;
  if (!slices_read_.exchange(true)) on_change_();
}

base::Result<ApiClient::SliceMeta> ApiClient::DecodeSliceMeta(json::View object) {
  return SliceMeta{.meta = TRY(kube::DecodeMeta(object))};
}

std::optional<NodeView> ApiClient::node() const {
  const auto node = nodes_.Get({.name = node_name_});
  if (node == nullptr) return {};
  return NodeView{.uid = node->meta.uid,
                  .version = node->meta.resource_version,
                  .domain = node->domain,
                  .clique = node->clique};
}

std::optional<std::vector<kube::ObjectMeta>> ApiClient::slices() const {
  if (!slices_read_) return {};
  std::vector<kube::ObjectMeta> found;
  for (const auto& slice : slices_.List()) found.push_back(slice->meta);
  return found;
}

void ApiClient::WatchClique(const kube::ObjectKey& key) {
  if (clique_ != nullptr && clique_->is_refused) {
    clique_.reset();
    watch_again_ = clock_.Now() + kRefusedFor;
  }
  if (clock_.Now() < watch_again_ || (clique_ != nullptr && clique_->key == key)) return;
  clique_.reset();
  clique_ = std::make_unique<CliqueWatch>(*this, key);
}

std::optional<bool> ApiClient::IsReadyIn(const kube::ObjectKey& key) const {
  if (clique_ == nullptr || clique_->key != key || !clique_->has_read) return {};
  if (clique_->is_refused) return {};  // What was read before may be stale.
  const auto clique = clique_->cliques.Get(key);
  if (clique == nullptr) return false;
  for (const api::Member& member : clique->daemons) {
    if (member.node == node_name_) return member.ready;
  }
  return false;
}

void ApiClient::Enqueue(Queue queue, Job job) {
  RequestQueue& requests = queues_.at(static_cast<std::size_t>(queue));
  requests.worker->Do([job = std::move(job), &transport = *requests.transport](
                          const std::stop_token& /*stop*/) { job(transport); });
}

}  // namespace plugin
