#include "test/simulation/scenarios/scenario.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "test/simulation/mutants/mutants.h"
#include "test/simulation/scenarios/scripts.h"

namespace simulation {

namespace {

constexpr std::array<std::pair<Strike, std::string_view>, 17> kStrikeNames = {{
    {Strike::kNone, "none"},
    {Strike::kCrashBefore, "crash-before"},
    {Strike::kCrashAfter, "crash-after"},
    {Strike::kReplyLost, "reply-lost"},
    {Strike::kConflict, "conflict"},
    {Strike::kForbidden, "forbidden"},
    {Strike::kTooManyRequests, "too-many-requests"},
    {Strike::kServerError, "server-error"},
    {Strike::kUserDeletes, "user-deletes"},
    {Strike::kUserRecreates, "user-recreates"},
    {Strike::kWatchesExpire, "watches-expire"},
    {Strike::kNodeLost, "node-lost"},
    {Strike::kFreezes, "freezes"},
    {Strike::kWatchBreaks, "watch-breaks"},
    {Strike::kViewsStall, "views-stall"},
    {Strike::kImexEnds, "imex-ends"},
    {Strike::kDaemonDies, "daemon-dies"},
}};
static_assert(kStrikeNames.size() == kAllStrikes.size() + 1);

}  // namespace

bool IsPlain(const Plan& plan) {
  return plan.strike == Strike::kNone && !plan.two_leaders && !plan.standby && !plan.mixed &&
         !plan.frail_watches;
}

bool ChangesNothing(const Plan& plan) {
  switch (plan.strike) {
    case Strike::kNone:
    case Strike::kCrashBefore:
    case Strike::kCrashAfter:
    case Strike::kReplyLost:
    case Strike::kConflict:
    case Strike::kForbidden:
    case Strike::kTooManyRequests:
    case Strike::kServerError:
    case Strike::kWatchesExpire:
    case Strike::kFreezes:
    case Strike::kWatchBreaks:
    case Strike::kViewsStall:
      return true;
    case Strike::kUserDeletes:
    case Strike::kUserRecreates:
    case Strike::kNodeLost:
    case Strike::kImexEnds:
    case Strike::kDaemonDies:
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

std::string ToString(Strike strike) {
  return std::string(
      std::ranges::find(kStrikeNames, strike, &decltype(kStrikeNames)::value_type::first)->second);
}

std::string ToString(const Plan& plan) {
  std::string text = "workload=" + plan.workload;
  text += plan.controller_writes ? " manner=cdom" : " manner=reference";
  if (plan.own_daemons) text += " daemons=own";
  text += " strike=" + ToString(plan.strike);
  text += " at=" + std::to_string(plan.at);
  if (plan.watch > 0) text += " watch=" + std::to_string(plan.watch);
  if (!plan.stale.empty()) text += " stale=" + plan.stale;
  if (plan.mixed) text += " order=mixed";
  if (plan.frail_watches) text += " watches=frail";
  if (plan.two_leaders) text += " leaders=2";
  if (plan.standby) text += " replicas=2";
  text += " seed=" + std::to_string(plan.seed);
  if (plan.brief) text += " end=brief";
  if (!plan.mutant.empty()) text += " mutant=" + plan.mutant;
  return text;
}

Plan ParsePlan(const std::vector<std::string>& words, std::string& error) {
  Plan plan;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    const bool is_number = !value.empty() && value.size() < 10 &&
                           value.find_first_not_of("0123456789") == std::string::npos;
    const auto strike =
        std::ranges::find(kStrikeNames, value, &decltype(kStrikeNames)::value_type::second);
    if (name == "workload" && FindScript(value) != nullptr) {
      plan.workload = value;
    } else if (name == "manner" && (value == "cdom" || value == "reference")) {
      plan.controller_writes = value == "cdom";
    } else if (name == "daemons" && (value == "own" || value == "played")) {
      plan.own_daemons = value == "own";
    } else if (name == "strike" && strike != kStrikeNames.end()) {
      plan.strike = strike->first;
    } else if (name == "at" && is_number) {
      plan.at = std::stoi(value);
    } else if (name == "watch" && is_number) {
      plan.watch = std::stoi(value);
    } else if (name == "seed" && is_number) {
      plan.seed = std::stoull(value);
    } else if (name == "leaders" && (value == "1" || value == "2")) {
      plan.two_leaders = value == "2";
    } else if (name == "replicas" && (value == "1" || value == "2")) {
      plan.standby = value == "2";
    } else if (name == "order" && (value == "fixed" || value == "mixed")) {
      plan.mixed = value == "mixed";
    } else if (name == "watches" && (value == "sound" || value == "frail")) {
      plan.frail_watches = value == "frail";
    } else if (name == "end" && (value == "full" || value == "brief")) {
      plan.brief = value == "brief";
    } else if (name == "stale" &&
               value.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+@") ==
                   std::string::npos) {
      plan.stale = value;
    } else if (name == "mutant" && FindMutant(value) != nullptr) {
      plan.mutant = value;
    } else {
      error = "'" + word + "' is not part of a plan, such as: " + ToString(Plan());
    }
  }
  return plan;
}

}  // namespace simulation
