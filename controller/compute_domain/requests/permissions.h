// Which rights we lack, as the API server says when it refuses: nothing else is always right. An
// authorizer that fails refuses, too; so what was refused is asked for again, soon at first and
// then ever more rarely, and no way around it may do harm.
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

  // Until when to do without it. `is_first`: it was not known to be missing.
  struct Refusal {
    TimePoint until = {};
    bool is_first = false;
  };
  Refusal OnForbidden(const kube::Permission& permission, TimePoint now);
  // Whether it was known to be missing.
  bool OnGranted(const kube::Permission& permission);

  // Those to do without now, and until when.
  [[nodiscard]] std::map<kube::Permission, TimePoint> InForce(TimePoint now) const;

 private:
  struct Missing {
    TimePoint until = {};
    base::Backoff backoff = {};
  };
  std::map<kube::Permission, Missing> missing_permissions_;
};

// What it costs us to be without the right, for the log.
[[nodiscard]] const char* CostOf(const kube::Permission& permission);

}  // namespace compute_domain
