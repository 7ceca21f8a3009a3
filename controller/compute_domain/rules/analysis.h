// Facts about a domain that several rules and conditions use. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/compute_domain/model/daemon_pods.h"
#include "controller/compute_domain/rules/children.h"
#include "controller/compute_domain/rules/membership/membership.h"

namespace compute_domain {

// Computed once per plan. Its pointers point into the observed state.
struct Analysis {
  // Why no children are created. Empty if the domain is valid.
  std::optional<Failure> objection = {};
  // A kind that children depend on and that cannot be read. Empty if there is none.
  std::optional<Failure> unreadable = {};
  // A child's name that another object holds. No action of cdom frees it, and no watch shows it.
  std::optional<NameTaken> obstacle = {};
  // Why the domain lacks what it needs or why its deletion does not proceed: the obstacle, or a
  // failed action that is retried. Empty if nothing is known to fail.
  std::optional<Failure> failure = {};
  // A failure that is retried and does not affect the domain, e.g. a stale node label that could
  // not be removed. Empty if there is none.
  std::optional<Failure> left_undone = {};
  ChildrenState children = {};
  bool children_are_seen = true;           // False if a missing child may exist.
  PodByNode pods = {};                     // The daemon pod that counts for each node.
  std::vector<std::string> outdated = {};  // Daemon pods of an older template.
  // Nodes that take part or should: members that do not leave, then nodes with an allocated channel
  // claim, which are not ready. If claims cannot be relied on, nodes with the domain's label count,
  // too.
  std::vector<api::Member> expected = {};
};

// REQUIRES: observed.domain.
Analysis Analyze(const Observed& observed, const Membership& membership);

}  // namespace compute_domain
