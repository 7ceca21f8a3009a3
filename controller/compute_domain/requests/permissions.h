// Permissions that the API server has refused, with the time to retry.
//
// Only a refusal itself is always right about permissions, so cdom does not ask in advance. An
// authorizer that fails also refuses. So each refused request is retried, with back-off from 30 s
// to an hour, and working without the permission must do no harm.
#pragma once

#include <map>

#include "pkg/base/backoff.h"
#include "pkg/base/clock.h"
#include "pkg/kube/api/permission.h"

namespace compute_domain {

// Not thread-safe.
class MissingPermissions {
 public:
  using TimePoint = base::Clock::TimePoint;

  // `until` is the time of the next try. `is_first`: it was not known to be missing.
  struct Refusal {
    TimePoint until = {};
    bool is_first = false;
  };
  Refusal OnForbidden(const kube::Permission& permission, TimePoint now);
  // Returns whether the permission was known to be missing.
  bool OnGranted(const kube::Permission& permission);

  // Returns the permissions that are not to be tried now, with the time of the next try.
  std::map<kube::Permission, TimePoint> InForce(TimePoint now) const;

 private:
  struct Missing {
    TimePoint until = {};
    base::Backoff backoff = {};
  };
  std::map<kube::Permission, Missing> missing_permissions_;
};

// Returns the consequence of the missing permission, for the log.
const char* CostOf(const kube::Permission& permission);

}  // namespace compute_domain
