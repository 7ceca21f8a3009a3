#include "controller/compute_domain/model/ownership.h"

#include <algorithm>

#include "controller/api/names.h"
#include "controller/compute_domain/model/daemon_pods.h"
#include "pkg/base/find.h"

namespace compute_domain {

bool IsDriverNamespace(const Facts& facts, const std::string& ns) {
  return base::Contains(facts.settings->driver_namespaces, ns);
}

namespace {

// Returns whether the cache has an object of the domain in the namespace.
bool HasAnyIn(const Observed& observed, const std::string& ns) {
  const Children& children = observed.children;
  const auto any = [&](const auto& objects) {
    return std::ranges::any_of(objects, [&](const auto& one) { return one.meta.key.ns == ns; });
  };
  return any(children.daemon_sets) || any(children.templates) || any(children.cliques) ||
         any(children.daemon_pods) || any(children.claims);
}

}  // namespace

std::vector<std::string> NamespacesToRead(const Observed& observed) {
  std::vector<std::string> namespaces = observed.facts.settings->driver_namespaces;
  std::erase_if(namespaces, [&](const std::string& ns) {
    return observed.facts.views.unreadable_namespaces.contains(ns) && !HasAnyIn(observed, ns);
  });
  return namespaces;
}

bool IsElsewhere(const Observed& observed, const std::string& ns) {
  const Facts& facts = observed.facts;
  return IsDriverNamespace(facts, ns) && ns != facts.settings->driver_namespaces.front() &&
         !facts.views.unknown_namespaces.contains(ns) && !HasAnyIn(observed, ns);
}

bool IsDaemonSet(const Observed& observed, const api::DaemonSet& set) {
  return set.domain == observed.uid && IsDriverNamespace(observed.facts, set.meta.key.ns);
}

bool IsDaemonTemplate(const Observed& observed, const api::ResourceClaimTemplate& found) {
  return found.domain == observed.uid && found.target == api::kTargetDaemon &&
         IsDriverNamespace(observed.facts, found.meta.key.ns);
}

bool IsWorkloadTemplate(const Observed& observed, const api::ResourceClaimTemplate& found) {
  if (!observed.domain) return false;
  const kube::OwnerReference* owner = found.meta.ControllerOwner();
  return found.domain == observed.uid && found.target == api::kTargetWorkload &&
         found.meta.key.ns == observed.domain->meta.key.ns &&
         found.meta.key.name == observed.domain->template_name &&
         (owner == nullptr || owner->uid == observed.uid);  // The reference sets no owner.
}

bool IsDaemonPod(const api::DaemonPod& pod) {
  const kube::OwnerReference* owner = pod.meta.ControllerOwner();
  return owner != nullptr && owner->kind == kube::kDaemonSets.kind;
}

bool RunsDaemon(const api::DaemonPod& pod) {
  return IsDaemonPod(pod) || pod.meta.key.name.starts_with(api::DaemonName(pod.domain) + "-");
}

bool NeedsLabel(const Observed& observed, const api::ResourceClaim& claim) {
  return claim.channel_domain == observed.uid && claim.meta.key.ns == observed.domain->meta.key.ns;
}

std::set<std::string> NodesOf(const Observed& observed,
                              const std::vector<api::ResourceClaim>& claims,
                              bool (*counts)(const Observed&, const api::ResourceClaim&)) {
  std::set<std::string> nodes;
  for (const api::ResourceClaim& claim : claims) {
    if (!claim.node.empty() && counts(observed, claim)) nodes.insert(claim.node);
  }
  return nodes;
}

std::set<std::string> NodesInUse(const Observed& observed,
                                 const std::vector<api::ResourceClaim>& claims) {
  return NodesOf(observed, claims, NeedsLabel);
}

bool IsChannelClaim(const Observed& observed, const api::ResourceClaim& claim) {
  return NeedsLabel(observed, claim) && !claim.admin_access;
}

bool IsInUse(const Observed& observed, const api::ResourceClaim& claim) {
  return IsChannelClaim(observed, claim) && !claim.consumers.empty();
}

const kube::OwnerReference* PodOf(const api::ResourceClaim& claim) {
  const kube::OwnerReference* owner = claim.meta.ControllerOwner();
  return owner != nullptr && owner->kind == "Pod" && !owner->name.empty() ? owner : nullptr;
}

bool IsClique(const Observed& observed, const api::Clique& clique) {
  return clique.domain == observed.uid && IsDriverNamespace(observed.facts, clique.meta.key.ns) &&
         clique.meta.key.name.starts_with(observed.uid + ".");
}

bool AreCliquesKnown(const Observed& observed) {
  const Views& views = observed.facts.views;
  return !views.cliques_are_served || !views.IsUnknown(Kind::kClique) ||
         observed.evidence.daemon_pods.has_value();
}

const Children& BestView(const Observed& observed) {
  return observed.evidence.children ? *observed.evidence.children : observed.children;
}

const std::vector<api::ResourceClaim>& ClaimsThatCount(const Observed& observed) {
  const bool only_claims = !observed.evidence.children && observed.evidence.claims;
  return only_claims ? *observed.evidence.claims : BestView(observed).claims;
}

std::vector<std::string> FindConsumers(const Observed& observed) {
  std::vector<std::string> consumers;
  if (!observed.facts.views.claims_are_granted) {
    // The kubelet plugin removes the label with the last claim of the node.
    for (const api::Node& node : BestView(observed).labelled_nodes) {
      if (HasEnded(observed, node.meta.key.name)) continue;
      consumers.push_back("pods on " + node.meta.key.name);
    }
    return consumers;
  }
  for (const api::ResourceClaim& claim : ClaimsThatCount(observed)) {
    if (!IsInUse(observed, claim) || claim.node.empty()) continue;
    if (HasEnded(observed, claim.node)) continue;
    for (const std::string& consumer : claim.consumers) {
      consumers.push_back(consumer + " on " + claim.node + " (claim " +
                          kube::ToString(claim.meta.key) + ")");
    }
  }
  std::ranges::sort(consumers);
  return consumers;
}

}  // namespace compute_domain
