#include "node/daemon/api_link.h"

#include <string_view>
#include <utility>

#include "controller/api/names.h"
#include "pkg/base/version.h"
#include "pkg/kube/runtime/watch_loop.h"

namespace imexd {

namespace {

constexpr std::string_view kProgram = "compute-domain-daemon";

}  // namespace

ApiLink::ApiLink(kube::ClientConfig config, const DaemonIdentity& self, const base::Clock& clock,
                 base::Logger& logger, std::function<void()> on_change)
    : config_(std::move(config)),
      self_(self),
      clock_(clock),
      logger_(logger),
      on_change_(std::move(on_change)),
      cliques_(&api::DecodeClique, kube::kNoKeys, kube::OnAnyChange(on_change_), logger),
      pods_(&api::DecodeDaemonPod, kube::kNoKeys, kube::OnAnyChange(on_change_), logger),
      clique_reflector_(kube::OneNamed(api::kComputeDomainCliques, self.CliqueKey()), cliques_,
                        random_, logger),
      gate_([] { return true; }, clock),
      transport_(config_.endpoint, *config_.credentials, base::UserAgent(kProgram), {}, nullptr,
                 &gate_) {}

ApiLink::~ApiLink() {
  gate_.Close(std::chrono::milliseconds(0));  // Who ends waits for nobody.
}

void ApiLink::Watch(bool pod_too) {
  if (pod_too)
    pod_reflector_.emplace(kube::OneNamed(kube::kPods, self_.pod), pods_, random_, logger_);
  watch_ = std::jthread([this](const std::stop_token& stop) {
    kube::WatchLoop loop(config_.endpoint, *config_.credentials, base::UserAgent(kProgram), clock_);
    loop.Add(clique_reflector_);
    if (pod_reflector_) loop.Add(*pod_reflector_);
    loop.Run(stop, [this] {
      if (clique_reflector_.HasSynced() && !clique_read_.exchange(true)) on_change_();
    });
  });
}

bool ApiLink::pod_ready() const {
  const auto pod = pods_.Get(self_.pod);
  return pod != nullptr && pod->meta.uid == self_.pod_uid && pod->ready;
}

void ApiLink::Do(const WriteOrder& order, std::function<void(base::Result<Written>)> done) {
  writer_.Do([this, order, done = std::move(done)](const std::stop_token& /*stop*/) {
    done(Perform(self_, order, transport_));
  });
}

}  // namespace imexd
