#include "controller/compute_domain/controller.h"

#include <algorithm>
#include <utility>

#include "controller/api/names.h"

namespace compute_domain {

namespace {

using Problem = kube::ReflectorProblem::Kind;

// What was read once counts as unreadable only after this long without success: an authorizer that
// times out, and a server that starts, answer 403 to a renewal now and then.
constexpr std::chrono::seconds kPatience{60};

bool Reads(const kube::Reflector& reflector, const kube::Resource& resource) {
  return reflector.options().resource == resource;
}

// We go on without ResourceSlices: they explain, and nothing is decided by them. And without a
// right to claims, which NVIDIA's chart does not grant: then nothing is decided that needs to know
// who uses a domain.
bool IsOptional(const kube::Reflector& reflector, std::string_view reason) {
  return Reads(reflector, kube::kResourceSlices) ||
         (Reads(reflector, kube::kResourceClaims) && reason == api::kReasonRightMissing);
}

}  // namespace

Controller::Controller(const Facts& facts, Enqueue enqueue, const base::Clock& clock,
                       base::Random& random, base::Logger& logger, const Rules& rules)
    : enqueue_(std::move(enqueue)),
      clock_(clock),
      ns_(facts.driver_namespaces.front()),
      cache_(facts.driver_namespaces, enqueue_, logger),
      reconciler_(cache_, facts, clock, logger, rules) {
  for (const Cache::Watch& watch : cache_.Watches()) {
    reflectors_.emplace_back(watch.options, *watch.sink, random, logger);
  }
  failing_.resize(reflectors_.size());
}

// Why the collection is not read, as conditions say it; empty: it is, or that will pass.
const Controller::Failing& Controller::FailingOf(std::size_t i) {
  const kube::Reflector& reflector = reflectors_[i];
  std::optional<Failing>& failing = failing_[i];
  static const Failing none;
  const Problem problem = reflector.problem().kind;
  if (problem == Problem::kNone) failing.reset();
  if (problem == Problem::kNone || problem == Problem::kUnavailable) {
    // What was never read is as unknown as before, whatever keeps it from being read now.
    return failing && !reflector.HasSynced() ? *failing : none;
  }
  if (!failing) failing = Failing{.since = clock_.Now()};
  const bool dra = reflector.options().resource.group == kube::kResourceClaims.group;
  failing->reason = problem == Problem::kForbidden ? api::kReasonRightMissing
                    : dra                          ? api::kReasonDraNotServed
                                                   : std::string_view();
  failing->message = reflector.problem().message;
  const bool may_pass = reflector.HasSynced() && clock_.Now() - failing->since < kPatience;
  return may_pass ? none : *failing;
}

Freshness Controller::FreshnessOf(std::size_t i, std::string_view reason) const {
  const kube::Reflector& reflector = reflectors_[i];
  if (!reflector.HasSynced()) return Freshness::kUnknown;
  return reason.empty() ? Freshness::kFresh : Freshness::kStale;
}

Views Controller::UpdateViews() {
  Views views;
  bool all_synced = true;
  bool all_known = true;
  for (std::size_t i = 0; i < reflectors_.size(); ++i) {
    const kube::Reflector& reflector = reflectors_[i];
    const Failing& failing = FailingOf(i);
    const std::string_view reason = failing.reason;
    const bool is_optional = IsOptional(reflector, reason);
    // The domains themselves must have been read: without them everything looks like an orphan.
    const bool essential = Reads(reflector, api::kComputeDomains);
    all_synced = all_synced && (reflector.HasSynced() || (is_optional && !reason.empty()));
    all_known = all_known && (reflector.HasSynced() || (!essential && !reason.empty()));
    if (Reads(reflector, kube::kResourceSlices)) {
      views.slices = reason.empty() ? FreshnessOf(i, reason) : Freshness::kUnknown;
      const bool is_well = reflector.problem().kind == Problem::kNone;
      if (views.slices == Freshness::kFresh && !is_well) views.slices = Freshness::kStale;
      continue;
    }
    if (Reads(reflector, kube::kNodes)) {
      views.nodes = FreshnessOf(i, reason);
      if (!reason.empty()) views.nodes_problem = failing.message;
      continue;
    }
    const bool is_served = reflector.problem().kind != Problem::kNotServed;
    const std::string served = is_served ? reflector.resource().version : "";
    if (Reads(reflector, kube::kResourceClaimTemplates)) views.template_version = served;
    if (Reads(reflector, kube::kResourceClaims)) {
      views.claim_version = served;
      views.claims_are_read = reason.empty();
      views.claims_are_granted = !is_optional;
      // Always in the same words, or each other refusal were a change of every domain.
      if (is_optional) {
        views.claims_problem = "this identity may not list and watch ResourceClaims.";
      } else if (!reason.empty()) {
        views.claims_problem = failing.message;
      }
      if (is_optional) continue;
    }
    // What is missing in an additional namespace says nothing about those whose children lie in the
    // first, and the log says it.
    const bool is_everybodys = reflector.options().ns.empty() || reflector.options().ns == ns_;
    if (views.problem_reason.empty() && is_everybodys) {
      views.problem_reason = reason;
      if (!reason.empty()) views.problem = failing.message;
    }
  }
  has_synced_ = all_synced;
  if (all_known) may_reconcile_ = true;
  return views;
}

void Controller::NoticeDisconnection() {
  const bool sees = std::ranges::any_of(reflectors_, [](const kube::Reflector& reflector) {
    return reflector.problem().kind == Problem::kNone;
  });
  if (sees) {
    disconnected_since_.reset();
  } else if (!disconnected_since_) {
    disconnected_since_ = clock_.Now();
  }
  is_disconnected_ = disconnected_since_ && clock_.Now() - *disconnected_since_ >= kPatience;
}

void Controller::Observe() {
  NoticeDisconnection();
  const bool might = may_reconcile_;
  Views views = UpdateViews();
  if (views != views_) reconciler_.SetViews(views);
  // That the view of ResourceSlices has become old changes nothing but for nodes that somebody
  // looks at anyway.
  Views before = std::exchange(views_, std::move(views));
  if ((before.slices == Freshness::kUnknown) == (views_.slices == Freshness::kUnknown)) {
    before.slices = views_.slices;
  }
  // Where one domain stops the roll, or lets it go on, all of them say so.
  const bool roll_was_stopped =
      std::exchange(rollout_is_stopped_, !reconciler_.RolloutStopped().empty());
  const bool is_news = before != views_ || rollout_is_stopped_ != roll_was_stopped;
  if (!may_reconcile_ || (might && !is_news)) return;
  for (const std::string& uid : cache_.DomainUids()) enqueue_(uid);
}

}  // namespace compute_domain
