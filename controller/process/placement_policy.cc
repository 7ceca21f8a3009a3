#include "controller/process/placement_policy.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "controller/api/names.h"
#include "pkg/kube/api/resource.h"
#include "pkg/kube/client/request.h"
#include "pkg/kube/runtime/wait.h"

namespace process {

using compute_domain::PlacementPolicy;

namespace {

// A shutdown waits for this request.
constexpr std::chrono::seconds kLookTimeout{3};
constexpr std::chrono::minutes kLookPeriod{30};
constexpr base::BackoffPolicy kWhileMissing = {.first = std::chrono::seconds(10),
                                               .most = kLookPeriod};
constexpr std::chrono::milliseconds kUnfitTurn{500};  // Until the controller can serve.
constexpr std::chrono::seconds kTurnAtRest{5};        // Between looks for passes.

// Kubernetes 1.34 and 1.35 have v1beta1, behind a feature gate.
constexpr const char* kVersions[] = {"v1", "v1beta1"};

base::Result<PlacementPolicy> FindIn(const char* version, http::Transport& transport) {
  const kube::Resource bindings = {"admissionregistration.k8s.io", version,
                                   "mutatingadmissionpolicybindings",
                                   "MutatingAdmissionPolicyBinding", false};
  PlacementPolicy found = PlacementPolicy::kInstalled;
  for (const auto& [name, if_missing] :
       {std::pair{api::kPreferredBinding, PlacementPolicy::kPreferredMissing},
        {api::kPlacementBinding, PlacementPolicy::kMissing}}) {
    http::Request request = kube::GetRequest(bindings, {.name = std::string(name)});
    request.timeout = kLookTimeout;
    const auto reply = kube::CheckStatus(transport.Send(request), request.method);
    if (reply) continue;
    const base::Error& error = reply.error();
    if (error.code != base::ErrorCode::kNotFound) return tl::unexpected(error);
    if (!kube::ProvesAbsence(error, bindings, std::string(name))) {
      return PlacementPolicy::kNotServed;
    }
    found = if_missing;
  }
  return found;
}

}  // namespace

base::Result<PlacementPolicy> FindPlacementPolicy(http::Transport& transport) {
  for (const char* version : kVersions) {
    const PlacementPolicy found = TRY(FindIn(version, transport));
    if (found != PlacementPolicy::kNotServed) return found;
  }
  return PlacementPolicy::kNotServed;
}

bool PlacementLooks::TakeTurn(TimePoint now, Passes passes) {
  if (now >= late_) return true;
  if (now < soon_) return false;
  if (!passes_) passes_ = passes;
  return !passes || passes != *passes_;
}

PlacementLooks::TimePoint PlacementLooks::Next(TimePoint now) const {
  return std::min(std::max(soon_, now + kTurnAtRest), late_);
}

void PlacementLooks::Looked(TimePoint now, Passes passes, bool is_missing, bool is_news) {
  const std::chrono::nanoseconds missing = backoff_.Next(kWhileMissing);
  late_ = now + kLookPeriod;
  soon_ = is_missing ? now + missing : late_;
  passes_.reset();
  if (!is_news) passes_ = passes;
}

void LookForPlacement(compute_domain::Controller& controller,
                      const std::function<std::unique_ptr<http::Transport>()>& make_transport,
                      const base::Clock& clock, base::Logger& logger, const std::stop_token& stop) {
  bool is_told = false;
  PlacementPolicy known = PlacementPolicy::kUnknown;
  PlacementLooks looks;
  while (!stop.stop_requested()) {
    const PlacementLooks::Passes passes = controller.passes();
    const base::Clock::TimePoint now = clock.Now();
    if (!controller.CanServe() || !looks.TakeTurn(now, passes)) {
      kube::WaitUntil(clock, controller.CanServe() ? looks.Next(now) : now + kUnfitTurn, stop);
      continue;
    }
    const base::Result<PlacementPolicy> placement = FindPlacementPolicy(*make_transport());
    // An error that passes does not take back what was seen.
    if (placement) controller.SetPlacement(*placement);
    if (!placement && !std::exchange(is_told, true)) {
      logger.Info("Cannot read whether the policies of placement are in force",
                  {{"cost", "a domain does not say that they are missing"},
                   {"err", placement.error().message}});
    }
    const bool is_settled = placement && (*placement == PlacementPolicy::kInstalled ||
                                          *placement == PlacementPolicy::kNotServed);
    const bool is_news = placement && std::exchange(known, *placement) != *placement;
    looks.Looked(clock.Now(), passes, !is_settled, is_news);
  }
}

}  // namespace process
