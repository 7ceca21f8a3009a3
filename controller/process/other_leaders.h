// A guard against two controllers that lead under Leases of different names: each would undo what
// the other does.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/meta.h"

namespace process {

struct OtherLeadersContext {
  const base::Clock& clock;
  base::Logger& logger;
  std::chrono::milliseconds period{2'000};  // Between looks, and the timeout of each request.
  std::function<void()> beat = {};          // Called at least once a second.
};

// Returns once nobody leads under any of `leases`, or `stop` is requested; says why it waits. A
// Lease that this account may not read is logged and ignored. Blocks for seconds only if a Lease
// names a holder.
//
// For a controller that starts: one that leads does not look again, and a controller that starts
// later waits for it.
void WaitForOtherLeaders(const std::vector<kube::ObjectKey>& leases, http::Transport& transport,
                         const OtherLeadersContext& context, const std::stop_token& stop);

}  // namespace process
