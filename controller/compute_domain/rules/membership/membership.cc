#include "controller/compute_domain/rules/membership/membership.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/rules/membership/clique_batching.h"
#include "controller/compute_domain/rules/membership/clique_patch.h"
#include "controller/compute_domain/rules/membership/clique_spec.h"
#include "controller/compute_domain/rules/membership/member_merge.h"
#include "pkg/base/find.h"

namespace compute_domain {

namespace {

// A pod that is replaced at once keeps its node in status. Also the shortest time between two reads
// of claims for this.
constexpr std::chrono::seconds kUnusedFor{1};

using Cliques = std::map<CliquePlace, const api::Clique*>;

// Returns the cliques that exist, and null for those that pods need. Where cliques are not known,
// their daemons are read live instead.
Cliques FindCliques(const Observed& observed, const MembershipIndex& index,
                    Membership& membership) {
  Cliques cliques;
  for (const api::Clique& clique : observed.children.cliques) {
    if (!clique.id.empty()) cliques[{clique.meta.key.ns, clique.id}] = &clique;
  }
  for (const auto& [node, pod] : index.pods) {
    if (!pod->clique || pod->clique->empty() || !pod->controller_writes) continue;
    if (!observed.facts.views.cliques_are_served) continue;
    if (AreCliquesKnown(observed)) {
      cliques.try_emplace({pod->meta.key.ns, *pod->clique});
    } else {
      membership.needs_daemons = true;  // Reads its clique, too.
    }
  }
  return cliques;
}

// Returns the members that no pod has used for a while, according to the cache. Members without a
// clique are left out: nothing but status lists them.
std::set<std::string> FindIdle(const MembershipIndex& index, const Instant& now,
                               RequeueAfter& requeue_after) {
  const Observed& observed = index.observed;
  std::set<std::string> idle;
  for (const api::Clique& clique : observed.children.cliques) {
    const CliquePlace place = {.ns = clique.meta.key.ns, .id = clique.id};
    for (const api::Member& entry : clique.daemons) {
      if (index.users->contains(entry.node) || !index.shown.contains(entry.node)) continue;
      const api::DaemonPod* const pod = base::FindOr(index.pods, entry.node, nullptr);
      if (pod == nullptr || !MayBeIn(*pod, place)) continue;
      const api::Node* const node = base::Find(observed.nodes, entry.node);
      const bool is_labelled = node != nullptr && node->domain == observed.uid;
      const auto since = base::FindOr(observed.memory.idle_since, entry.node, now.monotonic);
      const bool is_due =
          !is_labelled || requeue_after.RequeueUnlessDue(since + kUnusedFor - now.monotonic);
      if (is_due) idle.insert(entry.node);
    }
  }
  return idle;
}

// Returns the members that leave status before their daemons end: no pod uses their nodes any more,
// as a live read shows (R2). Only status forgets them. A next pod finds label, daemon and clique
// entry as they were.
std::set<std::string> FindUnused(const MembershipIndex& index, const Instant& now,
                                 Membership& membership) {
  const Observed& observed = index.observed;
  const Views& views = observed.facts.views;
  const bool are_seen = index.users && views.IsFresh(Kind::kClaim) && views.IsFresh(Kind::kNode);
  if (!are_seen || observed.domain->meta.deleting) return {};
  std::set<std::string> unused = FindIdle(index, now, membership.requeue_after);
  if (unused.empty()) return unused;
  if (observed.evidence.claims) {
    for (const std::string& node : NodesInUse(observed, *observed.evidence.claims)) {
      unused.erase(node);
    }
    return unused;
  }
  // Nodes that become idle one after the other share a read.
  const auto& read = observed.memory.claims_read;
  membership.needs_claims =
      !read || membership.requeue_after.RequeueUnlessDue(*read + kUnusedFor - now.monotonic);
  return {};
}

// Only its pod shows a node without fabric.
void AddNodesWithoutFabric(const MembershipIndex& index, MemberByNode& by_node) {
  for (const auto& [node, pod] : index.pods) {
    const bool has_no_fabric = pod->clique && pod->clique->empty();
    if (!has_no_fabric || pod->ip.empty() || !index.MayJoin(node)) continue;
    AddMember(index, pod->meta.key.ns, {.node = node, .ip = pod->ip, .ready = pod->ready}, by_node);
  }
}

// Plans the write of a clique, and returns its entries as status shows them.
std::vector<api::Member> PlanClique(const MembershipIndex& index, const CliquePlace& place,
                                    const api::Clique* clique, const Instant& now,
                                    Membership& membership) {
  api::Clique next = DecideClique(index, place, clique, now, membership);
  std::optional<Action> write = WriteOf(index, place, clique, next, membership);
  if (!write) return std::move(next.daemons);
  const auto wait = clique == nullptr ? std::chrono::milliseconds(0)
                                      : UntilWrite(index, *clique, next.daemons, now.monotonic);
  if (!membership.requeue_after.RequeueUnlessDue(wait)) return clique->daemons;
  membership.actions.push_back(*std::move(write));
  return std::move(next.daemons);
}

// Adds the entries of a clique that somebody wrote.
void AddEntries(const Observed& observed, const MembershipIndex& index, const CliquePlace& place,
                const api::Clique* clique, std::vector<api::Member> entries,
                MemberByNode& by_node) {
  for (api::Member& member : entries) {
    const bool counts = IsWritten(observed, place, clique, member) && index.MayJoin(member.node);
    if (!counts) continue;
    member.clique = place.id;
    AddMember(index, place.ns, std::move(member), by_node);
  }
}

void TakeMembers(const MembershipIndex& index, MemberByNode by_node, Membership& membership) {
  for (auto& [node, member] : by_node) {
    // The pod is deleted, or the cache lags. Only a live read shows which.
    const bool is_unseen = member.ready && !index.pods.contains(node) && !index.live.was_read();
    membership.needs_daemons = membership.needs_daemons || is_unseen;
    membership.members.push_back(std::move(member));
  }
  std::ranges::sort(membership.members, {}, [](const api::Member& member) {
    return std::tie(member.clique, member.index, member.node);
  });
}

}  // namespace

Membership PlanMembership(const Observed& observed, const Instant& now) {
  MembershipIndex index(observed);
  Membership membership;
  index.unused = FindUnused(index, now, membership);
  MemberByNode by_node;
  const Cliques cliques = FindCliques(observed, index, membership);
  AddNodesWithoutFabric(index, by_node);
  for (const auto& [place, clique] : cliques) {
    AddEntries(observed, index, place, clique, PlanClique(index, place, clique, now, membership),
               by_node);
  }
  AddWrittenByDaemons(index, by_node);
  // Members of a deleted domain leave with their pods. Under a job, the daemons continue.
  if (!observed.domain->meta.deleting || !FindConsumers(observed).empty()) {
    KeepMembers(index, by_node, membership);
  }
  TakeMembers(index, std::move(by_node), membership);
  return membership;
}

}  // namespace compute_domain
