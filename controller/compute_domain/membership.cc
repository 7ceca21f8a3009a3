#include "controller/compute_domain/membership.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <tuple>

#include "controller/api/names.h"
#include "pkg/base/rfc3339.h"

namespace compute_domain {

namespace {

using api::Clique;
using api::DaemonPod;
using api::HeldIndex;
using api::Member;
using std::chrono::milliseconds;
using PodByNode = std::map<std::string, const DaemonPod*>;

bool IsBetter(const DaemonPod& a, const DaemonPod& b) {
  const auto rank = [](const DaemonPod& pod) {
    return std::tie(pod.meta.creation_timestamp, pod.meta.uid);
  };
  if (a.meta.deleting != b.meta.deleting) return b.meta.deleting;
  return rank(a) > rank(b);
}

// The pod that counts for each node: of several, one that stays before one that goes, then the
// newest.
PodByNode PodsThatCount(const Observed& observed) {
  std::set<std::string> our_daemon_sets;
  for (const api::DaemonSet& set : observed.children.daemon_sets) {
    our_daemon_sets.insert(set.meta.uid);
  }
  PodByNode pods;
  for (const DaemonPod& pod : observed.children.daemon_pods) {
    const kube::OwnerReference* owner = pod.meta.ControllerOwner();
    const bool ours = owner != nullptr && our_daemon_sets.contains(owner->uid);
    if (!ours || pod.node.empty() || pod.terminal) continue;
    const DaemonPod*& best = pods[pod.node];
    if (best == nullptr || IsBetter(pod, *best)) best = &pod;
  }
  return pods;
}

bool MayBeIn(const DaemonPod& pod, const std::string& clique) {
  return !pod.clique || *pod.clique == clique;  // Without the label it is only starting.
}

// What a clique holds.
struct CliqueContent {
  std::vector<Member> daemons = {};
  std::vector<HeldIndex> held = {};
};

// One clique: what it holds now, and what it should hold.
class CliqueRule {
 public:
  CliqueRule(const Observed& observed, const PodByNode& pods, std::string id, const Clique* clique,
             base::Clock::WallTime now)
      : observed_(observed), pods_(pods), id_(std::move(id)), clique_(clique), now_(now) {}

  // What it should hold. Sets `needs_daemon_pods` and adds to `refused`.
  CliqueContent Decide(Membership& membership) {
    if (clique_ != nullptr) {
      // Its daemon is about to remove its own entry; a write of ours would make it fail.
      if (OwnWriterLeaves()) return {.daemons = clique_->daemons, .held = clique_->held};
      for (const HeldIndex& held : clique_->held) {
        if (IsHeldNow(held)) next_.held.push_back(held);
      }
      for (const Member& entry : clique_->daemons) Keep(entry, membership);
    }
    // Those that had an index before come first, so that nobody else takes it.
    for (const auto& [node, pod] : pods_) {
      if (!Joins(node, *pod)) continue;
      if (const int index = IndexBefore(node); index >= 0) Join(*pod, index);
    }
    for (const auto& [node, pod] : pods_) {
      if (!Joins(node, *pod)) continue;
      if (const int index = FreeIndex(); index >= 0) {
        Join(*pod, index);
      } else {
        membership.refused.push_back(node + " in clique " + id_);
      }
    }
    return std::move(next_);
  }

 private:
  bool IsHeldNow(const HeldIndex& held) const {
    const auto until = base::ParseTime(held.until);
    return until && *until > now_;
  }

  // The lowest that nobody has or is kept for; if all are, the one that is kept for the node that
  // has been away longest. -1: none.
  int FreeIndex() {
    const int most = observed_.facts.daemons.nodes_per_imex_domain_max;
    std::set<int> taken = used_;
    for (const HeldIndex& held : next_.held) taken.insert(held.index);
    if (const int index = LowestFreeIndex(taken, most); index >= 0) return index;
    std::ranges::sort(next_.held, {},
                      [](const HeldIndex& held) { return std::tie(held.until, held.index); });
    for (const HeldIndex& held : next_.held) {
      if (IsFree(held.index)) return held.index;
    }
    return -1;
  }

