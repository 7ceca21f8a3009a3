// What rules and conditions ask about a domain more than once. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/compute_domain/model/daemon_pods.h"
#include "controller/compute_domain/rules/children.h"
#include "controller/compute_domain/rules/membership/membership_plan.h"

namespace compute_domain {

// Computed once per plan. It points into what was observed.
struct Analysis {
  std::optional<Failure> objection = {};  // Why nothing is made for the domain. Empty: it is valid.
  std::optional<Failure> unreadable = {};  // A kind that children depend on and that is not read.
  // A child's name that another object holds. No action of ours frees it, and no watch shows it.
  std::optional<NameTaken> obstacle = {};
  // Why the domain lacks what it needs, or, if it is being deleted, why that does not go on: the
  // obstacle, or what failed and is tried again. Empty: nothing is known to fail.
  std::optional<Failure> failure = {};
  // What failed and is tried again, while the domain is served without.
  std::optional<Failure> left_undone = {};
  ChildrenState children = {};
  bool children_are_seen = true;           // False: what is missing may exist.
  PodByNode pods = {};                     // The daemon pod that counts for each node.
  std::vector<std::string> outdated = {};  // Daemon pods of an older template.
  // Who takes part, or should; those who do not yet are not ready. The members that do not leave,
  // the nodes that carry the domain's label, and those on which a channel of it is allocated.
  // Sorted as members are.
  std::vector<api::Member> expected = {};
};

// REQUIRES: observed.domain.
[[nodiscard]] Analysis Analyze(const Observed& observed, const Membership& membership);

}  // namespace compute_domain
