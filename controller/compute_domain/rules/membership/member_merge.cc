#include "controller/compute_domain/rules/membership/member_merge.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "controller/compute_domain/model/ownership.h"
#include "pkg/base/find.h"

namespace compute_domain {

using api::Member;

namespace {

// Returns whether a member stays ready whose pod is not cached, or whose DaemonSet was deleted. It
// does, because the cache may lag, unless a live read shows no pod that serves. It does not become
// ready, because the clique may be stale.
bool StaysReady(const MembershipIndex& index, const Member& member) {
  const Member* const shown = base::FindOr(index.shown, member.node, nullptr);
  return shown != nullptr && shown->ready && shown->ip == member.ip &&
         (!index.live.was_read() || index.live.AnyPodOn(member.node, Serves));
}

// Returns whether a member that only status shows has left. S5 (a member leaves only after a live
// read), even if its daemon seems to end or a clique gives its index to another node. The live read
// must find no pod of it. Exception: pods that are being deleted and have removed their own
// entries.
bool ProveLeft(const LiveView& live, const Member& shown, Membership& membership) {
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

// Returns whether a live read shows the clique without an entry of the node. Then the daemon
// removed its entry, as it does when it crashes, and may still exist.
bool HasTakenItselfOut(const LiveView& live, const Member& shown) {
  return live.HasClique(shown.clique) && !live.Lists(shown.clique, shown.node);
}

// Returns whether the member's own daemon wrote it into status. NVIDIA's daemons do, and write no
// clique, if their feature gate ComputeDomainCliques is off, and in versions before cliques.
bool IsWrittenByItsDaemon(const MembershipIndex& index, const Member& shown) {
  const api::DaemonPod* const pod = base::FindOr(index.pods, shown.node, nullptr);
  if (shown.clique.empty() || pod == nullptr || !AreCliquesKnown(index.observed)) return false;
  const bool may_write = !pod->controller_writes && !pod->meta.deleting &&
                         pod->clique == shown.clique && pod->ip == shown.ip;
  const auto is_its = [&](const api::Clique& clique) {
    return clique.id == shown.clique && clique.meta.key.ns == pod->meta.key.ns;
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
    // The pod decides: the daemon knows no more, and writes its entry only when that changes.
    member.ready = true;
    AddMember(index, index.pods.at(shown.node)->meta.key.ns, std::move(member), members);
  }
}

void AddMember(const MembershipIndex& index, const std::string& ns, Member member,
               MemberByNode& members) {
  const api::DaemonPod* const pod = base::FindOr(index.pods, member.node, nullptr);
  const bool serves =
      pod == nullptr ? StaysReady(index, member) : Serves(*pod) && !IsSoughtElsewhere(*pod, member);
  const NodeLife life = LifeOf(index.observed, member.node);
  // A stale cache that shows the node as not ready must not make a member ready.
  const Member* const shown = base::FindOr(index.shown, member.node, nullptr);
  const bool may_become_ready = life == NodeLife::kLives ||
                                !index.observed.nodes.contains(member.node) ||
                                (shown != nullptr && shown->ready);
  member.ready = member.ready && serves && life != NodeLife::kLost && may_become_ready;
  const auto [it, added] = members.emplace(member.node, member);
  // A node that moved may still be listed in its old clique. Its pod shows the right clique.
  const bool is_where_pod_is =
      pod != nullptr && pod->clique == member.clique && pod->meta.key.ns == ns;
  if (!added && is_where_pod_is) it->second = member;
}

void KeepMembers(const MembershipIndex& index, MemberByNode& members, Membership& membership) {
  const std::vector<Member>& shown_members = index.observed.domain->status.nodes;
  const LiveView& live = index.live;
  std::set<std::pair<std::string, int>> taken;  // Cliques with an index.
  for (const auto& [node, member] : members) taken.emplace(member.clique, member.index);
  std::set<std::string> left;
  std::set<std::string> old_views;  // Cliques in which another node has a member's index.
  for (const Member& shown : shown_members) {
    if (members.contains(shown.node)) continue;
    const bool is_taken = !shown.clique.empty() && taken.contains({shown.clique, shown.index});
    if (index.unused.contains(shown.node) || ProveLeft(live, shown, membership) ||
        (is_taken && HasTakenItselfOut(live, shown))) {
      left.insert(shown.node);
    } else if (is_taken) {
      old_views.insert(shown.clique);
    }
  }
  // S3 (no index is assigned twice): status is newer than such a view, and has each index once.
  std::erase_if(members, [&](const auto& item) { return old_views.contains(item.second.clique); });
  for (const Member& shown : shown_members) {
    const bool is_known = members.contains(shown.node);
    if (!is_known && !left.contains(shown.node)) AddMember(index, "", shown, members);
  }
}

}  // namespace compute_domain
