#include "controller/compute_domain/pass/installed_crd.h"

#include <algorithm>

namespace compute_domain {

constexpr base::BackoffPolicy kConditions = {.first = std::chrono::minutes(1),
                                             .most = std::chrono::hours(1)};

void InstalledCrd::OnConditions(bool kept) {
  const base::Clock::TimePoint now = clock_.Now();
  const bool is_news = pruned_.With([&](Pruned& pruned) {
    const bool is_first = pruned.backoff.delay() == std::chrono::nanoseconds(0);
    if (kept) {
      pruned = {};
    } else if (pruned.until <= now) {  // Failures of concurrent requests count once.
      pruned.until = now + pruned.backoff.Next(kConditions);
    }
    return kept != is_first;
  });
  if (!is_news) return;
  if (kept) {
    logger_.Info("The installed CRD keeps the conditions of ComputeDomains");
  } else {
    logger_.Warning("The installed CRD drops the conditions of ComputeDomains. Apply crds/");
  }
}

bool InstalledCrd::DropsConditions() const {
  const base::Clock::TimePoint now = clock_.Now();
  return pruned_.With([&](const Pruned& pruned) { return now < pruned.until; });
}

std::chrono::milliseconds InstalledCrd::UntilConditionsAreTried() const {
  const auto rest = pruned_.With([&](const Pruned& pruned) { return pruned.until - clock_.Now(); });
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(rest), std::chrono::milliseconds(1));
}

bool InstalledCrd::TryConditionsAgain() {
  return pruned_.With([&](Pruned& pruned) {
    const bool is_pruned = clock_.Now() < pruned.until;
    if (is_pruned) pruned.until = clock_.Now();
    return is_pruned;
  });
}

}  // namespace compute_domain
