#include "controller/compute_domain/rules/membership/membership.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/rules/membership/clique_batching.h"
#include "controller/compute_domain/rules/membership/clique_patch.h"
#include "controller/compute_domain/rules/membership/clique_spec.h"
#include "controller/compute_domain/rules/membership/member_readiness.h"

namespace compute_domain {

Membership PlanMembership(const Observed& observed, const Instant& now) {
  const MembershipIndex index(observed);
  std::map<CliquePlace, const api::Clique*> cliques;
  for (const api::Clique& clique : observed.children.cliques) {
    if (!clique.id.empty()) cliques[{clique.meta.key.ns, clique.id}] = &clique;
  }
  Membership membership;
  MemberByNode by_node;
  for (const auto& [node, pod] : index.pods) {
    if (!pod->clique) continue;
    if (!pod->clique->empty()) {
      if (!pod->controller_writes || !observed.facts.views.cliques_are_served) continue;
      if (AreCliquesKnown(observed)) {
        cliques.try_emplace({pod->meta.key.ns, *pod->clique});
      } else {
        membership.needs_daemons = true;  // Reads its clique, too.
      }
    } else if (!pod->ip.empty() && index.MayJoin(node)) {  // No fabric: only its pod shows it.
      AddMember(index, pod->meta.key.ns, {.node = node, .ip = pod->ip, .ready = pod->ready},
                by_node);
    }
  }
  for (const auto& [place, clique] : cliques) {
    CliqueContent next = DecideCliqueContent(index, place, clique, now, membership);
    if (std::optional<Action> write = WriteOf(index, place, clique, next, membership)) {
      const std::chrono::milliseconds wait =
          clique == nullptr ? std::chrono::milliseconds(0)
                            : UntilWrite(index, *clique, next.daemons, now.monotonic);
      if (wait > std::chrono::milliseconds(0)) {
        membership.requeue_after.AtMost(wait);
        next.daemons = clique->daemons;  // Status shows what the clique has.
      } else {
        membership.actions.push_back(*std::move(write));
      }
    }
    for (api::Member member : next.daemons) {
      const bool counts = IsWritten(observed, place, clique, member) && index.MayJoin(member.node);
      if (!counts) continue;
      member.clique = place.id;
      AddMember(index, place.ns, std::move(member), by_node);
    }
  }
  AddWrittenByDaemons(index, by_node);
  // Members of a deleted domain leave with their pods. Under a job, the daemons continue.
  if (!observed.domain->meta.deleting || !FindConsumers(observed).empty()) {
    KeepMembers(index, by_node, membership);
  }
  for (auto& [node, member] : by_node) {
    // The pod is deleted, or the cache lags. Only a live read shows which.
    const bool is_unseen = member.ready && !index.pods.contains(node) && !index.live.was_read();
    membership.needs_daemons = membership.needs_daemons || is_unseen;
    membership.members.push_back(std::move(member));
  }
  std::ranges::sort(membership.members, {}, [](const api::Member& member) {
    return std::tie(member.clique, member.index, member.node);
  });
  return membership;
}

}  // namespace compute_domain
