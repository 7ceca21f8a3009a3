#include "controller/compute_domain/controller.h"

#include <algorithm>
#include <optional>
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
// A collection that was never read is given up after this time, and is unknown from then on. A
// healthy server answers the first LIST sooner, even when it has just started.
constexpr std::chrono::seconds kGivenUpAfter{30};
// ComputeDomains count as read for this long after a watch of them broke: a server that restarts
// refuses a few renewals.
constexpr std::chrono::seconds kUnreadAfter{10};

// Returns "pods in namespace cdom-system".
std::string NameOf(const kube::Reflector& reflector) {
  const std::string& ns = reflector.options().ns;
  return reflector.options().resource.QualifiedName() + (ns.empty() ? "" : " in namespace " + ns);
}

}  // namespace

int LargestShare(int workers) { return std::max(1, workers - std::max(1, workers / 8)); }

Controller::Controller(const Facts& facts, Sinks sinks, const base::Clock& clock,
                       base::Random& random, base::Logger& logger, const Rules& rules)
    : sinks_(std::move(sinks)),
      clock_(clock),
      logger_(logger),
      ns_(facts.settings->driver_namespaces.front()),
      cache_(
          facts.settings->driver_namespaces,
          [this](const kube::Uid& uid) { Want(uid, Priority::kNormal); }, logger),
      shared_(cache_, facts, clock, logger, rules),
      errors_(logger),
      last_current_(clock.Now()),
      connected_since_(clock.Now()) {
  for (const Cache::Watch& watch : cache_.Watches()) {
    reflectors_.emplace_back(watch.options, *watch.sink, random, logger);
    seen_.push_back({.of = watch.of});
    if (watch.of->kind == Kind::kComputeDomain) domains_ = &reflectors_.back();
  }
}

// Returns the state of a collection, without a refusal while it is fresh.
Controller::View Controller::ViewOf(std::size_t i) {
  using Refusal = View::Refusal;
  const kube::Reflector& reflector = reflectors_[i];
  const base::Clock::TimePoint now = clock_.Now();
  const kube::ReflectorProblem& problem = reflector.problem();
  View& view = seen_[i];
  const auto as_of = reflector.CurrentAsOf(now);
  view.freshness = !as_of                     ? Freshness::kUnknown
                   : now - *as_of < kPatience ? Freshness::kFresh
                                              : Freshness::kStale;
  // Only a success ends a refusal. An error of another kind does not.
  if (problem.kind == Problem::kNone) view.refusal = Refusal::kNone;
  // For a kind that is there in every cluster, a 404 is an error as any other.
  const bool is_dra = reflector.options().resource.group == kube::kResourceClaims.group;
  const bool is_missing = problem.kind == Problem::kNotServed && (is_dra || !reflector.IsServed());
  const bool is_refusal = problem.kind == Problem::kForbidden || is_missing;
  if (is_refusal || view.refusal == Refusal::kNone) view.message = problem.message;
  if (is_refusal) view.refusal = is_missing ? Refusal::kNotServed : Refusal::kForbidden;
  const auto since = reflector.failing_since();
  view.is_given_up = view.refusal == Refusal::kNone && !reflector.HasSynced() && since &&
                     now - *since >= kGivenUpAfter;
  View seen = view;
  if (seen.freshness == Freshness::kFresh) seen.refusal = Refusal::kNone;
  const bool is_said = seen.refusal == Refusal::kForbidden &&
                       !reflector.options().cost_without.empty();  // By the reflector.
  if (!std::exchange(view.is_told, seen.IsUnreadable()) && view.is_told && !is_said) {
    logger_.Warning("Continuing without a resource that cannot be read",
                    {{"resource", reflector.options().resource.QualifiedName()},
                     {"namespace", reflector.options().ns},
                     {"cost", std::string(view.of->cost)},
                     {"err", problem.message}});
  }
  return seen;
}

std::string Controller::HindranceBy(const kube::Reflector& reflector, const View& view) const {
  const base::Clock::TimePoint now = clock_.Now();
  const auto as_of = reflector.CurrentAsOf(now);
  // Without domains all children look like orphans.
  const bool is_essential = &reflector == domains_;
  const bool is_read = is_essential ? as_of && now - *as_of < kUnreadAfter : as_of.has_value();
  if (is_read || (!is_essential && view.IsUnreadable())) return {};
  const std::string& why = reflector.problem().message;
  return NameOf(reflector) + (why.empty() ? " was not read yet" : " cannot be read: " + why);
}

