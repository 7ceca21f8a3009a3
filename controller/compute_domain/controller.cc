#include "controller/compute_domain/controller.h"

#include <algorithm>
#include <utility>

#include "controller/api/names.h"

namespace compute_domain {

namespace {

using Problem = kube::ReflectorProblem::Kind;
using Priority = kube::WorkQueue::Priority;

// A collection that was read counts as current for this long. A server that starts, or an
// authorizer that times out, may answer a renewed watch with 403.
constexpr std::chrono::seconds kPatience{60};
// Minimum time between two restores that are noticed.
constexpr std::chrono::minutes kRestores{5};

bool Reads(const kube::Reflector& reflector, const kube::Resource& resource) {
  return reflector.options().resource == resource;
}

bool ReadsChildren(const kube::Reflector& reflector) {
  return Reads(reflector, kube::kResourceClaimTemplates) || Reads(reflector, kube::kDaemonSets);
}

bool ReadsDaemons(const kube::Reflector& reflector) {
  return Reads(reflector, kube::kPods) || Reads(reflector, api::kComputeDomainCliques);
}

// The controller continues without ResourceSlices, because they only explain. It also continues
// without permission for claims, which NVIDIA's chart does not grant. Then no rule that must know
// the users of a domain acts.
bool IsOptional(const kube::Reflector& reflector, std::string_view reason) {
  return Reads(reflector, kube::kResourceSlices) ||
         (Reads(reflector, kube::kResourceClaims) && reason == api::kReasonPermissionMissing);
}

}  // namespace

int LargestShare(int workers) { return std::max(1, workers - std::max(1, workers / 8)); }

Controller::Controller(const Facts& facts, Sinks sinks, const base::Clock& clock,
                       base::Random& random, base::Logger& logger, const Rules& rules)
    : sinks_(std::move(sinks)),
      clock_(clock),
      ns_(facts.driver_namespaces.front()),
      cache_(
          facts.driver_namespaces, [this](const std::string& uid) { Want(uid, Priority::kNormal); },
          logger),
      reconciler_(cache_, facts, clock, logger, rules),
      errors_(logger),
      last_current_(clock.Now()),
      connected_since_(clock.Now()) {
  for (const Cache::Watch& watch : cache_.Watches()) {
    reflectors_.emplace_back(watch.options, *watch.sink, random, logger);
  }
  seen_.resize(reflectors_.size());
  for (const kube::Reflector& reflector : reflectors_) {
    if (Reads(reflector, api::kComputeDomains)) domains_ = &reflector;
  }
}

// Returns the state of a collection. Its reason is empty while the collection is fresh, and if the
// cause ends without help.
Controller::View Controller::ViewOf(std::size_t i) {
  const kube::Reflector& reflector = reflectors_[i];
  const base::Clock::TimePoint now = clock_.Now();
  const kube::ReflectorProblem& problem = reflector.problem();
  View& view = seen_[i];
  const auto as_of = reflector.CurrentAsOf(now);
  view.freshness = !as_of                     ? Freshness::kUnknown
                   : now - *as_of < kPatience ? Freshness::kFresh
                                              : Freshness::kStale;
  // Only a success ends a refusal. An error of another kind does not.
  if (problem.kind == Problem::kNone) view.reason = {};
  const bool is_refusal =
      problem.kind == Problem::kForbidden || problem.kind == Problem::kNotServed;
  if (is_refusal || view.reason.empty()) view.message = problem.message;
  if (is_refusal) {
    const bool dra = reflector.options().resource.group == kube::kResourceClaims.group;
    view.reason = problem.kind == Problem::kForbidden ? api::kReasonPermissionMissing
                  : dra                               ? api::kReasonDraNotServed
                                                      : std::string_view();
  }
  View seen = view;
  if (seen.freshness == Freshness::kFresh) seen.reason = {};
  return seen;
}

Views Controller::UpdateViews() {
  const base::Clock::TimePoint now = clock_.Now();
  Views views;
  bool all_synced = true;
  bool all_known = true;
  for (std::size_t i = 0; i < reflectors_.size(); ++i) {
    const kube::Reflector& reflector = reflectors_[i];
    const View view = ViewOf(i);
    const bool is_refused = !view.reason.empty();
    const bool is_optional = IsOptional(reflector, view.reason);
    // Domains must be read: without them all children look like orphans.
    const bool essential = Reads(reflector, api::kComputeDomains);
    all_synced = all_synced && (reflector.HasSynced() || (is_optional && is_refused));
    all_known = all_known && (reflector.HasSynced() || (!essential && is_refused));
    // While nothing can be read, no single kind is the cause. The first message is kept, because
    // each new message would change every domain.
    const bool is_told =
        view.freshness != Freshness::kFresh && (is_refused || now - connected_since_ >= kPatience);
    const auto tell = [&](const std::string& before, std::string& problem) {
      if (is_told) problem = before.empty() || is_refused ? view.message : before;
    };
    if (Reads(reflector, kube::kResourceSlices)) {
      views.slices = is_refused ? Freshness::kUnknown : view.freshness;
      const bool is_well = reflector.problem().kind == Problem::kNone;
      if (views.slices == Freshness::kFresh && !is_well) views.slices = Freshness::kStale;
      continue;
    }
    if (Reads(reflector, kube::kNodes)) {
      views.nodes = view.freshness;
      tell(views_.nodes_problem, views.nodes_problem);
      continue;
    }
    const bool is_served = reflector.problem().kind != Problem::kNotServed;
    const std::string served = is_served ? reflector.resource().version : "";
    if (Reads(reflector, kube::kResourceClaimTemplates)) views.template_version = served;
    // A kind that cannot be read in an additional namespace does not affect domains with children
    // in the first namespace. The log names it.
    const bool is_everybodys = reflector.options().ns.empty() || reflector.options().ns == ns_;
    if (is_refused && !is_everybodys) views.refused_namespaces.insert(reflector.options().ns);
    if (ReadsDaemons(reflector) && is_everybodys && !is_refused) {
      tell(views_.daemons_problem, views.daemons_problem);
    }
    if (ReadsChildren(reflector) && is_everybodys && !reflector.HasCaughtUp(now)) {
      views.children_are_current = false;
    }
    if (Reads(reflector, kube::kResourceClaims)) {
      views.claims = view.freshness;
      views.claims_are_current = reflector.HasCaughtUp(now);
      views.claim_version = served;
      views.claims_are_read = !is_refused;
      views.claims_are_granted = !is_optional;
      // The text is constant, because each new message would change every domain.
      if (is_optional) {
        views.claims_problem = "this identity may not list and watch ResourceClaims.";
      } else if (is_refused) {
        views.claims_problem = view.message;
      }
      if (is_optional) continue;
    }
    if (views.problem_reason.empty() && is_everybodys) {
      views.problem_reason = view.reason;
      if (is_refused) views.problem = view.message;
    }
  }
  has_synced_ = all_synced;
  if (all_known) may_reconcile_ = true;
  return views;
}

// Determines whether anything can be read, and since when.
void Controller::NoticeDisconnection() {
  const base::Clock::TimePoint now = clock_.Now();
  for (const kube::Reflector& reflector : reflectors_) {
    last_current_ = std::max(last_current_, reflector.CurrentAsOf(now).value_or(last_current_));
  }
  if (last_current_ < now) connected_since_ = now;
  is_disconnected_ = now - last_current_ >= kPatience;
}

void Controller::NoticeRestore() {
  const base::Clock::TimePoint now = clock_.Now();
  if (restored_at_ && now - *restored_at_ < kRestores) return;
  const auto went_back = [&](std::size_t i) {
    return reflectors_[i].versions_gone_back() != seen_[i].gone_back;
  };
  bool any = false;
  for (std::size_t i = 0; i < reflectors_.size(); ++i) any = any || went_back(i);
  if (!any) return;
  restored_at_ = now;
  for (std::size_t i = 0; i < reflectors_.size(); ++i) {
    if (!went_back(i)) reflectors_[i].ListAgain();  // Those that went back list by themselves.
    seen_[i].gone_back = reflectors_[i].versions_gone_back();
  }
}

void Controller::Observe() {
  NoticeDisconnection();
  NoticeRestore();
  const bool might = may_reconcile_;
  Views views = UpdateViews();
  if (views != views_) reconciler_.SetViews(views);
  // These changes do not affect domains: a view of ResourceSlices that becomes stale concerns only
  // nodes that are checked anyway. A renewed watch concerns only domains that lack children.
  Views before = std::exchange(views_, std::move(views));
  if ((before.slices == Freshness::kUnknown) == (views_.slices == Freshness::kUnknown)) {
    before.slices = views_.slices;
  }
  before.children_are_current = views_.children_are_current;
  before.claims_are_current = views_.claims_are_current;
  // If one domain stops or resumes the rollout, the status of all domains says so.
  const bool roll_was_stopped =
      std::exchange(rollout_is_stopped_, !reconciler_.RolloutStopped().empty());
  // The API server ends a watch of ComputeDomains when their CRD changes.
  const std::uint64_t watches = domains_->watches();
  const bool crd_may_differ =
      std::exchange(domain_watches_, watches) != watches && reconciler_.TryConditionsAgain();
  const bool is_news =
      before != views_ || rollout_is_stopped_ != roll_was_stopped || crd_may_differ;
  if (!may_reconcile_ || (might && !is_news)) return;
  EnqueueAll();
}

void Controller::Start() {
  has_started_ = true;
  EnqueueAll();
}

kube::WorkQueue::Ended Controller::Finish(const std::string& uid, const Outcome& outcome) {
  sinks_.record(outcome.events);
  if (!outcome.wake.empty()) sinks_.enqueue(outcome.wake, {.priority = Priority::kLow});
  if (outcome.error) {
    errors_.Failed(uid, cache_.NameOf(uid), *outcome.error);
  } else if (!outcome.waits && !outcome.is_failing) {
    errors_.Succeeded(uid);
  }
  return EndOf(outcome);
}

void Controller::EnqueueAll() const {
  for (const std::string& uid : cache_.DomainUids()) Want(uid, Priority::kLow);
}

void Controller::Want(const std::string& uid, Priority priority) const {
  if (!has_started_) return;
  sinks_.enqueue(uid, {.flow = cache_.NamespaceOf(uid), .priority = priority});
}

}  // namespace compute_domain
