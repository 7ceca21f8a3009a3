// Users of a domain, and pods that wait for it. Pure.
// This only explains: no decision depends on it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/compute_domain/model/action.h"

namespace compute_domain {

// Returns at most five names, as "a, b, c, d, e and 4 more".
std::string Names(const std::vector<std::string>& names);

// Returns whether messages of the domain may name objects of the namespace. REQUIRES:
// observed.domain, here and below.
bool MayName(const Observed& observed, std::string_view ns);

// Returns `domains` ("namespace/name" each) as the owner of the observed domain may read them. Only
// counts those in other namespaces, unless Facts::names_others is set.
std::vector<std::string> NamesForOwner(const Observed& observed,
                                       const std::set<std::string>& domains);

struct Usage {
  std::vector<std::string> users = {};  // Such as "pods/train-0". All pods of a shared claim.
  // Pods whose claim is not allocated, grouped by scheduler message as far as it was read; at most
  // five names per group.
  std::vector<std::string> waiting = {};
};

Usage FindUsage(const Observed& observed);

// Returns the nodes that pods of the domain use while another domain holds them. Key: node. Value:
// the holder, such as "by team-b/other".
std::map<std::string, std::string> FindOccupiedNodes(const Observed& observed);

}  // namespace compute_domain
