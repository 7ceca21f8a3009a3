#include "node/daemon/api_client.h"

#include <string_view>
#include <utility>
#include <vector>

#include "controller/api/names.h"

namespace imex_daemon {

constexpr std::string_view kProgram = "compute-domain-daemon";

DaemonApiClient::DaemonApiClient(kube::ClientConfig config, const DaemonIdentity& self,
                                 const base::Clock& clock, base::Logger& logger,
                                 std::function<void()> on_change)
    : self_(self),
      on_change_(std::move(on_change)),
      cliques_(&api::DecodeClique, kube::kNoKeys, kube::OnAnyChange(on_change_), logger),
      pods_(&api::DecodeDaemonPod, kube::kNoKeys, kube::OnAnyChange(on_change_), logger),
      clique_reflector_(kube::OneNamed(api::kComputeDomainCliques, self.CliqueKey()), cliques_,
                        random_, logger),
      pod_reflector_(kube::OneNamed(kube::kPods, self.pod), pods_, random_, logger),
      session_(std::move(config), kProgram, clock, logger, 1) {}

void DaemonApiClient::Watch(bool pod_too) {
  const auto on_turn = [this] {
    if (clique_reflector_.HasSynced() && !clique_read_.exchange(true)) on_change_();
  };
  std::vector<kube::Reflector*> reflectors = {&clique_reflector_};
  if (pod_too) reflectors.push_back(&pod_reflector_);
  watch_ = session_.Watch(std::move(reflectors), on_turn);
}

bool DaemonApiClient::pod_ready() const {
  const auto pod = pods_.Get(self_.pod);
  return pod != nullptr && pod->meta.uid == self_.pod_uid && pod->ready;
}

void DaemonApiClient::SendWrite(const WriteOrder& order,
                                std::function<void(base::Result<Written>)> done) {
  session_.Post(0, [this, order, done = std::move(done)](http::Transport& transport) {
    done(Perform(self_, order, transport));
  });
}

}  // namespace imex_daemon
