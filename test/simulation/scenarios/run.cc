#include "test/simulation/scenarios/run.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "pkg/base/check.h"
#include "pkg/json/value.h"
#include "test/simulation/scenarios/branch.h"
#include "test/simulation/scenarios/scripts.h"

namespace simulation {

namespace {

// How a branch tells its outcome.
std::string Encode(const Outcome& outcome) {
  const auto texts = [](const std::vector<std::string>& lines) {
    return json::Value::Array(json::Value::Items(lines.begin(), lines.end()));
  };
  return json::Serialize(json::Value::Object({{"violations", texts(outcome.violations)},
                                              {"struck", outcome.struck},
                                              {"requests", outcome.requests},
                                              {"watches", outcome.watches},
                                              {"passes_at_once", outcome.passes_at_once},
                                              {"trace", texts(outcome.trace)}}));
}

Outcome Decode(const base::Result<std::string>& report) {
  const auto told = report.and_then([](const std::string& text) { return json::Parse(text); });
  if (!told) return {.violations = {told.error().message}};
  const auto number = [&](const char* name) {
    return static_cast<int>((*told)[name].AsInt().value_or(0));
  };
  Outcome outcome = {.struck = (*told)["struck"].AsBool(),
                     .requests = number("requests"),
                     .watches = number("watches"),
                     .passes_at_once = number("passes_at_once")};
  for (const json::Value& line : (*told)["violations"].items()) {
    outcome.violations.push_back(line.AsString());
  }
  for (const json::Value& line : (*told)["trace"].items()) {
    outcome.trace.push_back(line.AsString());
  }
  return outcome;
}

// Of the life in which nothing strikes `plan`, and that one replica leads; and of the one that it
// may come to as well, if there is one. They are lived once.
const std::vector<Course>& CoursesOf(Plan plan) {
  static std::map<std::string, std::vector<Course>> all;
  plan.strike = Strike::kNone;
  plan.at = 0;
  plan.watch = 0;
  plan.stale.clear();
  plan.two_leaders = false;
  plan.standby = false;
  plan.mixed = false;
  plan.frail_watches = false;
  plan.brief = false;
  plan.seed = Plan().seed;  // Says nothing where all move in turn.
  const auto [it, is_new] = all.try_emplace(ToString(plan));
  if (!is_new) return it->second;
  const Script& script = *FindScript(plan.workload);
  for (const auto& live : {script.live, script.live_otherwise}) {
    if (live == nullptr) continue;
    World world(plan, false);
    world.Live(live);
    it->second.push_back(world.course());
  }
  return it->second;
}

// Lives the life that is not struck, and from each of its requests on the struck ones.
class Sweeper {
 public:
  Sweeper(const Plan& plan, std::vector<Blow> blows, int every, bool trace)
      : blows_(std::move(blows)),
        every_(every),
        may_be_brief_(every > 1),
        tried_(blows_.size()),
        world_(plan, trace, [this](const http::Request& request) { BranchOff(request); }) {}

  std::vector<Life> Run() {
    world_.Expect(CoursesOf(world_.plan()));
    world_.Live();
    if (branch_) branch_->End(Encode(world_.outcome()));
    while (!in_flight_.empty()) Collect();
    lives_.push_back({.plan = world_.plan(), .outcome = world_.outcome()});
    return std::move(lives_);
  }

 private:
  static constexpr std::size_t kAtOnce = 2;
  struct InFlightAction {
    Branch branch = {};
    std::size_t life = 0;  // In lives_.
  };

  // Of each blow's lives one in four goes on to the end of the script.
  bool IsBrief(std::size_t blow) {
    constexpr std::size_t kInFull = 4;
    return may_be_brief_ && (blow + tried_[blow]++) % kInFull != 0;
  }

  void BranchOff(const http::Request& request) {
    if (branch_) return;
    const bool is_watch = IsWatch(request);
    const int number = is_watch ? world_.outcome().watches : world_.outcome().requests;
    for (std::size_t i = 0; i < blows_.size(); ++i) {
      if (blows_[i].at_watches != is_watch) continue;
      const bool is_its_turn = (number + static_cast<int>(i)) % every_ == 0;
      if (!is_its_turn || !world_.Hits(blows_[i].strike, request)) continue;
      Plan plan = world_.plan();
      plan.strike = blows_[i].strike;
      plan.stale = StaleOf(blows_[i].stale(number));
      (is_watch ? plan.watch : plan.at) = number;
      plan.brief = IsBrief(i);
      if (in_flight_.size() == kAtOnce) Collect();
      world_.JudgeSoFar();
      const Branch branch = Branch::Begin();
      if (branch.IsHere()) {
        branch_ = branch;
        world_.GoOnWith(plan);
        return;
      }
      in_flight_.push_back({.branch = branch, .life = lives_.size()});
      lives_.push_back({.plan = plan, .outcome = {}, .blow = i});
    }
  }

  // What has become of the oldest branch.
  void Collect() {
    const InFlightAction oldest = in_flight_.front();
    in_flight_.pop_front();
    lives_[oldest.life].outcome = Decode(oldest.branch.Wait());
  }

  // Each kind with the revision that so many writes ago was the newest, but none before the life.
  std::string StaleOf(const Stale& view) {
    if (view.age == 0) return view.kinds;
    const std::vector<Change>& changes = world_.cluster().store().history().changes();
    const std::size_t age = std::min(changes.size(), static_cast<std::size_t>(view.age));
    const std::string revision =
        "@" + std::to_string(std::max(changes[changes.size() - age].revision(), world_.start()));
    std::string stale;
    for (const auto& [kind, none] : ParseStale(view.kinds, 0)) {
      stale += (stale.empty() ? "" : "+") + kind + revision;
    }
    return stale;
  }

  const std::vector<Blow> blows_;
  const int every_;
  const bool may_be_brief_;
  std::vector<std::size_t> tried_;  // How often, of each blow.
  std::vector<Life> lives_;
  std::deque<InFlightAction> in_flight_;
  std::optional<Branch> branch_;  // In a branch: itself.
  World world_;
};

}  // namespace

Outcome Live(const Plan& plan, bool trace) {
  World world(plan, trace);
  if (!IsPlain(plan)) world.Expect(CoursesOf(plan));
  world.Live();
  return world.outcome();
}

std::vector<Life> Sweep(const Plan& base, std::vector<Blow> blows, int every, bool trace) {
  CHECK(!blows.empty() && base.strike == Strike::kNone && base.stale.empty() && every > 0);
  Plan plan = base;
  plan.strike = blows.front().strike;  // At no request, but a life that may be struck.
  return Sweeper(plan, std::move(blows), every, trace).Run();
}

}  // namespace simulation
