#include "controller/compute_domain/rules/analysis.h"

#include <algorithm>
#include <set>

#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/rules/rollout.h"
#include "controller/compute_domain/status/clique_capacity.h"

namespace compute_domain {

Findings Find(const Observed& observed, const Instant& now) {
  return {.pods = PodsThatCount(observed),
          .usage = FindUsage(observed),
          .shortage = FindShortage(observed),
          .rooms = SayRooms(observed),
          .occupied = FindOccupiedNodes(observed),
          .outdated = FindOutdated(observed),
          .plugins = FindMissingPlugins(observed, now)};
}

std::vector<api::Member> FindExpected(const Observed& observed, const Membership& membership) {
  std::set<std::string> wanted;
  for (const api::Node& node : observed.children.labelled_nodes) wanted.insert(node.meta.key.name);
  for (const api::Claim& claim : observed.children.claims) {
    if (IsChannelClaim(observed, claim) && !claim.node.empty()) wanted.insert(claim.node);
  }
  const Views& views = observed.facts.views;
  const bool all_seen = views.claims_are_read && views.nodes != Sight::kNone;
  std::vector<api::Member> expected;
  for (const api::Member& member : membership.members) {
    const bool leaves = all_seen && !wanted.contains(member.node);
    wanted.erase(member.node);
    if (!leaves) expected.push_back(member);
  }
  for (const std::string& node : wanted) expected.push_back({.node = node});
  return expected;
}

}  // namespace compute_domain
