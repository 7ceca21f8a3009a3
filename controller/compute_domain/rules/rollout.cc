#include "controller/compute_domain/rules/rollout.h"

#include <algorithm>
#include <optional>
#include <set>

#include "controller/compute_domain/model/daemon_pods.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/rules/node_names.h"
#include "pkg/base/find.h"
#include "pkg/base/rfc3339.h"

namespace compute_domain {

namespace {

using api::DaemonPod;

using std::chrono::milliseconds;
using Hashes = std::map<kube::Uid, std::string>;

// If the cache still shows the pod after this time, an unconfirmed deletion did not happen.
constexpr std::chrono::seconds kShownWithin{10};
// A domain that ends its part of the rollout wakes one that waits, unless its process has ended.
constexpr std::chrono::minutes kLooksForRoom{5};

// Returns the template hashes of the domain's DaemonSets that cdom created, by UID. A pod is
// compared only with its own set. The hash of a set by another controller, such as NVIDIA's, is
// unknown.
//
// Skips a set that differs from its desired form: it is about to change, or its view is stale.
Hashes TemplateHashes(const Observed& observed) {
  Hashes hashes;
  const std::string wanted = RenderedDaemonSet(observed);
  for (const api::DaemonSet& set : observed.children.daemon_sets) {
    const bool is_as_wanted = wanted.empty() || set.template_hash == wanted;
    if (!set.template_hash.empty() && is_as_wanted) hashes[set.meta.uid] = set.template_hash;
  }
  return hashes;
}

bool IsOutdated(const DaemonPod& pod, const Hashes& hashes) {
  if (pod.terminal || pod.meta.deleting) return false;
  return std::ranges::any_of(hashes, [&](const auto& set) {
    return IsMadeBy(pod, set.first) && pod.template_hash != set.second;
  });
}

// The nodes of one clique, from live pods, labels and status.
struct CliqueView {
  std::vector<const DaemonPod*> outdated = {};
  std::set<std::string> away = {};  // Nodes without a daemon that serves.
};

// Returns the clique of each node: from its pod, else its label, else its entry in a clique or in
// status.
std::map<std::string, std::string> CliquesOfNodes(const Observed& observed,
                                                  const std::vector<DaemonPod>& pods) {
  std::map<std::string, std::string> cliques;
  for (const DaemonPod& pod : pods) {
    if (pod.clique) cliques.emplace(pod.node, *pod.clique);
  }
  for (const api::Node& node : observed.children.labelled_nodes) {
    if (!node.clique.empty()) cliques.emplace(node.meta.key.name, node.clique);
  }
  for (const api::Clique& clique : observed.children.cliques) {
    for (const api::Member& entry : clique.daemons) cliques.emplace(entry.node, clique.id);
  }
  for (const api::Member& member : observed.domain->status.nodes) {
    cliques.emplace(member.node, member.clique);
  }
  return cliques;
}

// Returns the pod of the clique to replace now. Null if none may be replaced.
const DaemonPod* Choose(const Observed& observed, const CliqueView& clique) {
  if (clique.outdated.empty() || clique.away.size() > 1) return nullptr;
  if (clique.away.empty()) {
    return *std::ranges::min_element(clique.outdated, {},
                                     [](const DaemonPod* pod) { return pod->node; });
  }
  // One daemon is missing already. If it is outdated, it may need the replacement to serve.
  const std::string& node = *clique.away.begin();
  const auto its = std::ranges::find(clique.outdated, node, &DaemonPod::node);
  return its == clique.outdated.end() || IsLost(observed, node) ? nullptr : *its;
}

// Returns the pod that was to be deleted, if it still exists. Null if it does not.
const DaemonPod* FindReplaced(const std::vector<DaemonPod>& pods, const Replacement& begun) {
  const auto pod = std::ranges::find_if(pods, [&](const DaemonPod& one) {
    return one.meta.uid == begun.replaced && !one.meta.deleting;
  });
  return pod == pods.end() ? nullptr : &*pod;
}

// Returns the nodes of the domain without a daemon that serves.
std::set<std::string> NodesAway(const Observed& observed, const Membership& membership,
                                const std::vector<DaemonPod>& pods) {
  std::set<std::string> nodes;
  for (const api::Node& node : observed.children.labelled_nodes) nodes.insert(node.meta.key.name);
  for (const api::Member& member : membership.members) nodes.insert(member.node);
  // A member that no pod uses has left status, but peers may still wait for its daemon.
  for (const api::Clique& clique : observed.children.cliques) {
    for (const api::Member& entry : clique.daemons) nodes.insert(entry.node);
  }
  for (const DaemonPod& pod : pods) {
    if (Serves(pod) && !IsLost(observed, pod.node)) nodes.erase(pod.node);
  }
  return nodes;
}

// Returns the cliques with a node on which a claim is allocated. Has no value if it may be any.
std::optional<std::set<std::string>> CliquesInUse(const Observed& observed,
                                                  const std::map<std::string, std::string>& cliques,
                                                  const std::vector<api::ResourceClaim>& claims) {
  std::set<std::string> in_use;
  for (const api::ResourceClaim& claim : claims) {
    if (!IsChannelClaim(observed, claim) || claim.node.empty()) continue;
    const std::string* const clique = base::Find(cliques, claim.node);
    const api::Node* const node = base::Find(observed.nodes, claim.node);
    if (clique != nullptr) {
      in_use.insert(*clique);
    } else if (node != nullptr && !node->clique.empty()) {
      in_use.insert(node->clique);
    } else {
      return {};
    }
  }
  return in_use;
}

// Returns the replacements that are due, of `pods` that no job in `claims` needs.
std::vector<Action> PodsToReplace(const Observed& observed, const Membership& membership,
                                  const std::vector<DaemonPod>& pods,
                                  const std::vector<api::ResourceClaim>& claims) {
  std::vector<Action> replacements;
  const Hashes hashes = TemplateHashes(observed);
  if (std::ranges::none_of(pods, [&](const auto& pod) { return IsOutdated(pod, hashes); })) {
    return replacements;
  }
  const auto cliques = CliquesOfNodes(observed, pods);
  const bool always = MayRestartUnderJob(observed);
  const auto in_use = CliquesInUse(observed, cliques, claims);
  if (!always && !in_use) return replacements;
  const auto replace = [&](const DaemonPod& pod, const std::string& clique) {
    replacements.emplace_back(ReplaceDaemon{
        .key = pod.meta.key, .uid = pod.meta.uid, .node = pod.node, .clique = clique});
  };
  std::map<std::string, CliqueView> views;
  std::set<std::string> unknown;  // Nodes without a daemon, in an unknown clique.
  for (const std::string& node : NodesAway(observed, membership, pods)) {
    const std::string* const clique = base::Find(cliques, node);
    (clique == nullptr ? unknown : views[*clique].away).insert(node);
  }
  for (const DaemonPod& pod : pods) {
    if (!IsOutdated(pod, hashes)) continue;
    if (const std::string* const clique = base::Find(cliques, pod.node)) {
      views[*clique].outdated.push_back(&pod);
    } else if (!pod.ready && !IsLost(observed, pod.node)) {
      // The pod never joined a clique, so no job relies on it.
      unknown.erase(pod.node);
      replace(pod, pod.node);
    }
  }
  for (auto& [id, view] : views) {
    if (!always && in_use->contains(id)) continue;
    if (const Replacement* const begun = base::Find(observed.memory.replacements, id)) {
      // Not settled yet. If the pod still exists, the outcome of its deletion is unknown.
      const DaemonPod* pod = FindReplaced(pods, *begun);
      if (pod != nullptr) replace(*pod, id);
      continue;
    }
    view.away.insert(unknown.begin(), unknown.end());
    if (const DaemonPod* pod = Choose(observed, view)) replace(*pod, id);
  }
  return replacements;
}

bool IsShownReady(const Observed& observed, const std::string& node) {
  return std::ranges::any_of(observed.domain->status.nodes, [&](const api::Member& shown) {
    return shown.node == node && shown.ready;
  });
}

std::string DescribePod(const DaemonPod& pod) {
  return "pods/" + kube::ToString(pod.meta.key) + " on " + pod.node +
         (pod.trouble.empty() ? "" : " (" + pod.trouble + ")");
}

// Returns the time until a daemon that does not serve is overdue. Measures by this process's clock
// if it saw the pod start, so that a wrong wall clock stops no rollout. Otherwise uses the pod's
// age.
milliseconds UntilOverdue(const Observed& observed, const DaemonPod& pod, const Instant& now) {
  const auto deadline = observed.facts.settings->rollout.deadline;
  if (const auto seen = base::FindOr(observed.memory.unready_since, pod.meta.uid, {})) {
    return std::chrono::ceil<milliseconds>(*seen + deadline - now.monotonic);
  }
  const auto made = base::ParseTime(pod.meta.creation_timestamp).value_or(now.wall);
  return std::chrono::ceil<milliseconds>(made + deadline - now.wall);
}

// Finds a daemon of a changed template that should serve by now: a replacement, or one for a new
// job. Requeues for the time at which one may fail.
void FindFailure(const Observed& observed, const Instant& now, Rollout& rollout) {
  const std::chrono::seconds deadline = observed.facts.settings->rollout.deadline;
  for (const auto& [clique, replacement] : observed.memory.replacements) {
    if (replacement.serves_since) continue;
    const auto rest = replacement.began + deadline - now.monotonic;
    const bool is_due = rollout.requeue_after.RequeueUnlessDue(rest);
    if (is_due && !IsLost(observed, replacement.node))
      rollout.failed = "The daemon on " + replacement.node;
  }
  for (const api::DaemonSet& set : observed.children.daemon_sets) {
    const bool is_changed = !set.template_hash.empty() && set.template_generation > 1;
    if (!is_changed) continue;
    std::vector<const DaemonPod*> made;  // From the current template.
    for (const DaemonPod& pod : observed.children.daemon_pods) {
      if (IsMadeBy(pod, set.meta.uid) && pod.template_hash == set.template_hash) {
        made.push_back(&pod);
      }
    }
    // If one daemon serves, the template works. A failure of another is a problem of its node.
    if (std::ranges::any_of(made, [](const DaemonPod* pod) { return Serves(*pod); })) continue;
    for (const DaemonPod* pod : made) {
      const bool is_going = pod->terminal || pod->meta.deleting;
      if (is_going || IsLost(observed, pod->node)) continue;
      const bool is_due = rollout.requeue_after.RequeueUnlessDue(UntilOverdue(observed, *pod, now));
      if (is_due) rollout.failed = DescribePod(*pod);
    }
  }
  if (!rollout.failed.empty()) {
    rollout.failed += ", created from the new template, is not ready after " +
                      std::to_string(deadline.count()) + " s.";
  }
}

}  // namespace

bool IsMadeBy(const DaemonPod& pod, const kube::Uid& set) {
  const kube::OwnerReference* owner = pod.meta.ControllerOwner();
  return owner != nullptr && owner->uid == set;
}

bool MayRestartUnderJob(const Observed& observed) {
  const std::string& own = observed.domain->daemon_roll;
  if (own == "Always") return true;
  return own.empty() && observed.facts.settings->rollout.policy == RolloutPolicy::kAlways;
}

bool IsClaimed(const Observed& observed, const std::vector<api::ResourceClaim>& claims) {
  if (!observed.facts.views.claims_are_read) return true;
  return std::ranges::any_of(claims, [&](const api::ResourceClaim& claim) {
    return IsChannelClaim(observed, claim) && !claim.node.empty();
  });
}

std::vector<std::string> FindOutdated(const Observed& observed) {
  const Hashes hashes = TemplateHashes(observed);
  std::vector<std::string> pods;
  for (const DaemonPod& pod : observed.children.daemon_pods) {
    if (IsOutdated(pod, hashes)) pods.push_back(pod.meta.key.name);
  }
  std::ranges::sort(pods);
  return pods;
}

std::map<std::string, Replacement> FindReplacements(const Observed& observed,
                                                    base::Clock::TimePoint now) {
  std::map<std::string, Replacement> found;
  if (!observed.domain || observed.domain->meta.deleting) return found;
  const PodByNode pods = PodsThatCount(observed);
  for (auto [clique, replacement] : observed.memory.replacements) {
    const DaemonPod* const pod = base::FindOr(pods, replacement.node, nullptr);
    const bool is_labelled =
        base::Contains(observed.children.labelled_nodes, replacement.node,
                       [](const api::Node& node) { return node.meta.key.name; });
    if (pod == nullptr && !is_labelled) continue;  // The node no longer needs a daemon.
    const bool is_kept =
        pod != nullptr && pod->meta.uid == replacement.replaced && !pod->meta.deleting;
    if (is_kept && now - replacement.began >= kShownWithin) continue;
    // A lost node must not keep the place from other domains. Its daemon starts when it is back.
    const bool is_over = now - replacement.began >= observed.facts.settings->rollout.deadline;
    if (is_over && IsLost(observed, replacement.node)) continue;
    const bool serves = pod != nullptr && pod->meta.uid != replacement.replaced && Serves(*pod) &&
                        IsShownReady(observed, replacement.node);
    if (!serves) {
      replacement.serves_since.reset();
    } else if (!replacement.serves_since) {
      replacement.serves_since = now;
    } else if (now - *replacement.serves_since >= observed.facts.settings->rollout.settle) {
      continue;
    }
    found.emplace(clique, std::move(replacement));
  }
  return found;
}

Rollout PlanRollout(const Observed& observed, const Membership& membership, const Instant& now) {
  Rollout rollout;
  FindFailure(observed, now, rollout);
  for (const auto& [clique, replacement] : observed.memory.replacements) {
    const auto due = replacement.serves_since
                         ? *replacement.serves_since + observed.facts.settings->rollout.settle
                         : replacement.began + kShownWithin;
    const auto rest = std::chrono::ceil<milliseconds>(due - now.monotonic);
    if (!replacement.serves_since && rest <= milliseconds(0)) continue;
    rollout.requeue_after.AtMost(std::max(rest, milliseconds(1)));
  }
  if (!rollout.failed.empty() || !observed.facts.cluster.rollout_stopped.empty()) return rollout;
  if (const auto until = observed.facts.cluster.MissingUntil("delete", kube::kPods)) {
    if (FindOutdated(observed).empty()) return rollout;
    // No watch shows when the permission is granted.
    rollout.requeue_after.AtMostUntil(*until, now.monotonic);
    return rollout;
  }
  const Views& views = observed.facts.views;
  // Claims that cannot be read may be on any node. A node that is not known may lack its daemon.
  if (!views.claims_are_read && !MayRestartUnderJob(observed)) return rollout;
  if (views.IsUnknown(Kind::kNode)) return rollout;
  // In most passes the cache shows no pod that is due, and no live reads are needed.
  const Children& cached = observed.children;
  const auto due = PodsToReplace(observed, membership, cached.daemon_pods, cached.claims);
  if (due.empty()) return rollout;
  const bool any_is_under_way = std::ranges::any_of(due, [&](const Action& action) {
    return observed.memory.replacements.contains(std::get<ReplaceDaemon>(action).clique);
  });
  if (!observed.facts.cluster.rollout_has_room && !any_is_under_way) {
    rollout.waits_for_room = true;
    rollout.requeue_after.AtMost(kLooksForRoom);
    return rollout;
  }
  const bool needs_claims = !observed.evidence.claims && !MayRestartUnderJob(observed);
  if (needs_claims) rollout.actions.emplace_back(ReadClaims{.ns = observed.domain->meta.key.ns});
  rollout.needs_daemons = !observed.evidence.daemon_pods;
  if (needs_claims || rollout.needs_daemons) return rollout;
  const auto& claims = observed.evidence.claims ? *observed.evidence.claims : cached.claims;
  rollout.actions = PodsToReplace(observed, membership, *observed.evidence.daemon_pods, claims);
  return rollout;
}

}  // namespace compute_domain
