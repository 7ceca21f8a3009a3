#include "controller/compute_domain/requests/permissions.h"

namespace compute_domain {

constexpr base::BackoffPolicy kBackoff = {.first = std::chrono::seconds(30),
                                          .most = std::chrono::hours(1)};

MissingPermissions::Refusal MissingPermissions::OnForbidden(const kube::Permission& permission,
                                                            TimePoint now) {
  const auto [it, is_first] = missing_permissions_.try_emplace(permission);
  Missing& missing = it->second;
  // Refusals of concurrent requests count once.
  if (missing.until <= now) missing.until = now + missing.backoff.Next(kBackoff);
  return {.until = missing.until, .is_first = is_first};
}

bool MissingPermissions::OnGranted(const kube::Permission& permission) {
  return missing_permissions_.erase(permission) != 0;
}

std::map<kube::Permission, MissingPermissions::TimePoint> MissingPermissions::InForce(
    TimePoint now) const {
  std::map<kube::Permission, TimePoint> in_force;
  for (const auto& [permission, missing] : missing_permissions_) {
    if (now < missing.until) in_force.emplace(permission, missing.until);
  }
  return in_force;
}

const char* CostOf(const kube::Permission& permission) {
  if (permission.verb == "patch") return "each such write needs a read and an update instead";
  if (permission.resource == "events") return "conditions do not say why a daemon has no pod";
  if (permission.resource == "pods") return "daemons of an older template are not replaced";
  return "the rest is deleted with its owners, by the garbage collector";
}

}  // namespace compute_domain
