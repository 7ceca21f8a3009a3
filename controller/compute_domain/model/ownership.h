// Which objects belong to a domain, and which pods use it. Pure.
//
// R4 (a label is never proof of ownership, because anyone can set it). In a user's namespace, name
// and owner must match, too. In the driver namespaces only administrators write, so label and kind
// suffice. The name is not checked there, because older releases generated names.
#pragma once

#include <string>
#include <vector>

#include "controller/compute_domain/model/observed.h"

namespace compute_domain {

bool IsDriverNamespace(const Facts& facts, const std::string& ns);
// Returns the driver namespaces that may hold objects of the domain. Leaves out a namespace that
// cannot be read, if the cache has no object of the domain there.
std::vector<std::string> NamespacesToRead(const Observed& observed);
// Returns whether a live read may go on without this namespace if it does not answer: another one
// is cdom's own, and the cache, which has read this one, has no object of the domain there.
bool IsElsewhere(const Observed& observed, const std::string& ns);

bool IsDaemonSet(const Observed& observed, const api::DaemonSet& set);
bool IsDaemonTemplate(const Observed& observed, const api::ResourceClaimTemplate& found);
// Returns false without the domain, because its spec holds the template's name.
bool IsWorkloadTemplate(const Observed& observed, const api::ResourceClaimTemplate& found);
// Returns whether a DaemonSet owns the pod. A pod that a person copied has the label, too.
bool IsDaemonPod(const api::DaemonPod& pod);
// Returns whether a DaemonSet made the pod. Its name shows that while it has no owner, as during
// `kubectl delete daemonset --cascade=orphan`: it still runs a daemon.
bool RunsDaemon(const api::DaemonPod& pod);
// Returns whether the claim is in the domain's namespace and names the domain for a channel. The
// plugin labels the node of such a claim. Claims in other namespaces are ignored. REQUIRES:
// observed.domain.
bool NeedsLabel(const Observed& observed, const api::ResourceClaim& claim);
// Returns the nodes on which those of `claims` are allocated that count, such as IsInUse().
std::set<std::string> NodesOf(const Observed& observed,
                              const std::vector<api::ResourceClaim>& claims,
                              bool (*counts)(const Observed&, const api::ResourceClaim&));
// Returns the nodes on which `claims` that need the label are allocated.
std::set<std::string> NodesInUse(const Observed& observed,
                                 const std::vector<api::ResourceClaim>& claims);
// Returns whether the claim needs the label and takes the channel. Claims with admin access take
// none.
bool IsChannelClaim(const Observed& observed, const api::ResourceClaim& claim);
// Returns whether it is such a claim, and reserved for a pod.
bool IsInUse(const Observed& observed, const api::ResourceClaim& claim);
// Returns the pod that the claim was created for. Null if it was not created for a pod, and for
// allocated claims, of which no owners are kept.
const kube::OwnerReference* PodOf(const api::ResourceClaim& claim);
bool IsClique(const Observed& observed, const api::Clique& clique);
// Returns whether a clique that `observed` lacks does not exist: the cache has read cliques, or
// this pass has.
bool AreCliquesKnown(const Observed& observed);

// Returns the children from a live read if there was one, otherwise those from the cache.
const Children& BestView(const Observed& observed);

// Returns the claims from a live read if there was one, otherwise those from the cache.
const std::vector<api::ResourceClaim>& ClaimsThatCount(const Observed& observed);

// Returns the users of the domain: pods with a reserved channel claim in its namespace, on nodes
// that have not ended. Without permission for claims, returns the labelled nodes that have not
// ended.
std::vector<std::string> FindConsumers(const Observed& observed);

}  // namespace compute_domain