// A kind that cannot be read in an additional namespace does not affect domains with children in
// the first namespace. The log names it.
void Controller::AddView(const kube::Reflector& reflector, const View& view, Views& views) const {
  const base::Clock::TimePoint now = clock_.Now();
  const WatchedKind& of = *view.of;
  const std::string& ns = reflector.options().ns;
  const bool lacks_children = of.is_child && of.is_in_driver_namespaces && view.is_given_up;
  if (lacks_children) views.unknown_namespaces.insert(ns);
  if (!ns.empty() && ns != ns_) {
    if (view.IsUnreadable() || view.freshness == Freshness::kStale) {
      views.unreadable_namespaces.insert(ns);
    }
    return;
  }
  // While nothing can be read, no single kind is the cause. The first message is kept, because
  // each new message would change every domain.
  const bool is_refused = view.refusal != View::Refusal::kNone;
  const bool is_forbidden = view.refusal == View::Refusal::kForbidden;
  const bool is_missing = view.refusal == View::Refusal::kNotServed;
  const bool is_told = view.freshness != Freshness::kFresh &&
                       (view.IsUnreadable() || now - connected_since_ >= kPatience);
  std::string message = views_.ProblemOf(of.kind);
  if (message.empty() || is_refused) message = view.message;
  if (is_forbidden && !of.refusal.empty()) message = of.refusal;
  const bool has_problem = is_told || (is_forbidden && !of.refusal.empty());
  if (!of.is_essential && !of.only_explains && has_problem) views.problems[of.kind] = message;
  const kube::ReflectorProblem::Kind problem = reflector.problem().kind;
  if (!of.is_essential) views.freshness[of.kind] = view.freshness;
  if (of.version != nullptr) {
    views.*of.version = problem != Problem::kNotServed ? reflector.resource().version : "";
  }
  if (of.is_current != nullptr && !reflector.HasCaughtUp(now)) views.*of.is_current = false;
  if (of.is_served != nullptr) views.*of.is_served = reflector.IsServed();
  if (of.is_read != nullptr) views.*of.is_read = !is_refused;
  if (of.is_granted != nullptr) views.*of.is_granted = !is_forbidden;
  if (of.only_explains) {
    const bool is_doubtful = view.freshness == Freshness::kFresh && problem != Problem::kNone;
    if (is_doubtful) views.freshness[of.kind] = Freshness::kStale;
    if (view.IsUnreadable()) views.freshness[of.kind] = Freshness::kUnknown;
  }
  // A kind of DRA that must be served and is not shows that the cluster has no DRA.
  const bool is_needed = of.is_child || of.is_essential || (is_missing && !of.may_be_missing);
  if (!is_needed || !view.IsUnreadable() || !views.problem_reason.empty()) return;
  views.problem_reason = is_forbidden ? api::kReasonPermissionMissing
                         : is_missing ? api::kReasonDraNotServed
                                      : api::kReasonChildrenNotRead;
  views.problem = std::move(message);
}

Views Controller::UpdateViews() {
  Views views;
  bool all_synced = true;
  std::string hindrance;
  for (std::size_t i = 0; i < reflectors_.size(); ++i) {
    const kube::Reflector& reflector = reflectors_[i];
    const View view = ViewOf(i);
    const bool goes_without =
        (view.refusal == View::Refusal::kForbidden && view.of->may_be_refused) ||
        (view.refusal == View::Refusal::kNotServed && view.of->may_be_missing);
    all_synced = all_synced && (reflector.HasSynced() || goes_without);
    if (hindrance.empty()) hindrance = HindranceBy(reflector, view);
    AddView(reflector, view, views);
  }
  for (const std::string& ns : views.unknown_namespaces) views.unreadable_namespaces.erase(ns);
  has_synced_ = all_synced;
  hindrance_.With([&](std::string& why) { why = std::move(hindrance); });
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
  Views views = UpdateViews();
  if (views != views_) shared_.SetViews(views);
  // Conditions show the messages of views, so a new message is news. These changes are not: a view
  // of ResourceSlices that becomes stale concerns only nodes that are checked anyway. A renewed
  // watch concerns only domains that lack children.
  Views before = std::exchange(views_, std::move(views));
  constexpr Kind kSlice = Kind::kResourceSlice;
  if (before.IsUnknown(kSlice) == views_.IsUnknown(kSlice)) {
    before.freshness[kSlice] = views_.Of(kSlice);
  }
  before.children_are_current = views_.children_are_current;
  before.claims_are_current = views_.claims_are_current;
  // If one domain stops or resumes the rollout, the status of all domains says so.
  const bool roll_was_stopped =
      std::exchange(rollout_is_stopped_, !shared_.rollout().WhyStopped().empty());
  // The API server ends a watch of ComputeDomains when their CRD changes.
  const std::uint64_t watches = domains_->watches();
  const bool crd_may_differ =
      std::exchange(domain_watches_, watches) != watches && shared_.crd().TryConditionsAgain();
  const bool is_news =
      before != views_ || rollout_is_stopped_ != roll_was_stopped || crd_may_differ;
  const bool could_serve = could_serve_;
  could_serve_ = could_serve || CanServe();
  if (!could_serve_ || (could_serve && !is_news)) return;
  EnqueueAll();
}

void Controller::Start() {
  has_started_ = true;
  EnqueueAll();
}

kube::WorkQueue::Ended Controller::Finish(const kube::Uid& uid, const Outcome& outcome) {
  ++passes_;
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
  for (const kube::Uid& uid : cache_.DomainUids()) Want(uid, Priority::kLow);
}

void Controller::Want(const kube::Uid& uid, Priority priority) const {
  if (!has_started_) return;
  sinks_.enqueue(uid, {.flow = cache_.NamespaceOf(uid), .priority = priority});
}

}  // namespace compute_domain
