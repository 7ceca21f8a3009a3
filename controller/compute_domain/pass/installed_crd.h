// Whether the installed CRD of ComputeDomains keeps the conditions that cdom writes.
//
// NVIDIA's drops them. With several API servers, one of them may use an older CRD for some seconds.
// So they are tried again, with back-off from a minute to an hour.
#pragma once

#include <chrono>

#include "pkg/base/backoff.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/mutex.h"

namespace compute_domain {

// Thread-safe.
class InstalledCrd {
 public:
  // Both must outlive it.
  InstalledCrd(const base::Clock& clock, base::Logger& logger) : clock_(clock), logger_(logger) {}

  // Call it with each reply that shows it. Logs what is new.
  void OnConditions(bool kept);
  // Returns whether conditions are dropped, and not to be tried now.
  bool DropsConditions() const;
  std::chrono::milliseconds UntilConditionsAreTried() const;  // At least 1 ms.
  // Call it when the CRD may have changed. Returns whether conditions were being dropped.
  bool TryConditionsAgain();

 private:
  struct Pruned {
    base::Backoff backoff = {};
    base::Clock::TimePoint until = {};
  };
  const base::Clock& clock_;
  base::Logger& logger_;
  base::Guarded<Pruned> pruned_;
};

}  // namespace compute_domain
