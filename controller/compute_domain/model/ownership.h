// What belongs to a domain, and who uses it. R4: the label alone never decides, because everybody
// may set one.
// In the driver namespaces, where only administrators write, label and kind suffice, whatever the
// name: older releases used generated names. In a user's namespace name and owner must match too.
#pragma once

#include <string>
#include <vector>

#include "controller/compute_domain/model/observed.h"

namespace compute_domain {

[[nodiscard]] bool IsDriverNamespace(const Facts& facts, const std::string& ns);
// The driver namespaces that may hold something of the domain: all but those that are refused to us
// and in which nothing of it was ever seen.
[[nodiscard]] std::vector<std::string> NamespacesToRead(const Observed& observed);

[[nodiscard]] bool IsDaemonSet(const Observed& observed, const api::DaemonSet& set);
[[nodiscard]] bool IsDaemonTemplate(const Observed& observed,
                                    const api::ResourceClaimTemplate& found);
// Known only together with the domain: its spec holds the name.
[[nodiscard]] bool IsWorkloadTemplate(const Observed& observed,
                                      const api::ResourceClaimTemplate& found);
// Made by a DaemonSet. One that somebody copied by hand has the label too.
[[nodiscard]] bool IsDaemonPod(const api::DaemonPod& pod);
// A claim that names the domain, in its namespace: the plugin labels the claim's node. A claim
// elsewhere may name the domain as well, and counts for nothing. REQUIRES: observed.domain.
[[nodiscard]] bool NeedsLabel(const Observed& observed, const api::ResourceClaim& claim);
// Nodes on which one of `claims` is allocated that needs the label there.
[[nodiscard]] std::set<std::string> NodesInUse(const Observed& observed,
                                               const std::vector<api::ResourceClaim>& claims);
// And it is for a channel, which those of administrators do not take from others.
[[nodiscard]] bool IsChannelClaim(const Observed& observed, const api::ResourceClaim& claim);
// And somebody holds it.
[[nodiscard]] bool IsInUse(const Observed& observed, const api::ResourceClaim& claim);
[[nodiscard]] bool IsClique(const Observed& observed, const api::Clique& clique);

// What a live read found, if there was one; else what the cache shows.
[[nodiscard]] const Children& BestView(const Observed& observed);

// The claims of that view.
[[nodiscard]] const std::vector<api::ResourceClaim>& ClaimsThatCount(const Observed& observed);

// Who still uses the domain: allocated, reserved channel claims in its namespace on nodes that have
// not ended. Without a right to claims: such nodes, while they are labelled.
[[nodiscard]] std::vector<std::string> FindConsumers(const Observed& observed);

}  // namespace compute_domain
