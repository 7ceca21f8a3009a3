// Pods that hold a channel which no container of theirs lists, so that none gets it. Pure.
// This only explains: no decision depends on it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/rules/analysis.h"
#include "controller/compute_domain/status/explanation/warnings.h"

namespace compute_domain {

// Limits the pods of a domain that are read. The pods of a job mostly have one template.
inline constexpr std::size_t kUsesReadMax = 64;

// Key of Memory::lists_claim: a pod of the same name later has another claim.
std::string KeyOfUse(const api::ResourceClaim& claim, const std::string& pod);

// Returns the read of the pods that use the domain and were not read yet, once status says that all
// members are ready: so a job is read in one go, after it has formed. Empty if there is none, and
// where the CRD keeps no conditions, which could not say what was found. REQUIRES: observed.domain,
// here and below.
std::optional<ReadUses> PlanUses(const Observed& observed, const Analysis& analysis);

// Drops what is known of claims that are not in use any more, once it is more than there are users.
// A new process takes the pods of a domain that shares memory as read: the one before has read
// them, and a large cluster has thousands.
void KeepUses(const Observed& observed, std::map<std::string, bool>& known);

// Returns the pods that get no channel. Empty if none is known.
std::optional<SharingIssue> FindUnlisted(const Observed& observed);

}  // namespace compute_domain
