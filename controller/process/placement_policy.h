// Whether the policies that put a domain's pods into one clique are in force.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "controller/compute_domain/controller.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"

namespace process {

// Sends a GET for each binding of manifests/placement, with a timeout of 3 s each. Never returns
// kUnknown: a GET that is refused or not answered is an error.
[[nodiscard]] base::Result<compute_domain::PlacementPolicy> FindPlacementPolicy(
    http::Transport& transport);

// Looks when the controller can serve, then every 30 minutes, or first more often while a policy is
// missing, until `stop` is requested, and tells the controller. A standby looks too, so that a new
// leader does not first say otherwise. There is no watch: it would be one more connection for what
// changes once in months.
void LookForPlacement(compute_domain::Controller& controller,
                      const std::function<std::unique_ptr<http::Transport>()>& make_transport,
                      const base::Clock& clock, base::Logger& logger, const std::stop_token& stop);

}  // namespace process
