// Goal: what the other sweeps ask of the controller holds beside the product's own daemons, and
// what daemon_oracles.h asks of these, whatever strikes whichever of them. Method: the same, with
// the step of the daemon in every daemon pod instead of one that is played.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/simulation/mutants/expect_killed.h"
#include "test/simulation/scenarios/expect_clean.h"

namespace simulation {
namespace {

struct Manner {
  const char* workload;
  bool controller_writes;
  int every;  // How many requests in a row share one blow of each strike.
};
void PrintTo(const Manner& manner, std::ostream* out) {
  *out << manner.workload << (manner.controller_writes ? " cdom" : " reference");
}
std::string NameOf(const testing::TestParamInfo<Manner>& info) {
  return std::string(info.param.workload) + (info.param.controller_writes ? "Cdom" : "Reference");
}

class DaemonSweep : public testing::TestWithParam<Manner> {
 protected:
  static Plan Base() {
    return {.workload = GetParam().workload,
            .controller_writes = GetParam().controller_writes,
            .own_daemons = true};
  }
};

int EveryOf(const Manner& manner) {
  // Lives are many here as it is, and of a thin sample too few would be struck.
  return kEveryRequest ? 1 : manner.every * std::max(kCoarser / 5, 1);
}

TEST_P(DaemonSweep, ALifeWithoutFaultsIsCleanAndQuiet) {
  const Life life = {.plan = Base(), .outcome = Live(Base())};
  ExpectClean(std::vector{life}, 0);
  EXPECT_GT(life.outcome.requests, 15);
}

TEST_P(DaemonSweep, WhateverStrikesWhereverIsMadeGood) {
  std::cerr << "[ sampled  ] each strike at one request in " << EveryOf(GetParam()) << "\n";
  std::vector<Blow> strikes(kAllStrikes.begin(), kAllStrikes.end());
  std::erase_if(strikes, [](const Blow& b) { return b.strike == Strike::kViewsStall; });
  ExpectSwept(Base(), strikes, EveryOf(GetParam()));
}

// F7: of the process that follows a crash one watch is behind for a while.
TEST_P(DaemonSweep, F7_AStaleFirstListAfterACrashHarmsNothing) {
  const std::vector<Blow> blows = {{Strike::kCrashAfter, "computedomaincliques"},
                                   {Strike::kCrashAfter, "pods"}};
  ExpectSwept(Base(), blows, EveryOf(GetParam()));
}

TEST_P(DaemonSweep, S14_TwoLeadersDoNoHarmHoweverTheyInterleave) {
  std::vector<Life> lives;
  Plan plan = Base();
  plan.two_leaders = true;
  lives.push_back({.plan = plan, .outcome = Live(plan)});
  ExpectClean(lives, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Lives, DaemonSweep,
    testing::Values(Manner{"W1", true, 17}, Manner{"W1", false, 17}, Manner{"W3", true, 31},
                    Manner{"W3", false, 31}, Manner{"W6", true, 53}, Manner{"W6", false, 53},
                    Manner{"W8", true, 101}, Manner{"W8", false, 101}, Manner{"W15", true, 67},
                    Manner{"W15", false, 67}, Manner{"W21", true, 67}, Manner{"W21", false, 67},
                    Manner{"W23", true, 31}, Manner{"W23", false, 31}, Manner{"W25", true, 29},
                    Manner{"W25", false, 41}, Manner{"W26", true, 37}, Manner{"W26", false, 53}),
    NameOf);

// Numbers of the requests by which the controller deletes a daemon pod, in a life that nothing
// strikes: all that is said of such a life but what users do, and watches, which have numbers of
// their own, are its requests, in turn.
std::vector<int> DeletionsOfDaemons(const Plan& plan) {
  std::vector<int> numbers;
  int number = 0;
  for (const std::string& line : Live(plan, true).trace) {
    const bool is_other = line.starts_with("log: ") || line.find(" ms -- ") != std::string::npos ||
                          line.find(" WATCH ") != std::string::npos;
    if (is_other) continue;
    ++number;
    const bool is_one =
        line.find(" controller-") != std::string::npos &&
        line.find(" DELETE /api/v1/namespaces/cdom-system/pods/") != std::string::npos;
    if (is_one) numbers.push_back(number);
  }
  return numbers;
}

// A daemon that a refused request has kept is not taken for replaced, and is replaced in the end;
// and one that has yet to say its clique is away from none.
TEST(DaemonSweepOnce, C5_LivesInWhichARollWasHinderedEndAsTheyShould) {
  std::vector<Life> lives;
  for (const bool writes : {true, false}) {
    const Plan roll = {.workload = "W8", .controller_writes = writes, .own_daemons = true};
    const std::vector<int> deletions = DeletionsOfDaemons(roll);
    EXPECT_GE(deletions.size(), 4U) << "one for each daemon";
    for (const int at : deletions) {
      Plan plan = roll;
      plan.at = at;
      plan.strike = lives.size() % 2 == 0 ? Strike::kConflict : Strike::kForbidden;
      lives.push_back({.plan = plan, .outcome = Live(plan)});
    }
  }
  ExpectClean(lives, static_cast<int>(lives.size()));
}

class DaemonMutant : public testing::TestWithParam<int> {};

TEST_P(DaemonMutant, IsNoticedByItsOracleWhileTheProductPasses) {
  ExpectKilled(DaemonMutants()[static_cast<std::size_t>(GetParam())]);
}

INSTANTIATE_TEST_SUITE_P(Rules, DaemonMutant,
                         testing::Range(0, static_cast<int>(DaemonMutants().size())),
                         [](const auto& param) { return TestName(DaemonMutants(), param.param); });

}  // namespace
}  // namespace simulation
