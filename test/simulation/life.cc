#include "test/simulation/life.h"

#include <optional>
#include <utility>

#include "pkg/base/check.h"
#include "pkg/json/value.h"
#include "test/simulation/branch.h"

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
                                              {"trace", texts(outcome.trace)}}));
}

Outcome Decode(const base::Result<std::string>& report) {
  const auto told = report.and_then([](const std::string& text) { return json::Parse(text); });
  if (!told) return {.violations = {told.error().message}};
  Outcome outcome = {.struck = (*told)["struck"].AsBool(),
                     .requests = static_cast<int>((*told)["requests"].AsInt().value_or(0))};
  for (const json::Value& line : (*told)["violations"].items()) {
    outcome.violations.push_back(line.AsString());
  }
  for (const json::Value& line : (*told)["trace"].items()) {
    outcome.trace.push_back(line.AsString());
  }
  return outcome;
}

// Lives the life that is not struck, and from each of its requests on the struck ones.
class Sweeper {
 public:
  Sweeper(const Plan& plan, std::vector<Blow> blows, int every, bool trace)
      : blows_(std::move(blows)),
        every_(every),
        world_(plan, trace, [this](const http::Request& request) { BranchOff(request); }) {}

  std::vector<Life> Run() {
    world_.Live();
    if (branch_) branch_->End(Encode(world_.outcome()));
    lives_.push_back({.plan = world_.plan(), .outcome = world_.outcome()});
    return std::move(lives_);
  }

 private:
  void BranchOff(const http::Request& request) {
    if (branch_) return;
    const int at = world_.outcome().requests;
    for (std::size_t i = 0; i < blows_.size(); ++i) {
      const bool is_its_turn = (at + static_cast<int>(i)) % every_ == 0;
      if (!is_its_turn || !world_.Hits(blows_[i].strike, request)) continue;
      Plan plan = world_.plan();
      plan.strike = blows_[i].strike;
      plan.stale = blows_[i].stale;
      plan.at = at;
      const Branch branch = Branch::Begin();
      if (branch.IsHere()) {
        branch_ = branch;
        world_.GoOnWith(plan);
        return;
      }
      lives_.push_back({.plan = plan, .outcome = Decode(branch.report())});
    }
  }

  const std::vector<Blow> blows_;
  const int every_;
  std::vector<Life> lives_;
  std::optional<Branch> branch_;  // In a branch: itself.
  World world_;
};

}  // namespace

Outcome Live(const Plan& plan, bool trace) {
  World world(plan, trace);
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
