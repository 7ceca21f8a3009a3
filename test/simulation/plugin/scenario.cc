#include "test/simulation/plugin/scenario.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "pkg/base/check.h"
#include "test/simulation/plugin/mutants.h"
#include "test/simulation/plugin/world.h"

namespace simulation {

namespace {

// Words of the plan, as "strike=torn".
std::string ValueOf(const std::string& word, const std::string& name) {
  return word.starts_with(name + "=") ? word.substr(name.size() + 1) : "";
}

std::optional<PluginStrike> ParsePluginStrike(const std::string& text) {
  for (const PluginStrike strike : kAllPluginStrikes) {
    if (ToString(strike) == text) return strike;
  }
  return {};
}

// Whether the nodes are left as by a life without: not if the life itself became another.
bool EndsAlike(PluginStrike strike) { return strike != PluginStrike::kDomainDeleted; }

}  // namespace

std::string ToString(PluginStrike strike) {
  switch (strike) {
    case PluginStrike::kNone:
      return "none";
    case PluginStrike::kCrashBefore:
      return "crash-before";
    case PluginStrike::kCrashAfter:
      return "crash-after";
    case PluginStrike::kFails:
      return "fails";
    case PluginStrike::kReplyLost:
      return "reply-lost";
    case PluginStrike::kForbidden:
      return "forbidden";
    case PluginStrike::kConflict:
      return "conflict";
    case PluginStrike::kTorn:
      return "torn";
    case PluginStrike::kDomainDeleted:
      return "domain-deleted";
    case PluginStrike::kReboot:
      return "reboot";
    case PluginStrike::kRebootKeepsSpecs:
      return "reboot-keeps-specs";
    case PluginStrike::kKubeletRestarts:
      return "kubelet-restarts";
    case PluginStrike::kWatchesExpire:
      return "watches-expire";
  }
  return "none";
}

std::string ToString(const PluginPlan& plan) {
  std::string text = "plugin workload=" + plan.workload;
  if (plan.fault != PluginStrike::kNone)
    text += " strike=" + ToString(plan.fault) + " at=" + std::to_string(plan.at);
  if (plan.stale) text += " stale=yes";
  if (!plan.mutant.empty()) text += " mutant=" + plan.mutant;
  return text;
}

PluginPlan ParsePluginPlan(const std::vector<std::string>& words, std::string& error) {
  PluginPlan plan;
  for (const std::string& word : words) {
    if (word == "plugin") continue;
    if (word == "stale=yes") {
      plan.stale = true;
    } else if (const auto name = ValueOf(word, "workload"); FindPluginWorkload(name) != nullptr) {
      plan.workload = name;
    } else if (const auto strike = ParsePluginStrike(ValueOf(word, "strike"))) {
      plan.fault = *strike;
    } else if (const auto at = ValueOf(word, "at"); !at.empty()) {
      std::from_chars(at.data(), at.data() + at.size(), plan.at);
    } else if (const auto mutant = ValueOf(word, "mutant");
               !mutant.empty() && FindPluginMutant(mutant) != nullptr) {
      plan.mutant = mutant;
    } else {
      error = "what is " + word + "?";
    }
  }
  return plan;
}

PluginOutcome Execute(const PluginPlan& plan, bool trace) {
  PluginWorld world(plan, trace);
  world.Live();
  return world.outcome();
}

std::vector<PluginLife> SweepPlugins(const PluginPlan& base, int every) {
  CHECK(base.fault == PluginStrike::kNone && every > 0);
  const PluginOutcome whole = Execute(base);
  std::vector<PluginLife> lives;
  const auto live = [&](PluginStrike strike, int at, bool stale) {
    PluginPlan plan = base;
    plan.fault = strike;
    plan.at = at;
    plan.stale = stale;
    PluginOutcome outcome = Execute(plan);
    if (EndsAlike(strike) && outcome.violations.empty() && outcome.rests != whole.rests) {
      const auto differ = std::ranges::mismatch(outcome.rests, whole.rests);
      outcome.violations.push_back("N-5: it leaves other than a life that is not struck: " +
                                   *differ.in1 + ", not " + *differ.in2);
    }
    // What cannot hit there is none of the lives that are counted.
    if (outcome.faulted) lives.push_back({.spec = plan, .outcome = std::move(outcome)});
  };
  for (int at = 1; at <= whole.requests; ++at) {
    for (std::size_t i = 0; i < kAllPluginStrikes.size(); ++i) {
      if ((at + static_cast<int>(i)) % every == 0) live(kAllPluginStrikes[i], at, false);
    }
    if (at % every == 0) live(PluginStrike::kCrashAfter, at, true);
  }
  lives.push_back({.spec = base, .outcome = whole});
  return lives;
}

}  // namespace simulation
