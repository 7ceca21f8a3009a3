#include "controller/compute_domain/membership.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "controller/compute_domain/clique_content.h"
#include "controller/compute_domain/clique_pace.h"
#include "controller/compute_domain/clique_write.h"
#include "controller/compute_domain/members.h"

namespace compute_domain {

using api::Clique;
using api::Member;
using std::chrono::milliseconds;

Membership PlanMembership(const Observed& observed, const Instant& now) {
  const PodByNode pods = PodsThatCount(observed);
  std::map<std::string, const Clique*> cliques;
  for (const Clique& clique : observed.children.cliques) {
    if (!clique.id.empty()) cliques[clique.id] = &clique;
  }
  Membership membership;
  MemberByNode by_node;
  for (const auto& [node, pod] : pods) {
    if (!pod->clique) continue;
    if (!pod->clique->empty()) {
      if (pod->controller_writes) cliques.try_emplace(*pod->clique, nullptr);
    } else if (!pod->ip.empty()) {  // No fabric: known by its pod alone.
      AddMember(observed, pods, {.node = node, .ip = pod->ip, .ready = pod->ready}, by_node);
    }
  }
  for (const auto& [id, clique] : cliques) {
    CliqueContent next = DecideCliqueContent(observed, pods, id, clique, now.wall, membership);
    if (std::optional<Action> write = WriteOf(observed, pods, id, clique, next)) {
      const milliseconds wait =
          clique == nullptr ? milliseconds(0)
                            : UntilWrite(observed, pods, *clique, next.daemons, now.monotonic);
      if (wait > milliseconds(0)) {
        BringForward(membership.look_again, wait);
        next.daemons = clique->daemons;  // Status says what the clique does.
      } else {
        membership.actions.push_back(*std::move(write));
      }
    }
    for (Member member : next.daemons) {
      if (!IsWritten(observed, id, clique, member)) continue;
      member.clique = id;
      AddMember(observed, pods, std::move(member), by_node);
    }
  }
  if (!observed.domain->meta.deleting) KeepMembers(observed, pods, by_node, membership);
  for (auto& [node, member] : by_node) membership.members.push_back(std::move(member));
  std::ranges::sort(membership.members, {}, [](const Member& member) {
    return std::tie(member.clique, member.index, member.node);
  });
  return membership;
}

}  // namespace compute_domain
