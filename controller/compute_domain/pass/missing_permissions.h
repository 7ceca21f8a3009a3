// Permissions that the API server has refused, with the time to retry.
//
// Only a refusal itself is always right about permissions, so cdom does not ask in advance. An
// authorizer that fails also refuses. So each refused request is retried, with back-off from 30 s
// to an hour, and working without the permission must do no harm.
#pragma once

#include <map>

#include "pkg/base/backoff.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/api/permission.h"

namespace compute_domain {

// Thread-safe.
class MissingPermissions {
 public:
  using TimePoint = base::Clock::TimePoint;

  // Both must outlive it.
  MissingPermissions(const base::Clock& clock, base::Logger& logger)
      : clock_(clock), logger_(logger) {}

  // Call these with each reply. They log what is new. The first returns when to try again.
  TimePoint OnForbidden(const kube::Permission& permission);
  void OnGranted(const kube::Permission& permission);

  // Returns the permissions that are not to be tried now, with the time of the next try.
  std::map<kube::Permission, TimePoint> InForce() const;

 private:
  struct Missing {
    TimePoint until = {};
    base::Backoff backoff = {};
  };
  const base::Clock& clock_;
  base::Logger& logger_;
  base::Guarded<std::map<kube::Permission, Missing>> missing_;
};

// Returns the consequence of the missing permission, for the log.
const char* CostOf(const kube::Permission& permission);

}  // namespace compute_domain
