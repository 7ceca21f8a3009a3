#include "controller/compute_domain/rules/analysis.h"

#include <set>

#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/model/spec.h"
#include "controller/compute_domain/rules/rollout.h"

namespace compute_domain {

namespace {

std::vector<api::Member> FindExpected(const Observed& observed, const Membership& membership) {
  const Views& views = observed.facts.views;
  const bool claims_seen = views.claims_are_read && views.IsFresh(Kind::kClaim);
  // If the cache of claims is behind, even for a moment, the claim may already exist. Such a cache
  // changes nothing: a Ready domain stays Ready, and a NotReady one stays NotReady.
  const bool is_behind = !claims_seen || !views.claims_are_current;
  const bool may_be_there = is_behind && observed.domain->status.status != "Ready";
  const bool labels_count = !views.claims_are_read || may_be_there;
  std::set<std::string> members;
  for (const api::Member& member : membership.members) members.insert(member.node);
  // The node itself can write its label, so see MembershipIndex::MayJoin().
  std::set<std::string> wanted;
  for (const api::Node& node : observed.children.labelled_nodes) {
    const std::string& name = node.meta.key.name;
    if (labels_count || members.contains(name)) wanted.insert(name);
  }
  wanted.merge(NodesOf(observed, observed.children.claims, IsChannelClaim));
  // Without permission for claims, only the label shows which members leave.
  const bool all_seen = (claims_seen || !views.claims_are_granted) && views.IsFresh(Kind::kNode);
  std::vector<api::Member> expected;
  for (const api::Member& member : membership.members) {
    const bool leaves = all_seen && !wanted.contains(member.node);
    wanted.erase(member.node);
    if (!leaves) expected.push_back(member);
  }
  for (const std::string& node : wanted) expected.push_back({.node = node});
  return expected;
}

}  // namespace

Analysis Analyze(const Observed& observed, const Membership& membership) {
  Analysis analysis = {
      .objection = ValidateDomain(observed),
      .unreadable = FindUnreadableDependency(observed),
      .children = FindChildren(observed),
      .children_are_seen = observed.facts.views.children_are_current && !observed.lacks_own_child,
      .pods = PodsThatCount(observed),
      .outdated = FindOutdated(observed),
      .expected = FindExpected(observed, membership)};
  const bool is_served = !observed.domain->meta.deleting && !IsPaused(observed);
  if (is_served && !analysis.objection) analysis.obstacle = FindTakenName(observed);
  if (analysis.obstacle) analysis.failure = analysis.obstacle->failure;
  // A refused action does not affect a domain that has what it needs.
  const bool lacks_child = !analysis.children.missing.empty();
  for (const auto& [action, retry] : observed.memory.retries) {
    if (!retry.is_wanted || !retry.failure) continue;
    const bool makes_children =
        retry.concern == Concern::kFinalizer || retry.concern == Concern::kChildren;
    const bool is_needed = observed.domain->meta.deleting || (makes_children && lacks_child);
    std::optional<Failure>& failure = is_needed ? analysis.failure : analysis.left_undone;
    if (!failure) failure = *retry.failure;
  }
  return analysis;
}

}  // namespace compute_domain