  // Daemons that write their own entries choose among all indices, whatever is kept.
  void Hold(const Member& entry) {
    const bool is_ours = observed_.facts.daemons.controller_writes && IsFree(entry.index);
    if (!is_ours || observed_.facts.index_hold <= std::chrono::seconds(0)) return;
    next_.held.push_back({.node = entry.node,
                          .index = entry.index,
                          .until = base::FormatSeconds(now_ + observed_.facts.index_hold)});
  }

  const DaemonPod* PodOf(const std::string& node) const {
    const auto it = pods_.find(node);
    return it == pods_.end() ? nullptr : it->second;
  }

  bool OwnWriterLeaves() const {
    return std::ranges::any_of(observed_.children.daemon_pods, [&](const DaemonPod& pod) {
      return !pod.controller_writes && pod.meta.deleting && !pod.terminal && pod.clique == id_;
    });
  }

  bool IsProvenGone(const Member& entry, Membership& membership) const {
    if (!observed_.evidence.daemon_pods) {
      membership.needs_daemon_pods = true;
      return false;
    }
    return std::ranges::none_of(*observed_.evidence.daemon_pods, [&](const DaemonPod& pod) {
      return pod.node == entry.node && !pod.terminal && MayBeIn(pod, id_);
    });
  }

  void Keep(const Member& entry, Membership& membership) {
    const DaemonPod* pod = PodOf(entry.node);
    // Nobody leaves because one cache lags, not even one whose pod seems to be elsewhere (S5).
    if (pod == nullptr || !MayBeIn(*pod, id_)) {
      if (IsProvenGone(entry, membership)) {
        Hold(entry);
      } else {
        Put(entry);
      }
      return;
    }
    if (!pod->controller_writes) return Put(entry);
    Member updated = entry;
    updated.ready = pod->clique && Serves(*pod);
    if (!pod->ip.empty()) updated.ip = pod->ip;
    // An index out of range or held twice was not given by us: its node joins afresh.
    if (IsFree(entry.index)) Put(updated);
  }

  bool IsFree(int index) const {
    return index >= 0 && index < observed_.facts.daemons.nodes_per_imex_domain_max &&
           !used_.contains(index);
  }

  bool Joins(const std::string& node, const DaemonPod& pod) const {
    return pod.controller_writes && pod.clique == id_ && !pod.ip.empty() && !pod.meta.deleting &&
           !entries_of_.contains(node);
  }

  // The free index that is kept for the node, or under which status still shows it: a clique that
  // somebody deleted is made again as it was, since its daemons go on under their indices (S4).
  // -1: none.
  int IndexBefore(const std::string& node) const {
    for (const HeldIndex& held : next_.held) {
      if (held.node == node && IsFree(held.index)) return held.index;
    }
    for (const Member& member : observed_.domain->status.nodes) {
      const bool is_it = member.node == node && member.clique == id_;
      if (is_it && IsFree(member.index)) return member.index;
    }
    return -1;
  }

  void Join(const DaemonPod& pod, int index) {
    Put({.node = pod.node, .ip = pod.ip, .clique = id_, .index = index, .ready = Serves(pod)});
  }

  void Put(const Member& member) {
    used_.insert(member.index);
    entries_of_.insert(member.node);
    std::erase_if(next_.held, [&](const HeldIndex& held) {
      return held.node == member.node || held.index == member.index;
    });
    next_.daemons.push_back(member);
  }

