#include "test/simulation/scenarios/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace simulation {
namespace {

// It has a phase for each way to join and to leave.
constexpr const char* kLongScenario = "join-leave-rejoin";

TEST(ShortTail, IsCleanAndShorterThanAFullOne) {
  RunSpec spec = {.scenario = kLongScenario, .fault = Fault::kCrashAfter, .at = 12};
  const Outcome full_run = Execute(spec);
  spec.short_tail = true;
  const Outcome short_run = Execute(spec);
  EXPECT_EQ(short_run.violations, std::vector<std::string>());
  EXPECT_TRUE(short_run.faulted);
  EXPECT_LT(short_run.requests, full_run.requests * 9 / 10);
}

TEST(ShortTail, IsFull_WithoutAFault) {
  const RunSpec full_run = {.scenario = kLongScenario};
  RunSpec short_run = full_run;
  short_run.short_tail = true;
  EXPECT_EQ(Execute(short_run, true).trace, Execute(full_run, true).trace);
}

TEST(Sweep, MostRunsOfASampleHaveAShortTail_AndAreTheRunsOfTheirSpecs) {
  const std::vector<RunResult> runs =
      Sweep({.scenario = kLongScenario}, {Fault::kCrashAfter}, 7, true);
  const auto short_run =
      std::ranges::count_if(runs, [](const RunResult& run) { return run.spec.short_tail; });
  EXPECT_GT(short_run, std::ssize(runs) / 2);
  EXPECT_LT(short_run, std::ssize(runs) - 1) << "no run with a fault has a full tail";
  for (const RunResult& run : runs) {
    EXPECT_EQ(run.outcome.trace, Execute(run.spec, true).trace) << ToString(run.spec);
  }
}

// Types and reasons of the Events that the controller has recorded at the end of the run.
std::set<std::string> ReasonsIn(const RunSpec& spec) {
  World world(spec, false);
  world.Execute();
  EXPECT_EQ(world.outcome().violations, Violations());
  std::set<std::string> reasons;
  for (const auto& [key, event] : world.All(Kind::kEvent)) {
    const bool is_the_controllers =
        (*event)["reportingController"].AsString() == "cdom.dev/compute-domain-controller" &&
        (*event)["regarding"]["kind"].AsString() == "ComputeDomain";
    if (is_the_controllers) {
      reasons.insert((*event)["type"].AsString() + " " + (*event)["reason"].AsString());
    }
  }
  return reasons;
}

TEST(Events, OfTheControllerSayWhatHappenedToItsDomains) {
  EXPECT_EQ(ReasonsIn({.scenario = "create-ready-delete"}),
            std::set<std::string>({"Normal MembersLeaving", "Warning SpansCliques"}));
  EXPECT_EQ(ReasonsIn({.scenario = "template-name-taken"}),
            std::set<std::string>({"Normal AllMembersReady", "Warning TemplateNameTaken"}));
}

}  // namespace
}  // namespace simulation
