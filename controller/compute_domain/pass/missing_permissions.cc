#include "controller/compute_domain/pass/missing_permissions.h"

#include <string>

namespace compute_domain {

constexpr base::BackoffPolicy kBackoff = {.first = std::chrono::seconds(30),
                                          .most = std::chrono::hours(1)};

MissingPermissions::TimePoint MissingPermissions::OnForbidden(const kube::Permission& permission) {
  const TimePoint now = clock_.Now();
  bool is_news = false;
  const TimePoint until = missing_.With([&](auto& all) {
    const auto [it, is_first] = all.try_emplace(permission);
    is_news = is_first;
    Missing& missing = it->second;
    // Refusals of concurrent requests count once.
    if (missing.until <= now) missing.until = now + missing.backoff.Next(kBackoff);
    return missing.until;
  });
  if (is_news) {
    logger_.Warning("Continuing without a permission",
                    {{"permission", permission.verb + " " + permission.resource},
                     {"cost", CostOf(permission)}});
  }
  return until;
}

void MissingPermissions::OnGranted(const kube::Permission& permission) {
  const bool is_news = missing_.With([&](auto& all) { return all.erase(permission) != 0; });
  if (!is_news) return;
  logger_.Info("Permission granted", {{"permission", permission.verb + " " + permission.resource}});
}

std::map<kube::Permission, MissingPermissions::TimePoint> MissingPermissions::InForce() const {
  const TimePoint now = clock_.Now();
  return missing_.With([&](const auto& all) {
    std::map<kube::Permission, TimePoint> in_force;
    for (const auto& [permission, missing] : all) {
      if (now < missing.until) in_force.emplace(permission, missing.until);
    }
    return in_force;
  });
}

const char* CostOf(const kube::Permission& permission) {
  if (permission.verb == "patch") return "each such write needs a read and an update instead";
  if (permission.resource == "events") return "conditions do not say why a daemon has no pod";
  if (permission.resource == "pods") return "daemons of an older template are not replaced";
  return "the rest is deleted with its owners, by the garbage collector";
}

}  // namespace compute_domain