  const Observed& observed_;
  const PodByNode& pods_;
  const std::string id_;
  const Clique* clique_;
  const base::Clock::WallTime now_;
  CliqueContent next_;
  std::set<int> used_;
  std::set<std::string> entries_of_;
};

json::Value RenderOwners(const std::vector<kube::OwnerReference>& owners) {
  json::Value rendered = json::Value::Array();
  for (const kube::OwnerReference& owner : owners) {
    rendered.Append(json::Value::Object({{"apiVersion", owner.api_version},
                                         {"kind", owner.kind},
                                         {"name", owner.name},
                                         {"uid", owner.uid}}));
  }
  return rendered;
}

json::Value RenderClique(const kube::ObjectKey& key, const Observed& observed,
                         const std::string& id, const std::vector<Member>& daemons,
                         const kube::OwnerReference& owner) {
  using json::Value;
  return Value::Object({{"apiVersion", api::kComputeDomainCliques.ApiVersion()},
                        {"kind", api::kComputeDomainCliques.kind},
                        {"metadata", Value::Object({{"name", key.name},
                                                    {"namespace", key.ns},
                                                    {"labels", CliqueLabels(observed.uid, id)},
                                                    {"ownerReferences", RenderOwners({owner})}})},
                        {"daemons", api::EncodeDaemons(daemons)}});
}

// Who owns the cliques that we write, and lies where they are made: of several DaemonSets the one
// that stays (B28). REQUIRES: a DaemonSet, which made the pods that belong in the clique.
const kube::ObjectMeta& OwnerOfCliques(const Observed& observed) {
  const auto& sets = observed.children.daemon_sets;
  const std::string ours = api::DaemonName(observed.uid);
  const auto stays = std::ranges::find_if(sets, [&](const api::DaemonSet& set) {
    return set.meta.key.name == ours && !set.meta.deleting;
  });
  return stays == sets.end() ? sets.front().meta : stays->meta;
}

kube::OwnerReference ReferenceToOwner(const Observed& observed) {
  const kube::ObjectMeta& owner = OwnerOfCliques(observed);
  return {.api_version = kube::kDaemonSets.ApiVersion(),
          .kind = kube::kDaemonSets.kind,
          .name = owner.key.name,
          .uid = owner.uid};
}

kube::ObjectKey KeyOf(const Observed& observed, const std::string& id) {
  return {.ns = OwnerOfCliques(observed).key.ns, .name = api::CliqueName(observed.uid, id)};
}

// Whether the clique holds the member, under this index, as far as we know.
bool IsWritten(const Observed& observed, const std::string& id, const Clique* clique,
               const Member& member) {
  if (clique == nullptr) {
    const auto made = observed.evidence.taken.find({Kind::kClique, KeyOf(observed, id)});
    return made != observed.evidence.taken.end() && made->second;  // By us, in this pass.
  }
  return std::ranges::any_of(clique->daemons, [&](const Member& entry) {
    return entry.node == member.node && entry.index == member.index;
  });
}

// Whose changes a write of `daemons` could wait for.
struct OnTheWay {
  bool to_join = false;      // Nodes that are not in it.
  bool to_be_ready = false;  // Members that are not ready.
};

OnTheWay WhoIsOnTheWay(const Observed& observed, const PodByNode& pods, const std::string& id,
                       const std::vector<Member>& daemons) {
  OnTheWay found;
  for (const auto& [node, pod] : pods) {
    if (!pod->controller_writes || pod->meta.deleting) continue;
    if (!MayBeIn(*pod, id)) {
      // The domain forms as a whole, and its nodes come in no order of cliques.
      if (!pod->ready) found.to_be_ready = true;
      continue;
    }
    const auto entry = std::ranges::find(daemons, node, &Member::node);
    if (entry == daemons.end()) {
      found.to_join = true;
    } else if (!entry->ready) {
      found.to_be_ready = true;
    }
  }
  const auto has_no_pod = [&](const api::Node& node) { return !pods.contains(node.meta.key.name); };
  found.to_join =
      found.to_join || std::ranges::any_of(observed.children.labelled_nodes, has_no_pod);
  return found;
}

bool Admits(const std::vector<Member>& before, const std::vector<Member>& after) {
  return std::ranges::any_of(after, [&](const Member& member) {
    return std::ranges::find(before, member.node, &Member::node) == before.end();
  });
}

// How long the clique's write of `daemons` has to wait for others.
milliseconds UntilWrite(const Observed& observed, const PodByNode& pods, const Clique& clique,
                        const std::vector<Member>& daemons, base::Clock::TimePoint now) {
  const auto pace = observed.clique_paces.find(clique.meta.key.name);
  if (pace == observed.clique_paces.end()) return milliseconds(0);
  if (LosesReadiness(clique.daemons, daemons)) return milliseconds(0);
  const milliseconds first = observed.facts.status_window;
  const OnTheWay others = WhoIsOnTheWay(observed, pods, clique.id, daemons);
  milliseconds window = pace->second.window;
  if (!others.to_join && !others.to_be_ready) window = std::min(window, first);
  // Who joins is not ready before it is let in: not much is gained by waiting for more.
  if (!others.to_join && Admits(clique.daemons, daemons)) window = std::max(window / 4, first);
  const auto rest = std::chrono::ceil<milliseconds>(pace->second.last + window - now);
  return std::max(milliseconds(0), rest);
}

// Whom a clique shall belong to that daemons have made, once an entry in it is ours to write: the
// DaemonSet too, or it goes with the last pod of theirs (B58). Null: those who own it.
json::Value OwnersOf(const Observed& observed, const PodByNode& pods, const Clique& clique,
                     const CliqueContent& next) {
  const bool any_ours = std::ranges::any_of(next.daemons, [&](const Member& member) {
    const auto pod = pods.find(member.node);
    return pod != pods.end() && pod->second->controller_writes;
  });
  if (!any_ours) return {};
  std::vector<kube::OwnerReference> owners = clique.meta.owners;
  const kube::OwnerReference ours = ReferenceToOwner(observed);
  if (std::ranges::find(owners, ours.uid, &kube::OwnerReference::uid) != owners.end()) return {};
  owners.push_back(ours);
  return RenderOwners(owners);
}

// The write that makes the clique hold `next`; empty if it does.
std::optional<Action> WriteOf(const Observed& observed, const PodByNode& pods,
                              const std::string& id, const Clique* clique,
                              const CliqueContent& next) {
  if (clique != nullptr) {
    // An index that is no longer kept is no reason for a write.
    if (clique->meta.deleting || clique->daemons == next.daemons) return {};
    return WriteClique{.clique = clique->meta,
                       .daemons = next.daemons,
                       .held = next.held,
                       .owners = OwnersOf(observed, pods, *clique, next)};
  }
  if (next.daemons.empty()) return {};
  const kube::OwnerReference owner = ReferenceToOwner(observed);
  const kube::ObjectKey key = KeyOf(observed, id);
  // Taken: the cache is behind, and what is there will arrive.
  if (observed.evidence.taken.contains({Kind::kClique, key})) return {};
  return Create{.kind = Kind::kClique,
                .key = key,
                .object = RenderClique(key, observed, id, next.daemons, owner)};
}

// What status says: an entry is Ready only while its node lives and its pod is ready and stays. A
// pod that the cache has not shown is no reason: a cache that lags would take a whole domain down.
void AddToStatus(const Observed& observed, const PodByNode& pods, Member member,
                 std::map<std::string, Member>& by_node) {
  const auto pod = pods.find(member.node);
  const bool serves = pod == pods.end() || Serves(*pod->second);
  member.ready = member.ready && serves && !IsLost(observed, member.node);
  const auto [it, added] = by_node.emplace(member.node, member);
  // A node that moved may still stand in its old clique; its pod says where it is.
  const bool is_where_pod_is = pod != pods.end() && pod->second->clique == member.clique;
  if (!added && is_where_pod_is) it->second = member;
}

// Whether a member that only status still shows is one no longer. Nobody leaves because one cache
// lags (S5), not even one whose daemon seems to be ending or whose index a clique gives to somebody
// else: a live read shows that no pod is left but those that are about to end and have taken their
// own entries out.
bool HasLeft(const Observed& observed, const Member& shown, Membership& membership) {
  const auto is_its = [&](const DaemonPod& pod) {
    return pod.node == shown.node && !pod.terminal && MayBeIn(pod, shown.clique);
  };
  const auto leaves = [&](const DaemonPod& pod) {
    return !shown.clique.empty() && !pod.controller_writes && pod.meta.deleting;
  };
  if (!observed.evidence.daemon_pods) {
    membership.needs_daemon_pods = true;
    return false;
  }
  return std::ranges::none_of(*observed.evidence.daemon_pods,
                              [&](const DaemonPod& pod) { return is_its(pod) && !leaves(pod); });
}

bool IsIndexTaken(const std::map<std::string, Member>& by_node, const Member& shown) {
  return std::ranges::any_of(by_node, [&](const auto& item) {
    return !shown.clique.empty() && item.second.clique == shown.clique &&
           item.second.index == shown.index;
  });
}

// Adds the members that only status still shows and that have not left.
void KeepMembers(const Observed& observed, const PodByNode& pods,
                 std::map<std::string, Member>& by_node, Membership& membership) {
  const std::vector<Member>& shown_members = observed.domain->status.nodes;
  std::set<std::string> left;
  std::set<std::string> old_views;  // Of cliques, in which the index of a member is another's.
  for (const Member& shown : shown_members) {
    if (by_node.contains(shown.node)) continue;
    if (HasLeft(observed, shown, membership)) {
      left.insert(shown.node);
    } else if (IsIndexTaken(by_node, shown)) {
      old_views.insert(shown.clique);
    }
  }
  // Status is newer than such a view, and has each index once (S3).
  std::erase_if(by_node, [&](const auto& item) { return old_views.contains(item.second.clique); });
  for (const Member& shown : shown_members) {
    const bool is_known = by_node.contains(shown.node);
    if (!is_known && !left.contains(shown.node)) AddToStatus(observed, pods, shown, by_node);
  }
}

}  // namespace

bool IsLost(const Observed& observed, const std::string& node) {
  const auto it = observed.nodes.find(node);
  return it == observed.nodes.end() || !it->second.ready;
}

bool Serves(const DaemonPod& pod) { return pod.ready && !pod.meta.deleting; }

Pace NextPace(const Pace& before, base::Clock::TimePoint now, milliseconds first) {
  return {.last = now, .window = std::clamp(4 * before.window, first, 32 * first)};
}

bool IsAtRest(const Pace& pace, base::Clock::TimePoint now) {
  return now - pace.last >= 2 * pace.window;
}

bool LosesReadiness(const std::vector<Member>& before, const std::vector<Member>& after) {
  return std::ranges::any_of(before, [&](const Member& member) {
    if (!member.ready) return false;
    const auto it = std::ranges::find(after, member.node, &Member::node);
    return it == after.end() || !it->ready;
  });
}

int LowestFreeIndex(const std::set<int>& used, int members_max) {
  for (int index = 0; index < members_max; ++index) {
    if (!used.contains(index)) return index;
  }
  return -1;
}

json::Value CliqueLabels(const std::string& domain, const std::string& clique) {
  return json::Value::Object(
      {{std::string(api::kDomainLabel), domain}, {std::string(api::kCliqueLabel), clique}});
}

Membership PlanMembership(const Observed& observed, const Instant& now) {
  const PodByNode pods = PodsThatCount(observed);
  std::map<std::string, const Clique*> cliques;
  for (const Clique& clique : observed.children.cliques) {
    if (!clique.id.empty()) cliques[clique.id] = &clique;
  }
  Membership membership;
  std::map<std::string, Member> by_node;
  for (const auto& [node, pod] : pods) {
    if (!pod->clique) continue;
    if (!pod->clique->empty()) {
      if (pod->controller_writes) cliques.try_emplace(*pod->clique, nullptr);
    } else if (!pod->ip.empty()) {  // No fabric: known by its pod alone.
      AddToStatus(observed, pods, {.node = node, .ip = pod->ip, .ready = pod->ready}, by_node);
    }
  }
  for (const auto& [id, clique] : cliques) {
    CliqueContent next = CliqueRule(observed, pods, id, clique, now.wall).Decide(membership);
    if (std::optional<Action> write = WriteOf(observed, pods, id, clique, next)) {
      const milliseconds wait =
          clique == nullptr ? milliseconds(0)
                            : UntilWrite(observed, pods, *clique, next.daemons, now.monotonic);
      if (wait > milliseconds(0)) {
        membership.look_again = std::min(wait, membership.look_again.value_or(wait));
        next.daemons = clique->daemons;  // Status says what the clique does.
      } else {
        membership.actions.push_back(*std::move(write));
      }
    }
    for (Member member : next.daemons) {
      if (!IsWritten(observed, id, clique, member)) continue;
      member.clique = id;
      AddToStatus(observed, pods, std::move(member), by_node);
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
