// Compares IMEX reports of daemons with what cdom knows. Pure.
//
// Reports are informational: they never affect membership or readiness.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/daemon_pods.h"
#include "controller/compute_domain/model/observed.h"
#include "controller/compute_domain/status/explanation/warnings.h"

namespace compute_domain {

// Why a member is not ready, or soon will not be.
struct Trouble {
  std::string_view reason = {};  // Empty if unknown.
  std::string detail = {};
};

// Returns why IMEX keeps the daemon from being ready. Empty if IMEX is not known to be the cause.
Trouble ImexTroubleOf(const api::DaemonPod& pod);

// Returns the IMEX instance with which the pods of each claim in use started, and whether it was
// restarted since. Key: node. The memory has the result of the pass before.
//
// A process must see both instances itself. Timestamps do not tell a restart from a first start:
// IMEX also starts after the claim was created, allocated and reserved. So a new process takes the
// instance that it finds as the first. But if the condition MemoryShared has the reason and this
// process does not know why, another one does: the reason is kept for all claims in use then. Two
// leaders with different memories agree so. The claims of the same clique that were in use before
// the restart lost their part, too.
std::map<std::string, ImexOfJob> FindImexOfJobs(const Observed& observed, const Instant& now);

// Returns whether the condition MemoryShared says that IMEX was restarted under a job.
bool SaysRestarted(const Observed& observed);
// Returns whether IMEX of any of the jobs was restarted.
bool AnyRestarted(const std::map<std::string, ImexOfJob>& jobs);

// Returns the claims in use whose IMEX was restarted, alone or with its daemon. Empty if none. If
// only another process saw it, the text is what that process wrote.
std::optional<SharingIssue> FindRestarted(const Observed& observed);

// `pods` is PodsThatCount(). REQUIRES: all `expected` are ready, here and below.

// Returns the members that serve under another index than their peers know. Empty if none.
std::optional<SharingIssue> FindOtherIndices(const PodByNode& pods,
                                             const std::vector<api::Member>& expected);
// Returns the members that serve and cannot reach each other. Empty if none.
std::optional<SharingIssue> FindUnreachable(const PodByNode& pods,
                                            const std::vector<api::Member>& expected);
// Returns the members that serve and do not report which peers they reach. Empty if none.
std::optional<SharingIssue> FindPeersUnknown(const PodByNode& pods,
                                             const std::vector<api::Member>& expected);

}  // namespace compute_domain
