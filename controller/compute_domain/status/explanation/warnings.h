// Problems of members that serve. Pure.
// Their node will leave, or something keeps their pods from sharing memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/compute_domain/model/observed.h"
#include "controller/compute_domain/rules/analysis.h"

namespace compute_domain {

// Returns why the node is expected to leave, such as "cordoned" or "taint karpenter.sh/disrupted".
// Empty if it is not. `taints` has the form of api::kLeavingTaints.
std::string NoticeOf(const api::Node& node, const std::vector<std::string>& taints);

// Returns a sentence that begins with a space. Empty if no node of a ready member is expected to
// leave. `expected` is Analysis::expected. REQUIRES: observed.domain.
std::string SayWhoLeaves(const Observed& observed, const std::vector<api::Member>& expected);

struct SharingIssue {
  // Whether pods share memory in spite of it.
  enum class Sharing { kMayWork, kIsUnknown, kFails };

  std::string_view reason = {};
  std::string says = {};  // A sentence that begins with a space.
  Sharing sharing = Sharing::kFails;
  bool may_be_meant = false;  // It is no reason for MembersReady.
};

// Returns what keeps pods of the domain from sharing memory, always or sometimes; the most serious
// issue first. REQUIRES: observed.domain; all members that `analysis` expects are ready.
std::vector<SharingIssue> FindSharingIssues(const Observed& observed, const Analysis& analysis);

}  // namespace compute_domain
