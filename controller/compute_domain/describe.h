// One domain in full, for people who look closer than its conditions go: everybody who uses it or
// waits for it, every member, and whoever stands in its way, in other namespaces too. Pure.
#pragma once

#include "controller/compute_domain/plan.h"
#include "pkg/json/value.h"

namespace compute_domain {

// {"namespace", "name", "uid", "deleting", "users": ["pods/a"], "waiting": ["pods/b (why)"],
//  "heldByOthers": ["node (by whom)"], "idleNodes": [], "outdatedDaemons": [], "status": as
//  planned}
// REQUIRES: observed.domain.
[[nodiscard]] json::Value Describe(const Observed& observed, const Instant& now);

}  // namespace compute_domain
