#include "test/simulation/plugin/scenario.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "pkg/base/check.h"
#include "test/simulation/plugin/mutants.h"
#include "test/simulation/plugin/world.h"

namespace simulation {

namespace {

constexpr std::array<std::pair<PluginFault, std::string_view>, 20> kFaultNames = {{
    {PluginFault::kNone, "none"},
    {PluginFault::kCrashBefore, "crash-before"},
    {PluginFault::kCrashAfter, "crash-after"},
    {PluginFault::kFails, "fails"},
    {PluginFault::kReplyLost, "reply-lost"},
    {PluginFault::kForbidden, "forbidden"},
    {PluginFault::kConflict, "conflict"},
    {PluginFault::kTorn, "torn"},
    {PluginFault::kDomainDeleted, "domain-deleted"},
    {PluginFault::kReboot, "reboot"},
    {PluginFault::kRebootKeepsSpecs, "reboot-keeps-specs"},
    {PluginFault::kKubeletRestarts, "kubelet-restarts"},
    {PluginFault::kKubeletCancels, "kubelet-cancels"},
    {PluginFault::kWatchesExpire, "watches-expire"},
    {PluginFault::kCallComesAgain, "call-comes-again"},
    {PluginFault::kKubeletForgets, "kubelet-forgets"},
    {PluginFault::kFilesLost, "files-lost"},
    {PluginFault::kDriverReloads, "driver-reloads"},
    {PluginFault::kPluginRolls, "plugin-rolls"},
    {PluginFault::kLockHeld, "lock-held"},
}};
static_assert(kFaultNames.size() == kAllPluginFaults.size() + 1);

// The value of "name=value". Empty if the word is another.
std::string ValueOf(const std::string& word, const std::string& name) {
  return word.starts_with(name + "=") ? word.substr(name.size() + 1) : "";
}

// Whether the nodes are left as by a run without the fault. A lost folder comes back only if a
// daemon needs it.
bool EndsAlike(PluginFault fault) {
  return fault != PluginFault::kDomainDeleted && fault != PluginFault::kFilesLost;
}

}  // namespace

std::string ToString(PluginFault fault) {
  return std::string(
      std::ranges::find(kFaultNames, fault, &decltype(kFaultNames)::value_type::first)->second);
}

std::string ToString(const PluginRunSpec& spec) {
  std::string text = "plugin scenario=" + spec.scenario;
  if (spec.fault != PluginFault::kNone)
    text += " fault=" + ToString(spec.fault) + " at=" + std::to_string(spec.at);
  if (spec.stale) text += " stale=yes";
  if (spec.is_rolling) text += " rolling=yes";
  if (!spec.mutant.empty()) text += " mutant=" + spec.mutant;
  return text;
}

PluginRunSpec ParsePluginRunSpec(const std::vector<std::string>& words, std::string& error) {
  PluginRunSpec spec;
  for (const std::string& word : words) {
    if (word == "plugin") continue;
    if (word == "stale=yes") {
      spec.stale = true;
    } else if (word == "rolling=yes") {
      spec.is_rolling = true;
    } else if (const auto* scenario = FindPluginScenario(ValueOf(word, "scenario"))) {
      spec.scenario = scenario->name;
    } else if (const auto fault = std::ranges::find(kFaultNames, ValueOf(word, "fault"),
                                                    &decltype(kFaultNames)::value_type::second);
               fault != kFaultNames.end()) {
      spec.fault = fault->first;
    } else if (const auto at = ValueOf(word, "at"); !at.empty()) {
      std::from_chars(at.data(), at.data() + at.size(), spec.at);
    } else if (const auto mutant = ValueOf(word, "mutant");
               !mutant.empty() && FindPluginMutant(mutant) != nullptr) {
      spec.mutant = mutant;
    } else {
      error = "what is " + word + "?";
    }
  }
  return spec;
}

PluginOutcome Execute(const PluginRunSpec& spec, bool trace) {
  PluginWorld world(spec, trace);
  world.Run();
  return world.outcome();
}

std::vector<PluginRunResult> SweepPlugins(const PluginRunSpec& base, int every) {
  CHECK(base.fault == PluginFault::kNone && every > 0);
  const PluginOutcome whole = Execute(base);
  std::vector<PluginRunResult> results;
  const auto run = [&](PluginFault fault, int at, bool stale) {
    PluginRunSpec spec = base;
    spec.fault = fault;
    spec.at = at;
    spec.stale = stale;
    PluginOutcome outcome = Execute(spec);
    if (EndsAlike(fault) && outcome.violations.empty() && outcome.rests != whole.rests) {
      const auto differ = std::ranges::mismatch(outcome.rests, whole.rests);
      outcome.violations.push_back("N-5: it leaves other than a run without the fault: " +
                                   *differ.in1 + ", not " + *differ.in2);
    }
    // A fault that cannot happen there does not count.
    if (outcome.faulted) results.push_back({.spec = spec, .outcome = std::move(outcome)});
  };
  for (int at = 1; at <= whole.requests; ++at) {
    for (std::size_t i = 0; i < kAllPluginFaults.size(); ++i) {
      if ((at + static_cast<int>(i)) % every == 0) run(kAllPluginFaults[i], at, false);
    }
    if (at % every == 0) run(PluginFault::kCrashAfter, at, true);
  }
  results.push_back({.spec = base, .outcome = whole});
  return results;
}

}  // namespace simulation
