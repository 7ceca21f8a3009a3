// Guard against two controllers that lead under different Leases.
// Each of them would undo the writes of the other.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/meta.h"

namespace process {

struct OtherLeadersContext {
  const base::Clock& clock;
  base::Logger& logger;
  std::chrono::milliseconds period{2'000};  // Between two checks; also the timeout of each request.
  std::function<void()> beat = {};          // Called at least once a second.
};

// Returns the Leases of controllers in namespaces with the label of driver namespaces, other than
// `ns`. Empty if this account may not list namespaces, as cdom's own may not. Blocks until the API
// server has answered, or `stop` is requested.
std::vector<kube::ObjectKey> FindLeasesElsewhere(const std::string& ns, http::Transport& transport,
                                                 const OtherLeadersContext& context,
                                                 const std::stop_token& stop);

// Returns once no process leads under any of `leases`, or `stop` is requested. Logs why it waits.
// Logs and ignores a Lease that this account may not read. Blocks for seconds only if a Lease names
// a holder.
//
// Call it at the start of a controller. A leading controller does not check again; a controller
// that starts later waits for it.
void WaitForOtherLeaders(const std::vector<kube::ObjectKey>& leases, http::Transport& transport,
                         const OtherLeadersContext& context, const std::stop_token& stop);

}  // namespace process
