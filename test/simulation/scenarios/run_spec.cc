#include "test/simulation/scenarios/run_spec.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "test/simulation/mutants/mutants.h"
#include "test/simulation/scenarios/scenarios.h"

namespace simulation {

namespace {

constexpr std::array<std::pair<Fault, std::string_view>, 23> kFaultNames = {{
    {Fault::kNone, "none"},
    {Fault::kCrashBefore, "crash-before"},
    {Fault::kCrashAfter, "crash-after"},
    {Fault::kReplyLost, "reply-lost"},
    {Fault::kConflict, "conflict"},
    {Fault::kForbidden, "forbidden"},
    {Fault::kTooManyRequests, "too-many-requests"},
    {Fault::kServerError, "server-error"},
    {Fault::kUserDeletes, "user-deletes"},
    {Fault::kUserRecreates, "user-recreates"},
    {Fault::kWatchesExpire, "watches-expire"},
    {Fault::kNodeLost, "node-lost"},
    {Fault::kFreezes, "freezes"},
    {Fault::kWatchBreaks, "watch-breaks"},
    {Fault::kViewsStall, "views-stall"},
    {Fault::kReadsFail, "reads-fail"},
    {Fault::kImexEnds, "imex-ends"},
    {Fault::kDaemonDies, "daemon-dies"},
    {Fault::kForeignNotFound, "foreign-404"},
    {Fault::kForeignConflict, "foreign-409"},
    {Fault::kWatchesSilent, "watches-silent"},
    {Fault::kRestored, "restored"},
    {Fault::kKindUnknown, "kind-unknown"},
}};
static_assert(kFaultNames.size() == kAllFaults.size() + 1);

}  // namespace

bool IsOfKinds(Fault fault) {
  return fault == Fault::kViewsStall || FailsReads(fault) || fault == Fault::kWatchesSilent ||
         fault == Fault::kRestored;
}

bool FailsReads(Fault fault) { return fault == Fault::kReadsFail || fault == Fault::kKindUnknown; }

bool IsPlain(const RunSpec& spec) {
  return spec.fault == Fault::kNone && !spec.two_leaders && !spec.standby && !spec.mixed &&
         !spec.flaky_watches;
}

bool ChangesNothing(const RunSpec& spec) {
  switch (spec.fault) {
    case Fault::kNone:
    case Fault::kCrashBefore:
    case Fault::kCrashAfter:
    case Fault::kReplyLost:
    case Fault::kConflict:
    case Fault::kForbidden:
    case Fault::kTooManyRequests:
    case Fault::kServerError:
    case Fault::kWatchesExpire:
    case Fault::kFreezes:
    case Fault::kWatchBreaks:
    case Fault::kViewsStall:
    case Fault::kReadsFail:
    case Fault::kForeignNotFound:
    case Fault::kForeignConflict:
    case Fault::kWatchesSilent:
    case Fault::kRestored:
    case Fault::kKindUnknown:
      return true;
    case Fault::kUserDeletes:
    case Fault::kUserRecreates:
    case Fault::kNodeLost:
    case Fault::kImexEnds:
    case Fault::kDaemonDies:
      return false;
  }
  return false;
}

Views ParseStale(const std::string& stale, std::int64_t first) {
  Views views;
  std::istringstream text(stale);
  for (std::string word; std::getline(text, word, '+');) {
    const std::size_t at = word.find('@');
    views[word.substr(0, at)] = at == std::string::npos ? first : std::stoll(word.substr(at + 1));
  }
  return views;
}

std::string ToString(Fault fault) {
  return std::string(
      std::ranges::find(kFaultNames, fault, &decltype(kFaultNames)::value_type::first)->second);
}

std::string WriterName(bool controller_writes) {
  return controller_writes ? "controller" : "daemon";
}

std::string ToString(const RunSpec& spec) {
  std::string text = "scenario=" + spec.scenario;
  text += " writer=" + WriterName(spec.controller_writes);
  if (spec.own_daemons) text += " daemons=own";
  text += " fault=" + ToString(spec.fault);
  text += " at=" + std::to_string(spec.at);
  if (spec.watch > 0) text += " watch=" + std::to_string(spec.watch);
  if (!spec.stale.empty()) text += " stale=" + spec.stale;
  if (spec.mixed) text += " order=mixed";
  if (spec.flaky_watches) text += " watches=flaky";
  if (spec.two_leaders) text += " leaders=2";
  if (spec.standby) text += " replicas=2";
  text += " seed=" + std::to_string(spec.seed);
  if (spec.short_tail) text += " tail=short";
  if (!spec.mutant.empty()) text += " mutant=" + spec.mutant;
  return text;
}

RunSpec ParseRunSpec(const std::vector<std::string>& words, std::string& error) {
  RunSpec spec;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    const bool is_number = !value.empty() && value.size() < 10 &&
                           value.find_first_not_of("0123456789") == std::string::npos;
    const auto fault =
        std::ranges::find(kFaultNames, value, &decltype(kFaultNames)::value_type::second);
    if (name == "scenario" && FindScenario(value) != nullptr) {
      spec.scenario = FindScenario(value)->name;
    } else if (name == "writer" && (value == "controller" || value == "daemon")) {
      spec.controller_writes = value == "controller";
    } else if (name == "daemons" && (value == "own" || value == "played")) {
      spec.own_daemons = value == "own";
    } else if (name == "fault" && fault != kFaultNames.end()) {
      spec.fault = fault->first;
    } else if (name == "at" && is_number) {
      spec.at = std::stoi(value);
    } else if (name == "watch" && is_number) {
      spec.watch = std::stoi(value);
    } else if (name == "seed" && is_number) {
      spec.seed = std::stoull(value);
    } else if (name == "leaders" && (value == "1" || value == "2")) {
      spec.two_leaders = value == "2";
    } else if (name == "replicas" && (value == "1" || value == "2")) {
      spec.standby = value == "2";
    } else if (name == "order" && (value == "fixed" || value == "mixed")) {
      spec.mixed = value == "mixed";
    } else if (name == "watches" && (value == "stable" || value == "flaky")) {
      spec.flaky_watches = value == "flaky";
    } else if (name == "tail" && (value == "full" || value == "short")) {
      spec.short_tail = value == "short";
    } else if (name == "stale" &&
               value.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+@") ==
                   std::string::npos) {
      spec.stale = value;
    } else if (name == "mutant" && FindMutant(value) != nullptr) {
      spec.mutant = value;
    } else {
      error = "'" + word + "' is not part of a run, such as: " + ToString(RunSpec());
    }
  }
  return spec;
}

}  // namespace simulation
