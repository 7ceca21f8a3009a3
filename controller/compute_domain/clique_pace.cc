#include "controller/compute_domain/clique_pace.h"

#include <algorithm>

namespace compute_domain {

using api::Clique;
using api::Member;
using std::chrono::milliseconds;

namespace {

// Whose changes a write of `daemons` could wait for.
struct OnTheWay {
  bool to_join = false;      // Nodes that are not in it.
  bool to_be_ready = false;  // Members that are not ready.
};

OnTheWay WhoIsOnTheWay(const Roster& roster, const CliquePlace& place,
                       const std::vector<Member>& daemons) {
  OnTheWay found;
  const auto entries = ByNode(daemons);
  for (const auto& [node, pod] : roster.pods) {
    if (!pod->controller_writes || pod->meta.deleting) continue;
    if (!MayBeIn(*pod, place)) {
      // The domain forms as a whole, and its nodes come in no order of cliques.
      if (!pod->ready) found.to_be_ready = true;
      continue;
    }
    const auto entry = entries.find(node);
    if (entry == entries.end()) {
      found.to_join = true;
    } else if (!entry->second->ready) {
      found.to_be_ready = true;
    }
  }
  const auto has_no_pod = [&](const api::Node& node) {
    return !roster.pods.contains(node.meta.key.name);
  };
  found.to_join =
      found.to_join || std::ranges::any_of(roster.observed.children.labelled_nodes, has_no_pod);
  return found;
}

bool Admits(const std::vector<Member>& before, const std::vector<Member>& after) {
  const auto known = ByNode(before);
  return std::ranges::any_of(after,
                             [&](const Member& member) { return !known.contains(member.node); });
}

}  // namespace

milliseconds UntilWrite(const Roster& roster, const Clique& clique,
                        const std::vector<Member>& daemons, base::Clock::TimePoint now) {
  const Observed& observed = roster.observed;
  const auto pace = observed.memory.clique_paces.find(clique.meta.key.name);
  if (pace == observed.memory.clique_paces.end()) return milliseconds(0);
  const auto until = [&](milliseconds window) {
    const auto rest = std::chrono::ceil<milliseconds>(pace->second.last + window - now);
    return std::max(milliseconds(0), rest);
  };
  if (LosesReadiness(clique.daemons, daemons)) return until(UrgentWindow(daemons.size()));
  const milliseconds first = observed.facts.status_window;
  const OnTheWay others = WhoIsOnTheWay(roster, {clique.meta.key.ns, clique.id}, daemons);
  milliseconds window = pace->second.window;
  if (!others.to_join && !others.to_be_ready) window = std::min(window, first);
  // Who joins is not ready before it is let in: not much is gained by waiting for more.
  if (!others.to_join && Admits(clique.daemons, daemons)) window = std::max(window / 4, first);
  return until(window);
}

milliseconds UrgentWindow(std::size_t members) {
  return milliseconds(100 + static_cast<milliseconds::rep>(members));
}

Pace NextPace(const Pace& before, base::Clock::TimePoint now, milliseconds first) {
  return {.last = now, .window = std::clamp(4 * before.window, first, 32 * first)};
}

bool IsAtRest(const Pace& pace, base::Clock::TimePoint now) {
  return now - pace.last >= 2 * pace.window;
}

bool LosesReadiness(const std::vector<Member>& before, const std::vector<Member>& after) {
  const auto now = ByNode(after);
  return std::ranges::any_of(before, [&](const Member& member) {
    if (!member.ready) return false;
    const auto it = now.find(member.node);
    return it == now.end() || !it->second->ready;
  });
}

}  // namespace compute_domain
