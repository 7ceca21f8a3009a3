// What daemons report of their IMEX, compared with what is known of them. Pure.
//
// A report is what a daemon says of itself: it makes nobody a member, and nobody ready or not.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/compute_domain/model/observed.h"
#include "controller/compute_domain/status/explanation/warnings.h"

namespace compute_domain {

struct ImexTrouble {
  std::string_view reason = {};  // Empty: IMEX is not known to be why.
  std::string detail = {};
};

// Why IMEX keeps a daemon from being ready.
[[nodiscard]] ImexTrouble ImexTroubleOf(const api::DaemonPod& pod);

// The IMEX that served each claim in use first, by node, and whether another one does by now;
// `before` is what this said in the pass before. No time that a claim carries tells a restart from
// the first start: IMEX is started after the claim was made, allocated and reserved then, too. So
// this process has to have seen both, and one that has just started takes what it finds for the
// first.
[[nodiscard]] std::map<std::string, ImexOfJob> FindImexOfJobs(
    const Observed& observed, const std::map<std::string, ImexOfJob>& before,
    base::Clock::TimePoint now);

// Claims in use whose IMEX was started again: by itself, or with its daemon.
[[nodiscard]] std::optional<SharingIssue> FindRestarted(const Observed& observed);

// Members that serve under another index than their peers know. REQUIRES: as of FindSharingIssues.
[[nodiscard]] std::optional<SharingIssue> FindOtherIndices(
    const Observed& observed, const std::vector<api::Member>& expected);
// Members that serve and do not reach each other. REQUIRES: as of FindSharingIssues.
[[nodiscard]] std::optional<SharingIssue> FindUnreachable(const Observed& observed,
                                                          const std::vector<api::Member>& expected);
// Members that serve and do not say whom they reach. REQUIRES: as of FindSharingIssues.
[[nodiscard]] std::optional<SharingIssue> FindPeersUnknown(
    const Observed& observed, const std::vector<api::Member>& expected);

}  // namespace compute_domain
