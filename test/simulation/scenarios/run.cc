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
#include "test/simulation/scenarios/scenarios.h"

namespace simulation {

namespace {

// How a branch reports its outcome.
std::string Encode(const Outcome& outcome) {
  const auto texts = [](const std::vector<std::string>& lines) {
    return json::Value::Array(json::Value::Items(lines.begin(), lines.end()));
  };
  return json::Serialize(json::Value::Object({{"violations", texts(outcome.violations)},
                                              {"faulted", outcome.faulted},
                                              {"requests", outcome.requests},
                                              {"watches", outcome.watches},
                                              {"passes_at_once", outcome.passes_at_once},
                                              {"trace", texts(outcome.trace)}}));
}

Outcome Decode(const base::Result<std::string>& report) {
  const auto told = report ? json::Parse(*report) : tl::unexpected(report.error());
  if (!told) return {.violations = {told.error().message}};
  const auto number = [&](const char* name) {
    return static_cast<int>((*told)[name].AsInt().value_or(0));
  };
  Outcome outcome = {.faulted = (*told)["faulted"].AsBool(),
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

// The courses of `spec` without a fault and with one leader: the usual one, and the other one that
// the scenario may take, if any. Each is run once.
const std::vector<Course>& CoursesOf(RunSpec spec) {
  static std::map<std::string, std::vector<Course>> all;
  spec.fault = Fault::kNone;
  spec.at = 0;
  spec.watch = 0;
  spec.stale.clear();
  spec.two_leaders = false;
  spec.standby = false;
  spec.mixed = false;
  spec.flaky_watches = false;
  spec.short_tail = false;
  spec.seed = RunSpec().seed;  // Without effect where actors move in turn.
  const auto [it, is_new] = all.try_emplace(ToString(spec));
  if (!is_new) return it->second;
  const Scenario& scenario = *FindScenario(spec.scenario);
  for (const auto& course : {scenario.run, scenario.run_otherwise}) {
    if (course == nullptr) continue;
    World world(spec, false);
    world.Execute(course);
    it->second.push_back(world.course());
  }
  return it->second;
}

// Executes the run without a fault; each run with a fault branches off at its request.
class Sweeper {
 public:
  Sweeper(const RunSpec& spec, std::vector<FaultSpec> faults, int every, bool trace)
      : faults_(std::move(faults)),
        every_(every),
        may_be_short_(every > 1),
        tried_(faults_.size()),
        world_(spec, trace, [this](const http::Request& request) { BranchOff(request); }) {}

  std::vector<RunResult> Execute() {
    world_.Expect(CoursesOf(world_.spec()));
    world_.Execute();
    if (branch_) branch_->End(Encode(world_.outcome()));
    while (!in_flight_.empty()) Collect();
    runs_.push_back({.spec = world_.spec(), .outcome = world_.outcome()});
    return std::move(runs_);
  }

 private:
  static constexpr std::size_t kAtOnce = 2;
  struct InFlightBranch {
    Branch branch = {};
    std::size_t run = 0;  // In runs_.
  };

  // Of the runs of each fault, one in four goes on to the end of its scenario.
  bool EndsShort(std::size_t fault) {
    constexpr std::size_t kInFull = 4;
    return may_be_short_ && (fault + tried_[fault]++) % kInFull != 0;
  }

  void BranchOff(const http::Request& request) {
    if (branch_) return;
    const bool is_watch = IsWatch(request);
    const int number = is_watch ? world_.outcome().watches : world_.outcome().requests;
    for (std::size_t i = 0; i < faults_.size(); ++i) {
      if (faults_[i].at_watches != is_watch) continue;
      const bool is_its_turn = (number + static_cast<int>(i)) % every_ == 0;
      if (!is_its_turn || !world_.Applies(faults_[i].fault, request)) continue;
      RunSpec spec = world_.spec();
      spec.fault = faults_[i].fault;
      spec.stale = StaleOf(faults_[i].stale(number));
      (is_watch ? spec.watch : spec.at) = number;
      spec.short_tail = EndsShort(i);
      if (in_flight_.size() == kAtOnce) Collect();
      world_.RunOraclesSoFar();
      const Branch branch = Branch::Begin();
      if (branch.IsHere()) {
        branch_ = branch;
        world_.ContinueAs(spec);
        return;
      }
      in_flight_.push_back({.branch = branch, .run = runs_.size()});
      runs_.push_back({.spec = spec, .outcome = {}, .fault_number = i});
    }
  }

  // Takes the outcome of the oldest branch.
  void Collect() {
    const InFlightBranch oldest = in_flight_.front();
    in_flight_.pop_front();
    runs_[oldest.run].outcome = Decode(oldest.branch.Wait());
  }

  // Each kind with the revision that was the newest `age` writes ago, or the start of the run.
  std::string StaleOf(const Stale& view) {
    if (view.age == 0) return view.kinds;
    const Numbered<Change>& changes = world_.cluster().store().history().changes();
    const std::size_t age = std::min(changes.size(), static_cast<std::size_t>(view.age));
    const std::string revision =
        "@" + std::to_string(std::max(changes[changes.size() - age].revision(), world_.start()));
    std::string stale;
    for (const auto& [kind, none] : ParseStale(view.kinds, 0)) {
      stale += (stale.empty() ? "" : "+") + kind + revision;
    }
    return stale;
  }

  const std::vector<FaultSpec> faults_;
  const int every_;
  const bool may_be_short_;
  std::vector<std::size_t> tried_;  // How often, by fault.
  std::vector<RunResult> runs_;
  std::deque<InFlightBranch> in_flight_;
  std::optional<Branch> branch_;  // In a branch: itself.
  World world_;
};

}  // namespace

Outcome Execute(const RunSpec& spec, bool trace) {
  World world(spec, trace);
  if (!IsPlain(spec)) world.Expect(CoursesOf(spec));
  world.Execute();
  return world.outcome();
}

std::vector<RunResult> Sweep(const RunSpec& base, std::vector<FaultSpec> faults, int every,
                             bool trace) {
  CHECK(!faults.empty() && base.fault == Fault::kNone && base.stale.empty() && every > 0);
  RunSpec spec = base;
  spec.fault = faults.front().fault;  // At no request; but the run is one with a fault.
  return Sweeper(spec, std::move(faults), every, trace).Execute();
}

}  // namespace simulation
