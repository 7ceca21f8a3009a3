#include "controller/compute_domain/pass/rollout_brake.h"

#include <utility>

#include "pkg/base/find.h"

namespace compute_domain {

RolloutBrake::RolloutBrake(int cliques_max, base::Logger& logger)
    : cliques_max_(static_cast<std::size_t>(cliques_max)), logger_(logger) {}

void RolloutBrake::Hold(State& state, const kube::Uid& domain_uid, std::size_t cliques) const {
  state.held_in_all -= base::FindOr(state.held, domain_uid, 0);
  state.held_in_all += cliques;
  if (cliques == 0) {
    state.held.erase(domain_uid);
  } else {
    state.held[domain_uid] = cliques;
  }
}

void RolloutBrake::Hold(const kube::Uid& domain_uid, std::size_t cliques) {
  state_.With([&](State& state) { Hold(state, domain_uid, cliques); });
}

bool RolloutBrake::TryHold(const kube::Uid& domain_uid, std::size_t cliques) {
  return state_.With([&](State& state) {
    const std::size_t others = state.held_in_all - base::FindOr(state.held, domain_uid, 0);
    if (others + cliques > cliques_max_) return false;
    Hold(state, domain_uid, cliques);
    return true;
  });
}

bool RolloutBrake::HasRoom() const {
  return state_.With([&](const State& state) { return state.held_in_all < cliques_max_; });
}

kube::Uid RolloutBrake::NextInLine(const kube::Uid& waits) {
  return state_.With([&](State& state) -> kube::Uid {
    std::deque<kube::Uid>& waiting = state.waiting;
    if (!waits.empty() && !base::Contains(waiting, waits)) waiting.push_back(waits);
    if (waiting.empty() || state.held_in_all >= cliques_max_) return {};
    kube::Uid next = std::move(waiting.front());
    waiting.pop_front();
    return next;
  });
}

void RolloutBrake::StopOrResume(const kube::Uid& domain_uid, const std::string& name,
                                const std::string& failed) {
  const bool is_news = state_.With([&](State& state) {
    const bool is_its = state.stopped_by == domain_uid;
    if (failed.empty() && !is_its) return false;
    if (!failed.empty() && !is_its && !state.why_stopped.empty()) return false;
    const bool changes = state.why_stopped.empty() != failed.empty();
    state.why_stopped = failed;
    state.stopped_by = failed.empty() ? "" : domain_uid;
    return changes;
  });
  if (!is_news) return;
  if (failed.empty()) {
    logger_.Info("Rollout of daemons continues");
  } else {
    logger_.Error("Rollout of daemons stopped in all domains",
                  {{"domain", name}, {"uid", domain_uid}, {"why", failed}});
  }
}

std::string RolloutBrake::WhyStopped() const {
  return state_.With([](const State& state) { return state.why_stopped; });
}

}  // namespace compute_domain
