#include "node/plugin/api/plugin_api.h"

#include <utility>

#include "controller/api/names.h"
#include "node/plugin/api/api_calls.h"
#include "pkg/base/system_random.h"

namespace plugin {

namespace {

// A plugin that may not watch cliques is refused, and tries again after this time.
constexpr std::chrono::minutes kRefusedFor(10);

}  // namespace

struct PluginApi::CliqueWatch {
  CliqueWatch(PluginApi& api, kube::ObjectKey which)
      : key(std::move(which)),
        cliques(&api::DecodeClique, kube::kNoKeys, kube::OnAnyChange(api.on_change()), api.logger_),
        random(api.make_random_()),
        reflector(kube::OneNamed(api::kComputeDomainCliques, key), cliques, *random, api.logger_),
        watch(api.session().Watch({&reflector}, [this, &api] {
          if (reflector.HasSynced() && !has_read.exchange(true)) api.on_change()();
          const bool is = reflector.problem().kind == kube::ReflectorProblem::Kind::kForbidden;
          if (is_refused.exchange(is) != is) api.on_change()();
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
    : DriverApi(std::move(session), api::kDriver, node, make_random(), logger, tasks,
                std::move(on_change)),
      node_name_(std::move(node)),
      clock_(clock),
      make_random_(std::move(make_random)),
      logger_(logger),
      domains_(node_name_, this->on_change()),
      nodes_(&api::DecodeNode, kube::kNoKeys, kube::OnAnyChange(this->on_change()), logger),
      domain_reflector_({.resource = api::kComputeDomains}, domains_, random(), logger),
      node_reflector_(kube::OneNamed(kube::kNodes, {.name = node_name_}), nodes_, random(), logger),
      watch_(Watch({&domain_reflector_, &node_reflector_})) {}

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
