#include "node/plugin/loop/domain_readiness.h"

#include <algorithm>

#include "controller/api/names.h"
#include "node/plugin/api/api_calls.h"

namespace plugin {

constexpr base::BackoffPolicy kBackoff = {.first = std::chrono::milliseconds(250),
                                          .most = std::chrono::seconds(2)};
constexpr std::chrono::milliseconds kHostPause{1'000};

bool DomainReadiness::IsReady(const std::string& domain) const {
  if (state_.host.self.host_managed) return polled_ && !IsOld();
  if (IsKnownReady(domain)) return true;
  if (state_.host.self.clique.empty()) return false;
  if (const auto is_ready = state_.api->IsReadyIn(CliqueKey(domain))) return *is_ready;
  return domain_ == domain && polled_ && !IsOld();
}

void DomainReadiness::Fetch(const std::string& domain) {
  if (state_.host.self.host_managed) return PollHost();
  if (domain_ != domain) {
    domain_ = domain;
    backoff_.Reset();
    poll_next_ = {};
    polled_ = false;
  }
  if (IsKnownReady(domain) || state_.host.self.clique.empty()) return;
  if (!state_.api->WatchClique(CliqueKey(domain))) PollClique(domain);
}

bool DomainReadiness::IsKnownReady(const std::string& domain) const {
  const auto known = state_.api->domains().Find(domain);
  return known && known->is_ready_here;
}

kube::ObjectKey DomainReadiness::CliqueKey(const std::string& domain) const {
  return {.ns = state_.settings.ns, .name = api::CliqueName(domain, state_.host.self.clique)};
}

bool DomainReadiness::IsOld() const {
  return !polling_ && state_.clock.Now() >= poll_next_ + kBackoff.most;
}

bool DomainReadiness::BeginPoll(TimePoint next) {
  if (IsOld()) {
    polled_ = false;
    backoff_.Reset();
  }
  if (polling_) return false;
  polling_ = state_.clock.Now() >= next;
  if (!polling_) requeue_at_ = std::min(requeue_at_, next);
  return polling_;
}

// NVIDIA's roles allow a plugin to read cliques, but not to watch them.
void DomainReadiness::PollClique(const std::string& domain) {
  if (!BeginPoll(poll_next_)) return;
  state_.api->Enqueue(PluginApi::Queue::kReads,
                      [this, key = CliqueKey(domain), domain](http::Transport& transport) {
                        const auto is_ready = ReadIsReady(transport, key, state_.settings.node);
                        return [this, domain, is_ready] {
                          polling_ = false;
                          if (domain == domain_) polled_ = is_ready.value_or(false);
                          poll_next_ = state_.clock.Now() + backoff_.Next(kBackoff);
                        };
                      });
}

void DomainReadiness::PollHost() {
  if (!BeginPoll(poll_next_)) return;
  if (imex_poller_ == nullptr) imex_poller_ = start_poller_();
  imex_poller_->Post([this](const std::stop_token& stop) {
    const bool is_ready = reader_.IsImexReady(stop);
    tasks_.Post([this, is_ready] {
      polling_ = false;
      polled_ = is_ready;
      poll_next_ = state_.clock.Now() + kHostPause;
    });
  });
}

}  // namespace plugin
