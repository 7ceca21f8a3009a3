// What should be known of members although they serve: their node is about to go, or something
// keeps their pods from sharing memory. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/compute_domain/model/observed.h"

namespace compute_domain {

// By which its node is known to be about to go, such as "cordoned" or "taint
// karpenter.sh/disrupted"; empty: by nothing. `taints` are as api::kLeavingTaints has them.
[[nodiscard]] std::string NoticeOf(const api::Node& node, const std::vector<std::string>& taints);

// A sentence, beginning with a space; empty: no node of a ready member is about to go. `expected`
// is what FindExpected found, here and below. REQUIRES: observed.domain.
[[nodiscard]] std::string SayWhoLeaves(const Observed& observed,
                                       const std::vector<api::Member>& expected);

struct SharingIssue {
  std::string_view reason = {};  // For the condition; empty: it may be meant so.
  std::string says = {};         // A sentence, beginning with a space.
};

// What keeps pods of the domain from sharing memory, now and then or always: the gravest first.
// REQUIRES: observed.domain; all `expected` are ready.
[[nodiscard]] std::vector<SharingIssue> FindSharingIssues(const Observed& observed,
                                                          const std::vector<api::Member>& expected);

}  // namespace compute_domain
