#include "controller/compute_domain/pass/rollout_brake.h"

#include <algorithm>
#include <utility>

namespace compute_domain {

RolloutBrake::RolloutBrake(int cliques_max, base::Logger& logger)
    : cliques_max_(static_cast<std::size_t>(cliques_max)), logger_(logger) {}

void RolloutBrake::Hold(State& state, const kube::Uid& domain, std::size_t cliques) const {
  const auto before = state.held.find(domain);
  if (before != state.held.end()) {
    state.held_in_all -= before->second;
    state.held.erase(before);
  }
  if (cliques == 0) return;
  state.held.emplace(domain, cliques);
  state.held_in_all += cliques;
}

void RolloutBrake::Hold(const kube::Uid& domain, std::size_t cliques) {
  state_.With([&](State& state) { Hold(state, domain, cliques); });
}

bool RolloutBrake::TryHold(const kube::Uid& domain, std::size_t cliques) {
  return state_.With([&](State& state) {
    const auto before = state.held.find(domain);
    const std::size_t others =
        state.held_in_all - (before == state.held.end() ? 0 : before->second);
    if (others + cliques > cliques_max_) return false;
    Hold(state, domain, cliques);
    return true;
  });
}

bool RolloutBrake::HasRoom() const {
  return state_.With([&](const State& state) { return state.held_in_all < cliques_max_; });
}

kube::Uid RolloutBrake::NextInLine(const kube::Uid& waits) {
  return state_.With([&](State& state) -> kube::Uid {
    std::deque<kube::Uid>& waiting = state.waiting;
    const bool joins = !waits.empty() && std::ranges::find(waiting, waits) == waiting.end();
    if (joins) waiting.push_back(waits);
    if (waiting.empty() || state.held_in_all >= cliques_max_) return {};
    kube::Uid next = std::move(waiting.front());
    waiting.pop_front();
    return next;
  });
}

void RolloutBrake::StopOrResume(const kube::Uid& domain, const std::string& name,
                                const std::string& failed) {
  const bool is_news = state_.With([&](State& state) {
    const bool is_its = state.stopped_by == domain;
    if (failed.empty() && !is_its) return false;
    if (!failed.empty() && !is_its && !state.why_stopped.empty()) return false;
    const bool changes = state.why_stopped.empty() != failed.empty();
    state.why_stopped = failed;
    state.stopped_by = failed.empty() ? "" : domain;
    return changes;
  });
  if (!is_news) return;
  if (failed.empty()) {
    logger_.Info("Rollout of daemons continues");
  } else {
    logger_.Error("Rollout of daemons stopped in all domains",
                  {{"domain", name}, {"uid", domain}, {"why", failed}});
  }
}

std::string RolloutBrake::WhyStopped() const {
  return state_.With([](const State& state) { return state.why_stopped; });
}

}  // namespace compute_domain
