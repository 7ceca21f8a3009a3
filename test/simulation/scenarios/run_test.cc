#include "test/simulation/scenarios/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "test/simulation/scenarios/scenarios.h"

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

TEST(RunSpec, IsReadBackFromItsOwnText) {
  for (const Fault fault : kAllFaults) {
    const RunSpec spec = {.scenario = "clique-full",
                          .controller_writes = true,
                          .own_daemons = true,
                          .fault = fault,
                          .at = 17,
                          .watch = 5,
                          .stale = "nodes+pods@1017",
                          .mixed = true,
                          .flaky_watches = true,
                          .two_leaders = true,
                          .standby = true,
                          .seed = 9,
                          .short_tail = true,
                          .mutant = "tear-down-forgets-a-role"};
    std::istringstream text(ToString(spec));
    std::vector<std::string> words;
    for (std::string word; text >> word;) words.push_back(word);
    std::string error;
    EXPECT_EQ(ToString(ParseRunSpec(words, error)), ToString(spec));
    EXPECT_EQ(error, "");
  }
  for (const char* wrong : {"fault=never", "end=soon", "tail=brief", "writer=x", "scenario=x",
                            "mutant=x", "at=", "watch=x", "watches=x", "seed", "stale=Pods"}) {
    std::string error;
    (void)ParseRunSpec({wrong}, error);
    EXPECT_NE(error, "") << wrong;
  }
}

TEST(Scenarios, HaveNamesOfTheirOwn) {
  for (const Scenario& scenario : Scenarios()) {
    EXPECT_EQ(FindScenario(scenario.name), &scenario) << scenario.name;
  }
}

TEST(Run, EqualSpecsGiveEqualRuns) {
  for (const bool two_leaders : {false, true}) {
    const RunSpec spec = {
        .fault = Fault::kCrashAfter, .at = 12, .two_leaders = two_leaders, .seed = 3};
    EXPECT_EQ(Execute(spec, true).trace, Execute(spec, true).trace);
  }
}

// What the controller writes, in turn, but the Lease.
std::vector<std::string> WritesOf(const RunSpec& spec) {
  std::vector<std::string> writes;
  for (const std::string& line : Execute(spec, true).trace) {
    const std::size_t at = line.find(" controller-1 ");
    const bool is_write = at != std::string::npos && line.find(" WATCH ") == std::string::npos &&
                          line.find(" GET ") == std::string::npos &&
                          line.find("/leases") == std::string::npos;
    if (is_write) writes.push_back(line.substr(at));
  }
  return writes;
}

// Without it a seed changes only random waits.
TEST(Run, MixedOrderIsWhatItsSeedSays) {
  const RunSpec in_turn = {.seed = 1};
  RunSpec other = in_turn;
  other.seed = 2;
  EXPECT_EQ(WritesOf(in_turn), WritesOf(other));
  const RunSpec mixed = {.mixed = true, .seed = 1};
  RunSpec other_mixed = mixed;
  other_mixed.seed = 2;
  EXPECT_NE(WritesOf(mixed), WritesOf(in_turn));
  EXPECT_NE(WritesOf(mixed), WritesOf(other_mixed));
  EXPECT_EQ(Execute(mixed, true).trace, Execute(mixed, true).trace);
}

}  // namespace
}  // namespace simulation
