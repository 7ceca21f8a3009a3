#include "controller/compute_domain/controller.h"

#include <algorithm>

#include "controller/api/names.h"

namespace compute_domain {

namespace {

using Problem = kube::ReflectorProblem::Kind;

// The reason for the domains' condition; empty for what passes by itself.
std::string_view ReasonOf(const kube::Reflector& reflector) {
  switch (reflector.problem().kind) {
    case Problem::kNotServed: {
      const bool dra = reflector.options().resource.group == kube::kResourceClaims.group;
      return dra ? api::kReasonDraNotServed : std::string_view();
    }
    case Problem::kForbidden:
      return api::kReasonRightMissing;
    case Problem::kNone:
    case Problem::kUnavailable:
      break;
  }
  return {};
}

// Empty: none is served.
std::string ServedVersion(const kube::Reflector& reflector) {
  const bool is_served = reflector.problem().kind != Problem::kNotServed;
  return is_served ? reflector.resource().version : "";
}

// We go on without ResourceSlices: they explain, and nothing is decided by them.
bool IsOptional(const kube::Reflector& reflector) {
  return reflector.options().resource == kube::kResourceSlices;
}

Sight SightOf(const kube::Reflector& reflector) {
  if (!reflector.HasSynced() || !ReasonOf(reflector).empty()) return Sight::kNone;
  const bool is_well = reflector.problem().kind == Problem::kNone;
  return is_well ? Sight::kCurrent : Sight::kOld;
}

}  // namespace

Controller::Controller(const Facts& facts, Enqueue enqueue, Reconciler::WriteGate gate,
                       const base::Clock& clock, base::Random& random, base::Logger& logger,
                       const Rules& rules)
    : enqueue_(std::move(enqueue)),
      cache_(facts.driver_namespaces, enqueue_, logger),
      reconciler_(cache_, facts, std::move(gate), clock, logger, rules) {
  for (const Cache::Watch& watch : cache_.Watches()) {
    reflectors_.emplace_back(watch.options, *watch.sink, random, logger);
  }
}

void Controller::Observe() {
  std::string reason;
  std::string problem;
  bool all_synced = true;
  bool all_known = true;
  std::string template_version;
  std::string claim_version;
  Sight slices = Sight::kNone;
  for (const kube::Reflector& reflector : reflectors_) {
    const std::string_view its_reason = ReasonOf(reflector);
    const bool is_optional = IsOptional(reflector);
    all_synced = all_synced && (reflector.HasSynced() || (is_optional && !its_reason.empty()));
    if (is_optional) slices = SightOf(reflector);
    const std::string& plural = reflector.resource().plural;
    if (plural == kube::kResourceClaimTemplates.plural) template_version = ServedVersion(reflector);
    if (plural == kube::kResourceClaims.plural) claim_version = ServedVersion(reflector);
    // The domains themselves must have been read: without them everything looks like an orphan.
    const bool essential = reflector.options().resource == api::kComputeDomains;
    all_known = all_known && (reflector.HasSynced() || (!essential && !its_reason.empty()));
    if (reason.empty() && !its_reason.empty() && !is_optional) {
      reason = its_reason;
      problem = reflector.problem().message;
    }
  }
  has_synced_ = all_synced;
  const bool versions_changed =
      template_version != template_version_ || claim_version != claim_version_;
  // That a view has become old changes nothing but for nodes that somebody looks at anyway.
  const bool seen_or_not = (slices == Sight::kNone) != (slices_ == Sight::kNone);
  const bool changed =
      reason != problem_reason_ || problem != problem_ || versions_changed || seen_or_not;
  const bool begins = all_known && !may_reconcile_;
  if (changed) {
    problem_reason_ = reason;
    problem_ = problem;
    template_version_ = template_version;
    claim_version_ = claim_version;
    reconciler_.SetDraVersions(template_version, claim_version);
    reconciler_.SetProblem(reason, problem);
  }
  if (slices != slices_) reconciler_.SetSlices(slices_ = slices);
  if (begins) may_reconcile_ = true;
  if (!may_reconcile_ || (!begins && !changed)) return;
  for (const std::string& uid : cache_.DomainUids()) enqueue_(uid);
}

}  // namespace compute_domain
