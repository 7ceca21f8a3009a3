#include "controller/compute_domain/rules/membership/member_readiness.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace compute_domain {

using api::Member;

namespace {

// Of a member whose pod the cache lacks, or that is of a DaemonSet that somebody deleted. It stays
// ready, for the cache may lag, unless a live read shows that none serves; and does not become it,
// for it may be the clique that is old.
bool StaysReady(const MembershipIndex& index, const Member& member) {
  const auto shown = index.shown.find(member.node);
  const bool is_shown =
      shown != index.shown.end() && shown->second->ready && shown->second->ip == member.ip;
  return is_shown && (!index.live.was_read() || index.live.AnyPodOn(member.node, Serves));
}

// Whether a member that only status still shows is one no longer. Nobody leaves because one cache
// lags (S5), not even one whose daemon seems to be ending or whose index a clique gives to somebody
// else: a live read shows that no pod is left but those that are about to end and have taken their
// own entries out.
bool HasLeft(const LiveView& live, const Member& shown, Membership& membership) {
  if (!live.was_read()) {
    membership.needs_daemons = true;
    return false;
  }
  const bool may_leave = !shown.clique.empty() && !live.Lists(shown.clique, shown.node);
  return !live.AnyPodOn(shown.node, [&](const api::DaemonPod& pod) {
    const bool leaves = may_leave && !pod.controller_writes && pod.meta.deleting;
    return MayBeIn(pod, shown.clique) && !leaves;
  });
}

// A live read shows the clique without an entry of the node: its daemon, which may be there, has
// taken it out, as one does that ends in a crash.
bool HasTakenItselfOut(const LiveView& live, const Member& shown) {
  return live.HasClique(shown.clique) && !live.Lists(shown.clique, shown.node);
}

// Whether the member stands in status because its daemon put it there: NVIDIA's do, where their
// feature gate ComputeDomainCliques is off, and keep no clique.
bool IsWrittenByItsDaemon(const MembershipIndex& index, const Member& shown) {
  const auto pod = index.pods.find(shown.node);
  if (shown.clique.empty() || pod == index.pods.end()) return false;
  const api::DaemonPod& daemon = *pod->second;
  const bool may_write = !daemon.controller_writes && !daemon.meta.deleting &&
                         daemon.clique == shown.clique && daemon.ip == shown.ip;
  const auto is_its = [&](const api::Clique& clique) {
    return clique.id == shown.clique && clique.meta.key.ns == daemon.meta.key.ns;
  };
  const bool is_gone =
      index.live.was_read() && !index.live.AnyPodOn(shown.node, [&](const api::DaemonPod& other) {
        return MayBeIn(other, shown.clique);
      });
  return may_write && !is_gone && std::ranges::none_of(index.observed.children.cliques, is_its);
}

}  // namespace

void AddWrittenByDaemons(const MembershipIndex& index, MemberByNode& members) {
  for (const Member& shown : index.observed.domain->status.nodes) {
    if (members.contains(shown.node) || !IsWrittenByItsDaemon(index, shown)) continue;
    Member member = shown;
    // The daemon says no more than its pod does; and says it again only when that changes.
    member.ready = true;
    AddMember(index, index.pods.at(shown.node)->meta.key.ns, std::move(member), members);
  }
}

void AddMember(const MembershipIndex& index, const std::string& ns, Member member,
               MemberByNode& members) {
  const auto pod = index.pods.find(member.node);
  const bool serves = pod == index.pods.end()
                          ? StaysReady(index, member)
                          : Serves(*pod->second) && !IsSoughtElsewhere(*pod->second, member);
  const NodeLife life = LifeOf(index.observed, member.node);
  // An old view that shows the node as not ready makes nobody ready.
  const auto shown = index.shown.find(member.node);
  const bool may_become_ready = life == NodeLife::kLives ||
                                !index.observed.nodes.contains(member.node) ||
                                (shown != index.shown.end() && shown->second->ready);
  member.ready = member.ready && serves && life != NodeLife::kLost && may_become_ready;
  const auto [it, added] = members.emplace(member.node, member);
  // A node that moved may still stand in its old clique; its pod says where it is.
  const bool is_where_pod_is = pod != index.pods.end() && pod->second->clique == member.clique &&
                               pod->second->meta.key.ns == ns;
  if (!added && is_where_pod_is) it->second = member;
}

void KeepMembers(const MembershipIndex& index, MemberByNode& members, Membership& membership) {
  const std::vector<Member>& shown_members = index.observed.domain->status.nodes;
  const LiveView& live = index.live;
  std::set<std::pair<std::string, int>> taken;  // Indices, by clique.
  for (const auto& [node, member] : members) taken.emplace(member.clique, member.index);
  std::set<std::string> left;
  std::set<std::string> old_views;  // Of cliques, in which the index of a member is another's.
  for (const Member& shown : shown_members) {
    if (members.contains(shown.node)) continue;
    const bool is_taken = !shown.clique.empty() && taken.contains({shown.clique, shown.index});
    if (HasLeft(live, shown, membership) || (is_taken && HasTakenItselfOut(live, shown))) {
      left.insert(shown.node);
    } else if (is_taken) {
      old_views.insert(shown.clique);
    }
  }
  // Status is newer than such a view, and has each index once (S3).
  std::erase_if(members, [&](const auto& item) { return old_views.contains(item.second.clique); });
  for (const Member& shown : shown_members) {
    const bool is_known = members.contains(shown.node);
    if (!is_known && !left.contains(shown.node)) AddMember(index, "", shown, members);
  }
}

}  // namespace compute_domain
