#include "controller/compute_domain/rules/node_names.h"

#include <algorithm>

#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/rules/rollout.h"

namespace compute_domain {

namespace {

using daemon_set::NodeNames;

bool HasDaemonSet(const Observed& observed) {
  return std::ranges::any_of(observed.children.daemon_sets,
                             [&](const api::DaemonSet& set) { return IsDaemonSet(observed, set); });
}

NodeNames Recorded(const Observed& observed) {
  const bool is_own =
      std::ranges::any_of(observed.children.daemon_sets,
                          [&](const api::DaemonSet& set) {
                            return set.has_own_names && IsDaemonSet(observed, set);
                          }) ||
      std::ranges::any_of(observed.children.daemon_pods, &api::DaemonPod::has_own_names);
  return is_own ? NodeNames::kOfDomain : NodeNames::kShared;
}

// Only cdom's daemon knows names of a domain. Where the controller writes entries, no other runs.
NodeNames Wanted(const Observed& observed) {
  return observed.facts.settings->daemons.controller_writes ? NodeNames::kOfDomain
                                                            : NodeNames::kShared;
}

// Returns whether no daemon runs, and none may be about to start for an allocated claim, as far as
// views and live reads show.
bool IsIdle(const Observed& observed) {
  if (!observed.facts.views.ProblemOf(Kind::kDaemonPod).empty()) return false;
  const Children& seen = observed.children;
  const Evidence& read = observed.evidence;
  const bool has_pods =
      !seen.daemon_pods.empty() || (read.daemon_pods && !read.daemon_pods->empty());
  return !has_pods && !IsClaimed(observed, seen.claims) &&
         !(read.claims && IsClaimed(observed, *read.claims));
}

}  // namespace

NodeNames NodeNamesOf(const Observed& observed) {
  const NodeNames recorded = Recorded(observed);
  const NodeNames wanted = Wanted(observed);
  if (recorded == wanted) return wanted;
  const bool is_new = !HasDaemonSet(observed) && observed.children.daemon_pods.empty();
  return is_new || IsIdle(observed) ? wanted : recorded;
}

std::optional<Action> ReadBeforeNamesChange(const Observed& observed) {
  if (!HasDaemonSet(observed) || NodeNamesOf(observed) == Recorded(observed)) return {};
  if (!observed.evidence.daemon_pods) return ReadDaemons{};
  if (!observed.evidence.claims) return ReadClaims{.ns = observed.domain->meta.key.ns};
  return {};
}

std::string RenderedDaemonSet(const Observed& observed) {
  const RenderedHashes& rendered = observed.memory.rendered;
  return rendered.names == NodeNamesOf(observed) ? rendered.daemon_set : "";
}

}  // namespace compute_domain
