#include "test/simulation/scenarios/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace simulation {
namespace {

// W6 has a phase for each way to join and to leave.
constexpr const char* kLong = "W6";

TEST(BriefLife, IsCleanAndShorterThanTheWholeOne) {
  Plan plan = {.workload = kLong, .strike = Strike::kCrashAfter, .at = 12};
  const Outcome whole = Live(plan);
  plan.brief = true;
  const Outcome brief = Live(plan);
  EXPECT_EQ(brief.violations, std::vector<std::string>());
  EXPECT_TRUE(brief.struck);
  EXPECT_LT(brief.requests, whole.requests * 3 / 4);
}

TEST(BriefLife, IsWholeWhereNothingStrikes) {
  const Plan whole = {.workload = kLong};
  Plan brief = whole;
  brief.brief = true;
  EXPECT_EQ(Live(brief, true).trace, Live(whole, true).trace);
}

TEST(Sweep, MostLivesOfASampleAreBriefAndEachIsTheOneThatItsPlanLives) {
  const std::vector<Life> lives = Sweep({.workload = kLong}, {Strike::kCrashAfter}, 11, true);
  const auto brief = std::ranges::count_if(lives, [](const Life& life) { return life.plan.brief; });
  EXPECT_GT(brief, std::ssize(lives) / 2);
  EXPECT_LT(brief, std::ssize(lives) - 1) << "none of those that are struck is whole";
  for (const Life& life : lives) {
    EXPECT_EQ(life.outcome.trace, Live(life.plan, true).trace) << ToString(life.plan);
  }
}

// The reasons of the controller's Events of its domains that are there when the life is over.
std::set<std::string> ToldIn(const Plan& plan) {
  World world(plan, false);
  world.Live();
  EXPECT_EQ(world.outcome().violations, Violations());
  std::set<std::string> reasons;
  for (const auto& [key, event] : world.All(Kind::kEvent)) {
    const bool is_the_controllers =
        (*event)["reportingController"].AsString() == "cdom.dev/compute-domain-controller" &&
        (*event)["regarding"]["kind"].AsString() == "ComputeDomain";
    if (is_the_controllers) reasons.insert((*event)["reason"].AsString());
  }
  return reasons;
}

TEST(Events, OfTheControllerTellWhatBefellItsDomains) {
  EXPECT_EQ(ToldIn({.workload = "W1"}),
            std::set<std::string>({"AllMembersReady", "MembersNotReady"}));
  EXPECT_EQ(ToldIn({.workload = "W16"}),
            std::set<std::string>({"AllMembersReady", "TemplateNameTaken"}));
}

}  // namespace
}  // namespace simulation
