#include "controller/compute_domain/reconciler.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "controller/compute_domain/rules/children.h"
#include "controller/compute_domain/rules/deletion.h"
#include "controller/compute_domain/rules/membership/clique_batching.h"
#include "controller/compute_domain/rules/node_labels.h"
#include "controller/compute_domain/rules/rollout.h"
#include "controller/compute_domain/status/clique_capacity.h"
#include "controller/compute_domain/status/events.h"
#include "controller/compute_domain/status/imex_health.h"
#include "controller/compute_domain/status/missing_plugins.h"
#include "controller/compute_domain/status/usage.h"
#include "pkg/base/check.h"
#include "pkg/kube/client/patch_by_put.h"
#include "pkg/kube/client/request.h"

namespace compute_domain {

namespace {

using base::ErrorCode;
using http::Request;
using http::Response;
using std::chrono::milliseconds;

constexpr int kRoundsMax = 4;
// As long as too many cliques of the cluster are under way.
constexpr milliseconds kReplaceLater{5'000};
// A count of what is free is used for this long: it costs a pass over all nodes.
constexpr auto kRoomsAge = std::chrono::seconds(1);
// The cache is given this long to show a write of ours; then it is trusted as it is.
constexpr auto kCatchUp = std::chrono::seconds(10);

// Since when each node that is idle now has been.
std::map<std::string, base::Clock::TimePoint> StillIdle(
    const Observed& observed, const std::map<std::string, base::Clock::TimePoint>& before,
    base::Clock::TimePoint now) {
  std::map<std::string, base::Clock::TimePoint> idle;
  if (!observed.domain) return idle;
  for (std::string& node : IdleNodes(observed, observed.children.claims)) {
    const auto it = before.find(node);
    idle.emplace(std::move(node), it == before.end() ? now : it->second);
  }
  return idle;
}

// The clique that the action writes; empty: none.
std::optional<std::string> CliqueOf(const Action& action) {
  if (const auto* write = std::get_if<WriteClique>(&action)) return write->clique.key.name;
  const auto* create = std::get_if<Create>(&action);
  if (create == nullptr || create->kind != Kind::kClique) return {};
  return create->key.name;
}

}  // namespace

Pass::Pass(Reconciler& reconciler, std::string uid) : reconciler_(reconciler) {
  observed_.uid = std::move(uid);
}

std::vector<Request> Pass::Next() {
  while (phase_ != Phase::kOver) {
    if (!under_way_.empty()) return Ask();
    switch (phase_) {
      case Phase::kGather:
        Gather();
        break;
      case Phase::kSteps:
        NextStep();
        break;
      case Phase::kStatus:
        Finish();
        break;
      case Phase::kOver:
        break;
    }
  }
  return {};
}

void Pass::Gather() {
  const Reconciler::Remembered before = reconciler_.Recall(observed_.uid);
  // Deciding from a view older than our own writes would do them twice.
  const base::Clock::TimePoint now = reconciler_.clock_.Now();
  const bool behind = std::ranges::any_of(before.expectations, [&](const Expectation& expected) {
    return !reconciler_.cache_.HasCaughtUp(expected);
  });
  if (behind && now < before.expect_until) {
    outcome_.requeue_after = std::chrono::ceil<milliseconds>(before.expect_until - now);
    outcome_.waits = true;
    phase_ = Phase::kOver;
    return;
  }
  observed_ = reconciler_.Gather(observed_.uid);
  paces_ = observed_.memory.clique_paces;
  phase_ = Phase::kSteps;
  Decide();
}

void Pass::Decide() {
  ++rounds_;
  next_step_ = 0;
  acted_ = decide_again_ = false;
  plan_ = MakePlan();
}

Plan Pass::MakePlan() {
  const bool knows_more = observed_.evidence.children || observed_.evidence.claims;
  if (knows_more) reconciler_.cache_.AddNodes(observed_);
  return PlanReconcile(observed_, reconciler_.Now(), reconciler_.rules_);
}

void Pass::NextStep() {
  if (!outcome_.error && next_step_ < plan_.steps.size()) {
    return Begin(std::move(plan_.steps[next_step_++]));
  }
  if (!outcome_.error && decide_again_) {
    if (rounds_ < kRoundsMax) return Decide();
    // What was found is not acted on yet, and nothing else may bring it up again.
    outcome_.error = base::Error{.code = ErrorCode::kUnavailable,
                                 .message = "live reads kept finding something new"};
  }
  BeginStatus();
}

void Pass::BeginStatus() {
  phase_ = Phase::kStatus;
  // What was written, or failed, since the decision is part of what status says.
  if (acted_) {
    Plan latest = MakePlan();
    plan_.status = std::move(latest.status);
    plan_.obstacle = std::move(latest.obstacle);
    plan_.roll_failed = std::move(latest.roll_failed);
    plan_.requeue_after = latest.requeue_after;
  }
  if (plan_.status) Begin({*plan_.status});
}

void Pass::Begin(Step step) {
  for (Action& action : step) {
    const auto* replace = std::get_if<ReplaceDaemon>(&action);
    if (reconciler_.dry_run_) {
      reconciler_.logger_.Info("Would act",
                               {{"domain", observed_.uid}, {"action", Describe(action)}});
      if (IsWrite(action)) continue;
    } else if (replace != nullptr && !MayReplace(*replace)) {
      continue;
    } else if (IsWrite(action)) {
      reconciler_.logger_.Debug("Acting",
                                {{"domain", observed_.uid}, {"action", Describe(action)}});
    }
    LiveRead beginning = compute_domain::Begin(action, observed_);
    under_way_.push_back({.action = std::move(action), .read = std::move(beginning)});
  }
}

// Whether its clique is one of few that are under way in the cluster; then it is from now on.
bool Pass::MayReplace(const ReplaceDaemon& replace) {
  const Replacement begun = {
      .node = replace.node, .replaced = replace.uid, .began = reconciler_.clock_.Now()};
  const bool may = reconciler_.memories_.With([&](auto& memories) {
    std::size_t under_way = 0;
    for (const auto& [uid, remembered] : memories) {
      under_way += remembered.memory.replacements.size();
    }
    const auto most = static_cast<std::size_t>(observed_.facts.roll.cliques_max);
    if (under_way >= most) return false;
    memories[observed_.uid].memory.replacements[replace.clique] = begun;
    return true;
  });
  if (may) {
    observed_.memory.replacements[replace.clique] = begun;
  } else {
    replace_later_ = true;
  }
  return may;
}

std::vector<Request> Pass::Ask() {
  std::vector<Request> requests;
  for (UnderWay& one : under_way_) {
    one.methods.clear();
    one.right = {};
    for (Request& request : RequestsOf(one.action, observed_, one.read)) {
      if (one.methods.empty()) one.right = kube::RightFor(request);
      one.methods.push_back(request.method);
      requests.push_back(std::move(request));
    }
  }
  return requests;
}

void Pass::TakeReplies(std::vector<base::Result<Response>> replies) {
  CHECK(!under_way_.empty());
  acted_ = true;
  std::vector<UnderWay> asked = std::exchange(under_way_, {});
  auto reply = replies.begin();
  for (UnderWay& one : asked) {
    std::vector<base::Result<Response>> checked;
    for (const http::Method method : one.methods) {
      CHECK(reply != replies.end());
      checked.push_back(kube::CheckStatus(std::move(*reply++), method));
    }
    const bool is_read = one.methods.front() == http::Method::kGet;
    if (std::ranges::all_of(checked, [](const auto& each) { return each.has_value(); })) {
      if (!is_read) reconciler_.OnGranted(one.right);
      if (!is_read || !IsWrite(one.action)) Tell(one.action);
    }
    TakeResult(one, compute_domain::TakeReplies(one.action, checked, observed_, one.read));
  }
  CHECK(reply == replies.end());
}

void Pass::Tell(const Action& done) {
  for (kube::Event& event : EventsOf(done, observed_)) {
    // What was done and may harm a job is in the log, too; what is so, conditions keep.
    if (event.type == kube::EventType::kWarning && !std::holds_alternative<WriteStatus>(done)) {
      reconciler_.logger_.Warning(event.note, {{"domain", kube::ToString(event.regarding.key)}});
    }
    outcome_.events.push_back(std::move(event));
  }
}

void Pass::TakeResult(UnderWay& one, ActionResult result) {
  if (std::holds_alternative<ReadPods>(one.action)) {
    reconciler_.AddHolders(observed_);
    if (!reconciler_.dry_run_) {
      std::ranges::move(TellWaitingPods(observed_), std::back_inserter(outcome_.events));
    }
  }
  decide_again_ = decide_again_ || result.decide_again;
  std::ranges::move(result.expectations, std::back_inserter(expectations_));
  if (result.refused) {
    observed_.facts.refused[*result.refused] = reconciler_.OnRefused(*result.refused);
    if (const auto* replace = std::get_if<ReplaceDaemon>(&one.action)) {
      observed_.memory.replacements.erase(replace->clique);
    }
  }
  if (result.error) {
    if (const auto* replace = std::get_if<ReplaceDaemon>(&one.action)) {
      observed_.memory.replacements.erase(replace->clique);
    }
    // The first error is the pass's; what it means to users goes into the condition.
    if (std::optional<Failure> failure = FailureOf(*result.error)) {
      const bool lives = observed_.domain && !observed_.domain->meta.deleting;
      (lives && IsAside(one.action) ? observed_.left_undone : observed_.failure) = failure;
    }
    if (!outcome_.error) outcome_.error = std::move(result.error);
    return;
  }
  const base::Clock::TimePoint now = reconciler_.clock_.Now();
  if (std::holds_alternative<WriteStatus>(one.action)) observed_.memory.status_written = now;
  // It may be gone again before any watch shows it.
  const auto* create = std::get_if<Create>(&one.action);
  if (create != nullptr && observed_.domain && !result.decide_again) {
    if (const auto role = RoleOf(observed_, *create)) observed_.memory.children_seen.insert(*role);
  }
  if (const std::optional<std::string> clique = CliqueOf(one.action)) {
    const auto before = observed_.memory.clique_paces.find(*clique);
    paces_[*clique] =
        NextPace(before == observed_.memory.clique_paces.end() ? Pace() : before->second, now,
                 observed_.facts.status_window);
  }
  if (result.goes_on) under_way_.push_back(std::move(one));
}

void Pass::Finish() {
  phase_ = Phase::kOver;
  outcome_.requeue_after = plan_.requeue_after;
  if (replace_later_) {
    outcome_.requeue_after =
        std::min(kReplaceLater, outcome_.requeue_after.value_or(kReplaceLater));
  }
  if (!outcome_.error && plan_.obstacle) {
    outcome_.error =
        base::Error{.code = ErrorCode::kAlreadyExists, .message = plan_.obstacle->message};
  }
  reconciler_.StopOrResumeRoll(observed_.uid, plan_.roll_failed);
  const bool found_pruned = reconciler_.facts_.With([&](Facts& facts) {
    const bool is_new = observed_.facts.status_is_pruned && !facts.status_is_pruned;
    facts.status_is_pruned = facts.status_is_pruned || is_new;
    return is_new;
  });
  if (found_pruned) {
    reconciler_.logger_.Warning(
        "The installed CRD drops the conditions of ComputeDomains, so they are not written; apply "
        "crds/ and restart to see them");
  }
  Remember();
}

void Pass::Remember() {
  const base::Clock::TimePoint now = reconciler_.clock_.Now();
  reconciler_.memories_.With([&](auto& memories) {
    if (!observed_.domain && expectations_.empty()) {
      memories.erase(observed_.uid);
      return;
    }
    observed_.memory.clique_paces = std::move(paces_);
    if (observed_.evidence.words) observed_.memory.words_read = now;
    memories[observed_.uid] = {.memory = std::move(observed_.memory),
                               .expectations = std::move(expectations_),
                               .expect_until = now + kCatchUp};
  });
}

Reconciler::Reconciler(const Cache& cache, Facts facts, const base::Clock& clock,
                       base::Logger& logger, const Rules& rules)
    : cache_(cache), clock_(clock), logger_(logger), rules_(rules), facts_(std::move(facts)) {}

Observed Reconciler::Gather(const std::string& uid) const {
  Observed observed = cache_.Gather(uid);
  observed.facts = facts_.With([](const Facts& facts) { return facts; });
  observed.facts.refused =
      refusals_.With([&](const Refusals& refusals) { return refusals.InForce(clock_.Now()); });
  observed.memory = Recall(uid).memory;
  Memory& memory = observed.memory;
  std::erase_if(memory.clique_paces,
                [now = clock_.Now()](const auto& pace) { return IsAtRest(pace.second, now); });
  memory.idle_since = StillIdle(observed, memory.idle_since, clock_.Now());
  const bool is_deleted = observed.domain && observed.domain->meta.deleting;
  if (is_deleted && !memory.deletion_seen) memory.deletion_seen = clock_.Now();
  memory.silent_since = FindSilentNodes(observed, memory.silent_since, clock_.Now());
  memory.imex_of_jobs = FindImexOfJobs(observed, memory.imex_of_jobs);
  memory.claims_are_labelled = AreClaimsLabelled(observed);
  memory.replacements = FindReplacements(observed, clock_.Now());
  if (observed.domain && memory.rendered.daemon_set.empty())
    memory.rendered = HashChildren(observed);
  if (observed.domain) memory.children_seen.merge(FindRoles(observed));
  AddHolders(observed);
  return observed;
}

void Reconciler::AddHolders(Observed& observed) const {
  const bool any_lacks = observed.domain && !FindPodsWithoutChannel(observed).empty();
  if (any_lacks) cache_.AddHolders(observed);
  if (observed.domain && AsksForRooms(observed)) observed.others.rooms = *CountRooms();
}

void Reconciler::VisitRooms(const Cache::RoomVisitor& visit) const {
  cache_.VisitRooms(facts_.With([](const Facts& facts) { return facts; }), visit);
}

std::shared_ptr<const Rooms> Reconciler::CountRooms() const {
  const base::Clock::TimePoint now = clock_.Now();
  Counted counted = counted_.With([](const Counted& last) { return last; });
  if (counted.rooms && now - counted.at < kRoomsAge) return counted.rooms;
  Rooms rooms;
  VisitRooms([&](const api::Node& node, const NodeRoom& room) { Count(node.clique, room, rooms); });
  counted = {.at = now, .rooms = std::make_shared<const Rooms>(std::move(rooms))};
  counted_.With([&](Counted& last) { last = counted; });
  return counted.rooms;
}

Reconciler::Remembered Reconciler::Recall(const std::string& uid) const {
  return memories_.With([&](const auto& memories) {
    const auto it = memories.find(uid);
    return it == memories.end() ? Remembered() : it->second;
  });
}

base::Clock::TimePoint Reconciler::OnRefused(const kube::Right& right) {
  const auto noted =
      refusals_.With([&](Refusals& refusals) { return refusals.OnRefused(right, clock_.Now()); });
  if (noted.is_first) {
    logger_.Warning("Going on without a right",
                    {{"right", right.verb + " " + right.resource}, {"cost", CostOf(right)}});
  }
  return noted.until;
}

void Reconciler::OnGranted(const kube::Right& right) {
  const bool is_news =
      refusals_.With([&](Refusals& refusals) { return refusals.OnGranted(right); });
  if (is_news) logger_.Info("A right is granted", {{"right", right.verb + " " + right.resource}});
}

void Reconciler::StopOrResumeRoll(const std::string& uid, const std::string& failed) {
  const bool is_news = facts_.With([&](Facts& facts) {
    const bool is_its = roll_stopped_by_ == uid;
    if (failed.empty() && !is_its) return false;
    if (!failed.empty() && !is_its && !facts.roll_stopped.empty()) return false;
    const bool changes = facts.roll_stopped.empty() != failed.empty();
    facts.roll_stopped = failed;
    roll_stopped_by_ = failed.empty() ? "" : uid;
    return changes;
  });
  if (!is_news) return;
  if (failed.empty()) {
    logger_.Info("Daemons are replaced again");
  } else {
    logger_.Error("No more daemons are replaced, in any domain",
                  {{"domain", uid}, {"why", failed}});
  }
}

std::string Reconciler::RollStopped() const {
  return facts_.With([](const Facts& facts) { return facts.roll_stopped; });
}

void Reconciler::SetViews(const Views& views) {
  facts_.With([&](Facts& facts) { facts.views = views; });
}

}  // namespace compute_domain
