#include "controller/compute_domain/rules/membership/clique_batching.h"

#include <algorithm>

#include "controller/compute_domain/model/write_pace.h"
#include "pkg/base/find.h"

namespace compute_domain {

using api::Member;
using std::chrono::milliseconds;

namespace {

// Returns whether the controller writes the pod's entry, and more changes may come: the pod is not
// being deleted, and its node is not lost.
bool IsAwaited(const MembershipIndex& index, const api::DaemonPod& pod) {
  return pod.controller_writes && !pod.meta.deleting && !IsLost(index.observed, pod.node);
}

// Returns whether members of the clique, or nodes of other cliques, are not ready yet. All are
// checked, because nodes of a domain start in any order. REQUIRES: no pod joins, so each pod of the
// clique has its entry.
bool AnyToBeReady(const MembershipIndex& index, const CliquePlace& place,
                  const std::vector<Member>& daemons) {
  const auto entries = ByNode(daemons);
  return std::ranges::any_of(index.pods, [&](const auto& node_and_pod) {
    const auto& [node, pod] = node_and_pod;
    if (!IsAwaited(index, *pod)) return false;
    if (!MayBeIn(*pod, place)) return !pod->ready;
    return !entries.at(node)->ready;
  });
}

bool Admits(const std::vector<Member>& before, const std::vector<Member>& after) {
  const auto known = ByNode(before);
  return std::ranges::any_of(after,
                             [&](const Member& member) { return !known.contains(member.node); });
}

}  // namespace

int CountJoining(const MembershipIndex& index, const CliquePlace& place,
                 const std::vector<Member>& daemons) {
  const auto entries = ByNode(daemons);
  const auto joins = std::ranges::count_if(index.pods, [&](const auto& node_and_pod) {
    const auto& [node, pod] = node_and_pod;
    return IsAwaited(index, *pod) && MayBeIn(*pod, place) && !entries.contains(node);
  });
  const auto has_no_pod = [&](const api::Node& node) {
    return node.ready && !index.pods.contains(node.meta.key.name);
  };
  return static_cast<int>(
      joins + std::ranges::count_if(index.observed.children.labelled_nodes, has_no_pod));
}

milliseconds UntilWrite(const MembershipIndex& index, const api::Clique& clique,
                        const std::vector<Member>& daemons, base::Clock::TimePoint now) {
  const Observed& observed = index.observed;
  const CliqueBatching* const batching =
      base::Find(observed.memory.clique_batching, clique.meta.key.name);
  if (batching == nullptr) return milliseconds(0);
  const auto until = [&](milliseconds window) {
    const auto rest = std::chrono::ceil<milliseconds>(batching->last + window - now);
    return std::max(milliseconds(0), rest);
  };
  const milliseconds urgent = UrgentWindow(daemons.size());
  if (LosesReadiness(clique.daemons, daemons)) return until(urgent);
  const milliseconds first = observed.facts.settings->status_window;
  const CliquePlace place = {clique.meta.key.ns, clique.id};
  milliseconds window = batching->window;
  if (CountJoining(index, place, daemons) > 0) return until(window);
  const milliseconds least = std::min(urgent, first);
  // A write that completes a new clique waits only briefly, because no more changes follow.
  if (!AnyToBeReady(index, place, daemons)) window = std::clamp(window / 16, least, first);
  // A node cannot become ready before its entry is written, so waiting for more gains little.
  if (Admits(clique.daemons, daemons)) window = std::max(window / 4, least);
  return until(window);
}

CliqueBatching NextBatching(const CliqueBatching& before, base::Clock::TimePoint now,
                            milliseconds first) {
  return {.last = now, .window = std::clamp(4 * before.window, first, 8 * first)};
}

bool IsAtRest(const CliqueBatching& batching, base::Clock::TimePoint now) {
  return now - batching.last >= 2 * batching.window;
}

}  // namespace compute_domain
