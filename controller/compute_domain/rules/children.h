// Rule that creates and repairs a domain's children. Pure.
// Children are the daemons' claim template, the DaemonSet and the workload's claim template.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/compute_domain/model/action.h"

namespace compute_domain {

std::vector<Action> PlanChildren(const Observed& observed);

// Returns the hashes for Memory::rendered. PlanChildren works without them, but must render more.
RenderedHashes HashChildren(const Observed& observed);

// For Memory::children_seen: the children that exist, and the child that an action creates.
// REQUIRES: observed.domain.
std::set<ChildRole> FindRoles(const Observed& observed);
std::optional<ChildRole> RoleOf(const Observed& observed, const Create& create);

// Children that are missing or being deleted, as far as is known, such as "DaemonSet ns/x".
struct ChildrenState {
  std::vector<std::string> missing = {};
  std::vector<std::string> terminating = {};
};
// REQUIRES: observed.domain.
ChildrenState FindChildren(const Observed& observed);

// Returns the names of objects that were made in the other IMEX mode (on hosts, or in daemons). A
// domain that had only the workload's template is named itself. Empty if there are none, or if the
// domain is being deleted.
std::vector<std::string> FindOfOtherMode(const Observed& observed);

// Returns a child's name that another object holds. Empty if none is known.
std::optional<NameTaken> FindTakenName(const Observed& observed);

}  // namespace compute_domain
