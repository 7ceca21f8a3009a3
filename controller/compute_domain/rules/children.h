// The rule that makes a domain's children: the daemons' claim template, the DaemonSet and the
// workload's claim template. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/compute_domain/model/action.h"

namespace compute_domain {

[[nodiscard]] std::vector<Action> PlanChildren(const Observed& observed);

// For Memory::rendered; PlanChildren decides the same without.
[[nodiscard]] RenderedHashes HashChildren(const Observed& observed);

// For Memory::children_seen: those that are there, and the one that an action makes. REQUIRES:
// observed.domain.
[[nodiscard]] std::set<ChildRole> FindRoles(const Observed& observed);
[[nodiscard]] std::optional<ChildRole> RoleOf(const Observed& observed, const Create& create);

// How far the domain's children are, as far as is known: by name, such as "DaemonSet ns/x".
struct ChildrenState {
  std::vector<std::string> missing = {};
  std::vector<std::string> terminating = {};
};
// REQUIRES: observed.domain.
[[nodiscard]] ChildrenState FindChildren(const Observed& observed);

// Children that the domain was given while IMEX was run by others than now, by name; of one that
// had none but its workload's template, itself. Empty: none, or the domain is going.
[[nodiscard]] std::vector<std::string> FindOfOtherMode(const Observed& observed);

// A child's name that another object holds. Empty if none is known.
[[nodiscard]] std::optional<NameTaken> FindTakenName(const Observed& observed);

}  // namespace compute_domain
