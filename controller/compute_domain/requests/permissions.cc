#include "controller/compute_domain/requests/permissions.h"

#include <algorithm>

namespace compute_domain {

namespace {

constexpr std::chrono::seconds kPauseFirst{30};
constexpr std::chrono::seconds kPauseMost{3600};

}  // namespace

Refusals::Noted Refusals::OnRefused(const kube::Right& right, TimePoint now) {
  const auto [it, is_first] = refusals_.try_emplace(right);
  Refusal& refusal = it->second;
  // Requests that were under way together are refused together.
  if (refusal.until <= now) {
    refusal.pause = std::clamp(refusal.pause * 2, kPauseFirst, kPauseMost);
    refusal.until = now + refusal.pause;
  }
  return {.until = refusal.until, .is_first = is_first};
}

bool Refusals::OnGranted(const kube::Right& right) { return refusals_.erase(right) != 0; }

std::map<kube::Right, Refusals::TimePoint> Refusals::InForce(TimePoint now) const {
  std::map<kube::Right, TimePoint> in_force;
  for (const auto& [right, refusal] : refusals_) {
    if (now < refusal.until) in_force.emplace(right, refusal.until);
  }
  return in_force;
}

const char* CostOf(const kube::Right& right) {
  if (right.verb == "patch") return "each such write costs a read more: update is used instead";
  if (right.resource == "pods") return "daemons of an older template are not replaced";
  return "what is left of them goes with its owners, by the garbage collector";
}

}  // namespace compute_domain
