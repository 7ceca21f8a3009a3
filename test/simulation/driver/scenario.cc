#include "test/simulation/driver/scenario.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "pkg/base/check.h"

namespace simulation {

namespace {

constexpr std::array<std::pair<PluginFault, std::string_view>, 22> kFaultNames = {{
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
    {PluginFault::kDriverUnreadable, "driver-unreadable"},
    {PluginFault::kGpuLost, "gpu-lost"},
}};

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
  std::string text = spec.program->name + " scenario=" + spec.scenario;
  if (spec.fault != PluginFault::kNone)
    text += " fault=" + ToString(spec.fault) + " at=" + std::to_string(spec.at);
  if (spec.stale) text += " stale=yes";
  if (spec.is_rolling) text += " rolling=yes";
  if (!spec.mutant.empty()) text += " mutant=" + spec.mutant;
  return text;
}

PluginRunSpec ParsePluginRunSpec(const PluginProgram& program,
                                 const std::vector<std::string>& words, std::string& error) {
  PluginRunSpec spec = {.program = &program};
  for (const std::string& word : words) {
    const std::string scenario = ValueOf(word, "scenario");
    const std::string at = ValueOf(word, "at");
    const std::string mutant = ValueOf(word, "mutant");
    const auto fault = std::ranges::find(kFaultNames, ValueOf(word, "fault"),
                                         &decltype(kFaultNames)::value_type::second);
    if (word == "stale=yes") {
      spec.stale = true;
    } else if (word == "rolling=yes") {
      spec.is_rolling = true;
    } else if (program.has_scenario(scenario)) {
      spec.scenario = scenario;
    } else if (fault != kFaultNames.end()) {
      spec.fault = fault->first;
    } else if (!at.empty()) {
      std::from_chars(at.data(), at.data() + at.size(), spec.at);
    } else if (program.has_mutant(mutant)) {
      spec.mutant = mutant;
    } else {
      error = "what is " + word + "?";
    }
  }
  if (spec.scenario.empty() && error.empty()) error = "which scenario?";
  return spec;
}

PluginOutcome Execute(const PluginRunSpec& spec, bool trace) {
  return spec.program->execute(spec, trace);
}

std::vector<PluginRunResult> SweepPlugins(const PluginRunSpec& base, int every) {
  CHECK(base.fault == PluginFault::kNone && every > 0);
  const std::vector<PluginFault>& faults = base.program->faults;
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
    for (std::size_t i = 0; i < faults.size(); ++i) {
      if ((at + static_cast<int>(i)) % every == 0) run(faults[i], at, false);
    }
    if (at % every == 0) run(PluginFault::kCrashAfter, at, true);
  }
  results.push_back({.spec = base, .outcome = whole});
  return results;
}

}  // namespace simulation
