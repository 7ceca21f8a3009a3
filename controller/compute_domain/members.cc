#include "controller/compute_domain/members.h"

#include <algorithm>
#include <set>
#include <vector>

namespace compute_domain {

using api::DaemonPod;
using api::Member;

namespace {

bool IsShownUnready(const Observed& observed, const std::string& node) {
  return std::ranges::any_of(observed.domain->status.nodes, [&](const Member& shown) {
    return shown.node == node && !shown.ready;
  });
}

// Its clique as a live read shows it; null: there is none, or nobody looked.
const api::Clique* LiveClique(const Observed& observed, const Member& shown) {
  const auto& cliques = observed.evidence.cliques;
  const auto clique = std::ranges::find(cliques, shown.clique, &api::Clique::id);
  return clique == cliques.end() ? nullptr : &*clique;
}

bool Lists(const api::Clique& clique, const std::string& node) {
  return std::ranges::find(clique.daemons, node, &Member::node) != clique.daemons.end();
}

// Whether a member that only status still shows is one no longer. Nobody leaves because one cache
// lags (S5), not even one whose daemon seems to be ending or whose index a clique gives to somebody
// else: a live read shows that no pod is left but those that are about to end and have taken their
// own entries out.
bool HasLeft(const Observed& observed, const Member& shown, Membership& membership) {
  const auto is_its = [&](const DaemonPod& pod) {
    return pod.node == shown.node && !pod.terminal && MayBeIn(pod, shown.clique);
  };
  const api::Clique* clique = LiveClique(observed, shown);
  const bool is_listed = clique != nullptr && Lists(*clique, shown.node);
  const auto leaves = [&](const DaemonPod& pod) {
    return !shown.clique.empty() && !is_listed && !pod.controller_writes && pod.meta.deleting;
  };
  if (!observed.evidence.daemon_pods) {
    membership.needs_daemons = true;
    return false;
  }
  return std::ranges::none_of(*observed.evidence.daemon_pods,
                              [&](const DaemonPod& pod) { return is_its(pod) && !leaves(pod); });
}

// A live read shows the clique without an entry of the node: its daemon, which may be there, has
// taken it out, as one does that ends in a crash.
bool HasTakenItselfOut(const Observed& observed, const Member& shown) {
  const api::Clique* clique = LiveClique(observed, shown);
  return clique != nullptr && !Lists(*clique, shown.node);
}

bool IsIndexTaken(const MemberByNode& members, const Member& shown) {
  return std::ranges::any_of(members, [&](const auto& item) {
    return !shown.clique.empty() && item.second.clique == shown.clique &&
           item.second.index == shown.index;
  });
}

}  // namespace

void AddMember(const Observed& observed, const PodByNode& pods, Member member,
               MemberByNode& members) {
  const auto pod = pods.find(member.node);
  const NodeLife life = LifeOf(observed, member.node);
  bool serves = life != NodeLife::kLost;
  if (pod != pods.end()) {
    serves = serves && Serves(*pod->second);
  } else if (life == NodeLife::kNotKnown) {  // That changes nothing that status says.
    serves = !IsShownUnready(observed, member.node);
  }
  member.ready = member.ready && serves;
  const auto [it, added] = members.emplace(member.node, member);
  // A node that moved may still stand in its old clique; its pod says where it is.
  const bool is_where_pod_is = pod != pods.end() && pod->second->clique == member.clique;
  if (!added && is_where_pod_is) it->second = member;
}

void KeepMembers(const Observed& observed, const PodByNode& pods, MemberByNode& members,
                 Membership& membership) {
  const std::vector<Member>& shown_members = observed.domain->status.nodes;
  std::set<std::string> left;
  std::set<std::string> old_views;  // Of cliques, in which the index of a member is another's.
  for (const Member& shown : shown_members) {
    if (members.contains(shown.node)) continue;
    const bool is_taken = IsIndexTaken(members, shown);
    if (HasLeft(observed, shown, membership) || (is_taken && HasTakenItselfOut(observed, shown))) {
      left.insert(shown.node);
    } else if (is_taken) {
      old_views.insert(shown.clique);
    }
  }
  // Status is newer than such a view, and has each index once (S3).
  std::erase_if(members, [&](const auto& item) { return old_views.contains(item.second.clique); });
  for (const Member& shown : shown_members) {
    const bool is_known = members.contains(shown.node);
    if (!is_known && !left.contains(shown.node)) AddMember(observed, pods, shown, members);
  }
}

}  // namespace compute_domain
