#include "controller/compute_domain/reconciler.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "controller/compute_domain/events.h"
#include "controller/compute_domain/labels.h"
#include "controller/compute_domain/membership.h"
#include "controller/compute_domain/plugins.h"
#include "controller/compute_domain/usage.h"
#include "pkg/base/check.h"
#include "pkg/kube/client/request.h"

namespace compute_domain {

namespace {

using base::ErrorCode;
using http::Request;
using http::Response;
using std::chrono::milliseconds;

constexpr int kRoundsMax = 4;
// So many actions of a step are sent before it is asked again whether this replica still leads.
constexpr std::size_t kActionsMax = 128;
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
  if (over_) return {};
  if (!under_way_.empty()) return Ask();  // Lists have more pages.
  if (rounds_ == 0) {
    const Reconciler::Memory memory = reconciler_.MemoryOf(observed_.uid);
    // Deciding from a view older than our own writes would do them twice.
    const base::Clock::TimePoint now = reconciler_.clock_.Now();
    const bool behind = std::ranges::any_of(memory.expectations, [&](const Expectation& expected) {
      return !reconciler_.cache_.HasCaughtUp(expected);
    });
    if (behind && now < memory.expect_until) {
      outcome_.requeue_after = std::chrono::ceil<milliseconds>(memory.expect_until - now);
      outcome_.waits = true;
      over_ = true;
      return {};
    }
    observed_ = reconciler_.Gather(observed_.uid);
    paces_ = observed_.clique_paces;
    Decide();
  }
  // What fails for one action of a step leaves the others alone.
  if (!rest_.empty()) return Send(std::exchange(rest_, {}));
  if (!outcome_.error && next_step_ < plan_.steps.size()) {
    return Send(std::move(plan_.steps[next_step_++]));
  }
  if (!outcome_.error && decide_again_) {
    if (rounds_ < kRoundsMax) {
      Decide();
      return Next();
    }
    // What was found is not acted on yet, and nothing else may bring it up again.
    outcome_.error = base::Error{.code = ErrorCode::kUnavailable,
                                 .message = "live reads kept finding something new"};
  }
  if (!status_sent_) {
    // What was written, or failed, since the decision is part of what status says.
    if (acted_) {
      Plan latest = MakePlan();
      plan_.status = std::move(latest.status);
      plan_.obstacle = std::move(latest.obstacle);
      plan_.requeue_after = latest.requeue_after;
    }
    status_sent_ = true;
    if (plan_.status) return Send({*plan_.status});
  }
  Finish();
  return {};
}

void Pass::Decide() {
  ++rounds_;
  next_step_ = 0;
  acted_ = decide_again_ = false;
  plan_ = MakePlan();
}

Plan Pass::MakePlan() {
  if (observed_.evidence.children) reconciler_.cache_.AddNodes(observed_);
  return PlanReconcile(observed_, reconciler_.Now(), reconciler_.rules_);
}

std::vector<Request> Pass::Send(Step step) {
  if (reconciler_.dry_run_) {
    for (const Action& action : step) {
      reconciler_.logger_.Info("Would act",
                               {{"domain", observed_.uid}, {"action", Describe(action)}});
    }
    std::erase_if(step, IsWrite);
  }
  const bool writes = std::ranges::any_of(step, IsWrite);
  if (writes && !reconciler_.gate_()) {
    // Another replica leads: this process is about to end, and writes nothing more.
    outcome_.error = base::Error{.code = ErrorCode::kUnavailable, .message = "not the leader"};
    over_ = true;
    return {};
  }
  if (step.empty()) return Next();
  if (step.size() > kActionsMax) {
    const auto rest = step.begin() + kActionsMax;
    rest_.assign(std::make_move_iterator(rest), std::make_move_iterator(step.end()));
    step.erase(rest, step.end());
  }
  for (Action& action : step) {
    if (IsWrite(action)) {
      reconciler_.logger_.Debug("Acting",
                                {{"domain", observed_.uid}, {"action", Describe(action)}});
    }
    under_way_.push_back({.action = std::move(action)});
  }
  return Ask();
}

std::vector<Request> Pass::Ask() {
  std::vector<Request> requests;
  for (UnderWay& one : under_way_) {
    one.methods.clear();
    for (Request& request : RequestsOf(one.action, observed_, one.read)) {
      one.methods.push_back(request.method);
      requests.push_back(std::move(request));
    }
  }
  return requests;
}

void Pass::TakeReplies(std::vector<base::Result<Response>> replies) {
  acted_ = true;
  std::vector<UnderWay> go_on;
  auto reply = replies.begin();
  for (UnderWay& one : under_way_) {
    std::vector<base::Result<Response>> checked;
    for (const http::Method method : one.methods) {
      CHECK(reply != replies.end());
      checked.push_back(kube::CheckStatus(std::move(*reply++), method));
    }
    if (std::ranges::all_of(checked, [](const auto& each) { return each.has_value(); })) {
      std::ranges::move(EventsOf(one.action, observed_), std::back_inserter(outcome_.events));
    }
    ActionResult result = compute_domain::TakeReplies(one.action, checked, observed_, one.read);
    if (std::holds_alternative<ReadPods>(one.action)) {
      reconciler_.AddHolders(observed_);
      if (!reconciler_.dry_run_) {
        std::ranges::move(TellWaitingPods(observed_), std::back_inserter(outcome_.events));
      }
    }
    decide_again_ = decide_again_ || result.decide_again;
    std::ranges::move(result.expectations, std::back_inserter(expectations_));
    if (!result.error) {
      status_written_ = status_written_ || std::holds_alternative<WriteStatus>(one.action);
      if (const std::optional<std::string> clique = CliqueOf(one.action)) {
        const auto before = observed_.clique_paces.find(*clique);
        paces_[*clique] = NextPace(before == observed_.clique_paces.end() ? Pace() : before->second,
                                   reconciler_.clock_.Now(), observed_.facts.status_window);
      }
      if (result.goes_on) go_on.push_back(std::move(one));
      continue;
    }
    // The first error is the pass's; what it means to users goes into the condition.
    if (std::optional<Failure> failure = FailureOf(*result.error)) observed_.failure = failure;
    if (!outcome_.error) outcome_.error = std::move(result.error);
  }
  under_way_ = std::move(go_on);
}

void Pass::Finish() {
  over_ = true;
  outcome_.requeue_after = plan_.requeue_after;
  if (!outcome_.error && plan_.obstacle) {
    outcome_.error =
        base::Error{.code = ErrorCode::kAlreadyExists, .message = plan_.obstacle->message};
  }
  const base::Clock::TimePoint now = reconciler_.clock_.Now();
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
  reconciler_.memories_.With([&](auto& memories) {
    if (!observed_.domain && expectations_.empty()) {
      memories.erase(observed_.uid);
      return;
    }
    Reconciler::Memory& memory = memories[observed_.uid];
    if (status_written_) memory.status_written = now;
    memory.clique_paces = std::move(paces_);
    memory.idle_since = std::move(observed_.idle_since);
    memory.silent_since = std::move(observed_.silent_since);
    if (observed_.evidence.words) {
      memory.words = *std::move(observed_.evidence.words);
      memory.words_read = now;
      memory.told = std::move(observed_.told);
    }
    memory.expectations = std::move(expectations_);
    memory.expect_until = now + kCatchUp;
  });
}

Reconciler::Reconciler(const Cache& cache, Facts facts, WriteGate gate, const base::Clock& clock,
                       base::Logger& logger, const Rules& rules)
    : cache_(cache),
      gate_(std::move(gate)),
      clock_(clock),
      logger_(logger),
      rules_(rules),
      facts_(std::move(facts)) {}

Observed Reconciler::Gather(const std::string& uid) const {
  Observed observed = cache_.Gather(uid);
  observed.facts = facts_.With([](const Facts& facts) { return facts; });
  Memory memory = MemoryOf(uid);
  observed.status_written = memory.status_written;
  observed.clique_paces = std::move(memory.clique_paces);
  std::erase_if(observed.clique_paces,
                [now = clock_.Now()](const auto& pace) { return IsAtRest(pace.second, now); });
  observed.idle_since = StillIdle(observed, memory.idle_since, clock_.Now());
  observed.silent_since = FindSilentNodes(observed, memory.silent_since, clock_.Now());
  observed.words = std::move(memory.words);
  observed.words_read = memory.words_read;
  observed.told = std::move(memory.told);
  AddHolders(observed);
  return observed;
}

void Reconciler::AddHolders(Observed& observed) const {
  const bool any_lacks = observed.domain && !FindPodsWithoutChannel(observed).empty();
  if (any_lacks) cache_.AddHolders(observed);
}

Reconciler::Memory Reconciler::MemoryOf(const std::string& uid) const {
  return memories_.With([&](const auto& memories) {
    const auto it = memories.find(uid);
    return it == memories.end() ? Memory() : it->second;
  });
}

void Reconciler::SetProblem(const std::string& reason, const std::string& problem) {
  facts_.With([&](Facts& facts) {
    facts.problem_reason = reason;
    facts.problem = problem;
  });
}

void Reconciler::SetSlices(Sight sight) {
  facts_.With([&](Facts& facts) { facts.slices = sight; });
}

void Reconciler::SetDraVersions(const std::string& templates, const std::string& claims) {
  facts_.With([&](Facts& facts) {
    facts.template_version = templates;
    facts.claim_version = claims;
  });
}

}  // namespace compute_domain
