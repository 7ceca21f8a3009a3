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
  for (const kube::Reflector& reflector : reflectors_) {
    const std::string_view its_reason = ReasonOf(reflector);
    all_synced = all_synced && reflector.HasSynced();
    const std::string& plural = reflector.resource().plural;
    if (plural == kube::kResourceClaimTemplates.plural) template_version = ServedVersion(reflector);
    if (plural == kube::kResourceClaims.plural) claim_version = ServedVersion(reflector);
    // The domains themselves must have been read: without them everything looks like an orphan.
    const bool essential = reflector.options().resource == api::kComputeDomains;
    all_known = all_known && (reflector.HasSynced() || (!essential && !its_reason.empty()));
    if (reason.empty() && !its_reason.empty()) {
      reason = its_reason;
      problem = reflector.problem().message;
    }
  }
  has_synced_ = all_synced;
  const bool versions_changed =
      template_version != template_version_ || claim_version != claim_version_;
  const bool changed = reason != problem_reason_ || problem != problem_ || versions_changed;
  const bool begins = all_known && !may_reconcile_;
  if (changed) {
    problem_reason_ = reason;
    problem_ = problem;
    template_version_ = template_version;
    claim_version_ = claim_version;
    reconciler_.SetDraVersions(template_version, claim_version);
    reconciler_.SetProblem(reason, problem);
  }
  if (begins) may_reconcile_ = true;
  if (!may_reconcile_ || (!begins && !changed)) return;
  for (const std::string& uid : cache_.DomainUids()) enqueue_(uid);
}

}  // namespace compute_domain
