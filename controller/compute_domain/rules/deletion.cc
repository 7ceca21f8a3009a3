#include "controller/compute_domain/rules/deletion.h"

#include <algorithm>

#include "controller/api/names.h"
#include "controller/compute_domain/model/daemon_pods.h"
#include "controller/compute_domain/model/ownership.h"
#include "pkg/base/find.h"
#include "pkg/base/rfc3339.h"
#include "pkg/base/text.h"

namespace compute_domain {

using std::chrono::milliseconds;

namespace {

// Time that a pod may take to end after the kubelet kills it.
constexpr std::chrono::seconds kEndsWithin{5};
// The API server refuses a condition whose message is too long.
constexpr std::size_t kNamedFinalizersMax = 8;

// Deletes the object. If it is being deleted already, removes cdom's finalizer, which the reference
// put there. R5 (release only after a live read).
void TearDown(Kind kind, const kube::ObjectMeta& object, bool is_live,
              std::vector<Action>& actions) {
  if (!object.deleting) {
    actions.emplace_back(Delete{.kind = kind, .key = object.key, .uid = object.uid});
    return;
  }
  if (is_live && HoldsFinalizer(object)) actions.emplace_back(Release(kind, object));
}

// Returns whether a cached child can be released only after a live read.
bool NeedsLiveRead(const Observed& observed) {
  const auto holds = [](const auto& object) { return HoldsFinalizer(object.meta); };
  return std::ranges::any_of(observed.children.daemon_sets, holds) ||
         std::ranges::any_of(observed.children.templates, holds);
}

// Returns whether only templates in users' namespaces remain of a deleted domain. Their finalizer
// is removed from the version in the cache, so further live reads prove nothing. With them, each
// template that a user creates and deletes would cost the controller reads.
bool HasOnlyUsersTemplates(const Observed& observed) {
  const Children& cached = observed.children;
  const auto is_ours = [&](const api::ResourceClaimTemplate& found) {
    return IsDriverNamespace(observed.facts, found.meta.key.ns);
  };
  return !observed.domain && cached.daemon_sets.empty() && cached.cliques.empty() &&
         cached.daemon_pods.empty() && cached.labelled_nodes.empty() &&
         std::ranges::none_of(cached.templates, is_ours);
}

// Returns whether the action failed, or was undone, several times in a row.
bool WasInVain(const Observed& observed, const Action& action) {
  constexpr std::chrono::seconds kDelay{1};
  const Retry* const retry = base::Find(observed.memory.retries, IdOf(action));
  return retry != nullptr && std::max(retry->backoff.delay(), retry->pace.delay()) >= kDelay;
}

// Returns whether cdom may not delete the object, but its owner reference deletes it later.
bool IsLeftToGarbageCollector(const Observed& observed, const kube::ObjectMeta& found) {
  return !found.deleting && !found.HasFinalizer(api::kFinalizer) &&
         WasInVain(observed, Delete{.kind = Kind::kClaimTemplate, .key = found.key}) &&
         base::Contains(found.owners, observed.uid, &kube::OwnerReference::uid);
}

// Returns whether a kubelet ends what remains on the node. A lost one ends nothing: its pods and
// claims end with the node.
bool EndsPods(const Observed& observed, const std::string& node) {
  if (node.empty() || !IsLost(observed, node)) return true;
  const NodeSeen* const read = base::Find(observed.evidence.nodes, node);
  return read != nullptr && *read == NodeSeen::kReady;
}

std::vector<Action> ReadOf(const std::set<std::string>& nodes) {
  if (nodes.empty()) return {};
  return {ReadNodes{.names = {nodes.begin(), nodes.end()}}};
}

bool IsEmpty(const Observed& observed, const Children& children) {
  const auto is_set = [&](const auto& set) { return IsDaemonSet(observed, set); };
  const auto is_template = [&](const auto& found) {
    return IsDaemonTemplate(observed, found) ||
           (IsWorkloadTemplate(observed, found) && !IsLeftToGarbageCollector(observed, found.meta));
  };
  const auto is_clique = [&](const auto& clique) { return IsClique(observed, clique); };
  return std::ranges::none_of(children.daemon_sets, is_set) &&
         std::ranges::none_of(children.templates, is_template) &&
         std::ranges::none_of(children.cliques, is_clique) && children.labelled_nodes.empty();
}

}  // namespace

bool HoldsFinalizer(const kube::ObjectMeta& object) {
  return object.deleting && object.is_whole && object.HasFinalizer(api::kFinalizer);
}

std::string PinnedBy(const kube::ObjectMeta& object) {
  std::vector<std::string> others = object.finalizers;
  std::erase(others, api::kFinalizer);
  if (!object.deleting || others.empty()) return {};
  return " (finalizer " + base::JoinFew(others, kNamedFinalizersMax) + ")";
}

WriteFinalizers Release(Kind kind, const kube::ObjectMeta& object) {
  std::vector<std::string> others = object.finalizers;
  std::erase(others, api::kFinalizer);
  return {.kind = kind, .object = object, .finalizers = std::move(others)};
}

const kube::ObjectMeta* OwnerToRelease(const Observed& observed) {
  if (observed.evidence.owner) return observed.evidence.LiveOwner();
  if (!observed.domain || !HoldsFinalizer(observed.domain->meta)) return nullptr;
  const kube::ObjectMeta& cached = observed.domain->meta;
  // For example with a conflict, because the cached version is old.
  const bool has_failed = HasFailed(observed.memory, Release(Kind::kComputeDomain, cached));
  const bool is_bare = IsEmpty(observed, BestView(observed)) && FindRemains(observed).empty();
  const bool is_proven = is_bare ? !has_failed : observed.memory.deletion_is_proven;
  return is_proven ? &cached : nullptr;
}

std::vector<Action> PlanProof(const Observed& observed) {
  std::vector<Action> reads;
  std::optional<kube::ObjectKey> key;
  if (observed.domain) key = observed.domain->meta.key;
  if (!observed.evidence.owner && OwnerToRelease(observed) == nullptr) {
    reads.emplace_back(ReadOwner{.key = key});
  }
  const bool orphan = !observed.domain || (observed.evidence.owner && !*observed.evidence.owner);
  const bool seems_gone = IsEmpty(observed, observed.children) && FindRemains(observed).empty();
  if (HasOnlyUsersTemplates(observed)) return reads;
  if (!observed.evidence.children && (orphan || seems_gone || NeedsLiveRead(observed))) {
    reads.emplace_back(ReadChildren{.workload_namespace = key ? key->ns : ""});
  }
  return reads;
}

std::vector<Action> PlanWorkloadTearDown(const Observed& observed, const Children& children) {
  const bool is_live = observed.evidence.children.has_value();
  std::vector<Action> actions;
  for (const api::ResourceClaimTemplate& found : children.templates) {
    if (IsWorkloadTemplate(observed, found)) {
      TearDown(Kind::kClaimTemplate, found.meta, is_live, actions);
    }
  }
  return actions;
}

std::vector<Action> PlanTearDown(const Observed& observed, const Children& children) {
  const bool is_live = observed.evidence.children.has_value() || HasOnlyUsersTemplates(observed);
  std::vector<Action> actions;
  for (const api::DaemonSet& set : children.daemon_sets) {
    if (IsDaemonSet(observed, set)) TearDown(Kind::kDaemonSet, set.meta, is_live, actions);
  }
  for (const api::ResourceClaimTemplate& found : children.templates) {
    // Without its domain the workload template's name is unknown. The garbage collector deletes it,
    // and cdom only removes its finalizer during that deletion: R6 (the domain owns the template).
    const bool released =
        !observed.domain && found.domain == observed.uid && HoldsFinalizer(found.meta);
    if (IsDaemonTemplate(observed, found) || released) {
      TearDown(Kind::kClaimTemplate, found.meta, is_live, actions);
    }
  }
  // Without this permission, the garbage collector deletes cliques with the last daemon pod.
  const bool may_delete =
      !observed.facts.cluster.MissingUntil("delete", api::kComputeDomainCliques);
  for (const api::Clique& clique : children.cliques) {
    if (may_delete && IsClique(observed, clique)) {
      TearDown(Kind::kClique, clique.meta, is_live, actions);
    }
  }
  // Daemons that their DaemonSet left behind. Nothing else would end them.
  for (const api::DaemonPod& pod : children.daemon_pods) {
    const bool is_left = pod.meta.ControllerOwner() == nullptr && RunsDaemon(pod);
    if (is_left) TearDown(Kind::kDaemonPod, pod.meta, false, actions);
  }
  for (const api::Node& node : children.labelled_nodes) {
    actions.emplace_back(RemoveNodeLabel{.node = node.meta.key.name, .domain_uid = observed.uid});
  }
  return actions;
}

std::vector<Action> PlanNodeProof(const Observed& observed) {
  std::set<std::string> names = NodesOf(observed, ClaimsThatCount(observed), IsInUse);
  if (!observed.facts.views.claims_are_granted) {
    for (const api::Node& node : BestView(observed).labelled_nodes) {
      names.insert(node.meta.key.name);
    }
  }
  std::erase_if(names, [&](const auto& name) { return !MayHaveEnded(observed, name); });
  return ReadOf(names);
}

std::vector<Action> PlanRemainsProof(const Observed& observed) {
  std::set<std::string> names;
  const Children& children = BestView(observed);
  for (const api::DaemonPod& pod : children.daemon_pods) names.insert(pod.node);
  for (const api::ResourceClaim& claim : children.claims) {
    if (claim.daemon_domain == observed.uid) names.insert(claim.node);
  }
  std::erase_if(names, [&](const auto& name) {
    return name.empty() || observed.evidence.nodes.contains(name) || !IsLost(observed, name);
  });
  return ReadOf(names);
}

bool AreClaimsLabelled(const Observed& observed) {
  const auto is_bare = [&](const api::ResourceClaim& claim) {
    return claim.daemon_domain == observed.uid && !claim.is_labelled;
  };
  const Children& cached = observed.children;
  if (std::ranges::any_of(cached.claims, is_bare)) return false;
  bool any = observed.memory.claims_are_labelled;
  for (const api::ResourceClaimTemplate& found : cached.templates) {
    if (!IsDaemonTemplate(observed, found)) continue;
    if (!found.labels_claims) return false;
    any = true;
  }
  return any;
}

std::vector<std::string> FindRemains(const Observed& observed) {
  const Children& children = BestView(observed);
  const auto lives = [&](const std::string& name) { return EndsPods(observed, name); };
  std::vector<std::string> remains;
  for (const api::DaemonPod& pod : children.daemon_pods) {
    if (!lives(pod.node)) continue;
    const std::string what =
        pod.node.empty() ? "pods/" + kube::ToString(pod.meta.key) : "the daemon on " + pod.node;
    remains.push_back(what + PinnedBy(pod.meta));
  }
  for (const api::ResourceClaim& claim : children.claims) {
    if (claim.daemon_domain == observed.uid && lives(claim.node) &&
        IsDriverNamespace(observed.facts, claim.meta.key.ns)) {
      remains.push_back(claim.node.empty() ? "resourceclaims/" + kube::ToString(claim.meta.key)
                                           : "the daemon's claim on " + claim.node);
    }
  }
  // Cliques that cdom may not delete end with the last pod that owns them, even if that pod hangs
  // on a lost node.
  const bool may_delete =
      !observed.facts.cluster.MissingUntil("delete", api::kComputeDomainCliques);
  for (const api::Clique& clique : children.cliques) {
    if (may_delete || !IsClique(observed, clique)) continue;
    remains.push_back("computedomaincliques/" + kube::ToString(clique.meta.key));
  }
  for (const api::Node& node : children.labelled_nodes) {
    const std::string& name = node.meta.key.name;
    if (!WasInVain(observed, RemoveNodeLabel{.node = name})) continue;
    std::vector<std::string> pods;
    for (const api::ResourceClaim& claim : ClaimsThatCount(observed)) {
      if (claim.node != name || !IsInUse(observed, claim)) continue;
      pods.insert(pods.end(), claim.consumers.begin(), claim.consumers.end());
    }
    remains.push_back("the label of nodes/" + name + ", which its kubelet plugin sets again" +
                      (pods.empty() ? "" : " for " + base::Join(pods)));
  }
  std::ranges::sort(remains);
  const auto twice = std::ranges::unique(remains);
  remains.erase(twice.begin(), twice.end());
  return remains;
}

milliseconds UntilRemainsShouldEnd(const Observed& observed, base::Clock::WallTime now) {
  milliseconds longest(0);
  for (const api::DaemonPod& pod : BestView(observed).daemon_pods) {
    if (pod.node.empty() || !EndsPods(observed, pod.node)) continue;
    const auto ends = base::ParseTime(pod.meta.deletion_timestamp);
    const bool may_end = pod.meta.deleting && ends && PinnedBy(pod.meta).empty();
    const milliseconds rest =
        may_end ? std::chrono::ceil<milliseconds>(*ends + kEndsWithin - now) : milliseconds(0);
    if (rest <= milliseconds(0)) return milliseconds(0);
    longest = std::max(longest, rest);
  }
  return longest;
}

std::vector<std::string> FindPinned(const Observed& observed, const kube::ObjectMeta& owner) {
  const Children& children = BestView(observed);
  std::vector<std::string> pinned;
  const auto add = [&](const char* kind, const kube::ObjectMeta& meta) {
    const std::string by = PinnedBy(meta);
    if (!by.empty()) pinned.push_back(kind + (" " + kube::ToString(meta.key)) + by);
  };
  for (const api::DaemonSet& set : children.daemon_sets) {
    if (IsDaemonSet(observed, set)) add("DaemonSet", set.meta);
  }
  for (const api::ResourceClaimTemplate& found : children.templates) {
    const bool is_ours = IsDaemonTemplate(observed, found) || IsWorkloadTemplate(observed, found);
    if (is_ours) add("ResourceClaimTemplate", found.meta);
  }
  for (const api::Clique& clique : children.cliques) {
    if (IsClique(observed, clique)) add("ComputeDomainClique", clique.meta);
  }
  if (!pinned.empty()) return pinned;
  // cdom's own finalizer keeps the domain until nothing else remains.
  if (!HoldsFinalizer(owner)) add("ComputeDomain", owner);
  return pinned;
}

bool MayRelease(const Observed& observed) {
  return observed.evidence.children && IsEmpty(observed, *observed.evidence.children);
}

}  // namespace compute_domain
