// Who uses a domain, and who waits for it and why. It explains, and decides nothing. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/compute_domain/model/action.h"

namespace compute_domain {

// "a, b, c, d, e and 4 more": enough to act on, whatever the size.
[[nodiscard]] std::string Names(const std::vector<std::string>& names);

// Domains, "namespace/name" each, as the owner of the observed one may read them: those of other
// namespaces are only counted, unless the facts say otherwise.
// REQUIRES: observed.domain, here and below.
[[nodiscard]] std::vector<std::string> NamesForOwner(const Observed& observed,
                                                     const std::set<std::string>& domains);

struct Usage {
  std::vector<std::string> users = {};  // Such as "pods/train-0"; each pod of a shared claim.
  // Pods whose claim is not allocated, with the scheduler's words as far as they were read: those
  // of which the same is said together, and not more than a few of these by name.
  std::vector<std::string> waiting = {};
};

[[nodiscard]] Usage FindUsage(const Observed& observed);

// Nodes that were given to pods of the domain while another domain holds them, and who holds them.
// By node, such as "by team-b/other".
[[nodiscard]] std::map<std::string, std::string> FindOccupiedNodes(const Observed& observed);

// Why such pods find no channel: no node has one, or who has them, as far as `unrelated_claims` and
// `holders` tell; empty: all pods have one, or wait for something else.
[[nodiscard]] std::optional<Failure> FindShortage(const Observed& observed);

}  // namespace compute_domain
