// Goal: wherever a request fails or the controller dies, a domain ends converged, a deleted one
// leaves nothing behind, and nothing that lives is harmed on the way. Method: live a whole life,
// and at request 1, 2, 3, ... of it let the same life go on with a strike there, in a branch of the
// process. Every life is judged by the oracles over the truth and the request log.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "controller/compute_domain/cache/cache.h"
#include "test/simulation/apiserver/contract.h"
#include "test/simulation/apiserver/target.h"
#include "test/simulation/mutants/expect_killed.h"
#include "test/simulation/scenarios/expect_clean.h"

namespace simulation {
namespace {

struct Manner {
  const char* workload;
  bool controller_writes;
};
void PrintTo(const Manner& manner, std::ostream* out) {
  *out << manner.workload << (manner.controller_writes ? " cdom" : " reference");
}
constexpr std::array kManners = {Manner{"W1", false}, Manner{"W1", true}, Manner{"W3", false},
                                 Manner{"W3", true}};

class FaultSweep : public testing::TestWithParam<Manner> {
 protected:
  static Plan Base() {
    return {.workload = GetParam().workload, .controller_writes = GetParam().controller_writes};
  }
};

TEST_P(FaultSweep, ALifeWithoutFaultsIsCleanAndQuiet) {
  const Life life = {.plan = Base(), .outcome = Live(Base())};
  ExpectClean(std::vector{life}, 0);
  EXPECT_GT(life.outcome.requests, 15);
}

TEST_P(FaultSweep, F1_ACrashAfterAnyRequestIsMadeGood) {
  ExpectSwept(Base(), {Strike::kCrashAfter}, kCoarser);
}
TEST_P(FaultSweep, F2_ACrashBeforeAnyRequestIsMadeGood) {
  ExpectSwept(Base(), {Strike::kCrashBefore}, kCoarser);
}
TEST_P(FaultSweep, F3_ALostReplyToAnyRequestIsMadeGood) {
  ExpectSwept(Base(), {Strike::kReplyLost}, kCoarser);
}
TEST_P(FaultSweep, F6_AConflictAtAnyWriteIsMadeGood) {
  ExpectSwept(Base(), {Strike::kConflict}, kCoarser);
}
TEST_P(FaultSweep, F24_TheUserMayDeleteTheDomainAtAnyRequest) {
  ExpectSwept(Base(), {Strike::kUserDeletes}, kCoarser);
}

INSTANTIATE_TEST_SUITE_P(Lives, FaultSweep, testing::ValuesIn(kManners), [](const auto& param) {
  return std::string(param.param.workload) + (param.param.controller_writes ? "Cdom" : "Reference");
});

// F7: after a crash anywhere, one kind's first LIST is older than the domain.
class StaleFirstList : public testing::TestWithParam<const char*> {};

TEST_P(StaleFirstList, F7_HarmsNothingAndIsMadeGood) {
  for (const bool controller_writes : {false, true}) {
    ExpectSwept({.workload = "W1", .controller_writes = controller_writes},
                {{Strike::kCrashAfter, GetParam()}}, kCoarser);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, StaleFirstList, testing::ValuesIn(kWatchedKinds),
                         [](const auto& param) { return std::string(param.param); });

TEST(WatchedKinds, AreAllThatTheControllerWatches) {
  World world({}, false);
  world.Live();
  std::set<std::string> watched;
  for (const RequestRecord& request : world.cluster().server().requests()) {
    const bool is_one = request.client.starts_with("controller-") &&
                        request.target.verb == "watch" && request.target.kind != nullptr;
    if (is_one) watched.insert(request.target.kind->resource.plural);
  }
  EXPECT_EQ(watched, std::set<std::string>(kWatchedKinds.begin(), kWatchedKinds.end()));
}

TEST(TwoLeaders, S14_DoNoHarmHoweverTheyInterleave) {
  std::vector<Life> lives;
  const auto seeds = static_cast<std::uint64_t>(std::max(16 / kCoarser, 1));
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const Manner& manner : kManners) {
      const Plan plan = {.workload = manner.workload,
                         .controller_writes = manner.controller_writes,
                         .two_leaders = true,
                         .seed = seed};
      lives.push_back({.plan = plan, .outcome = Live(plan)});
    }
  }
  ExpectClean(lives, 0);
}

// Lives in which the product once did wrong, each with what.
TEST(Regression, LivesThatWentWrongOnceEndAsTheyShould) {
  std::vector<Life> lives;
  for (const char* text : {
           // Under a deletion that waits for a job status forgot members whose clique somebody had
           // deleted, and the clique made anew gave the index of one to another (S3).
           "workload=W15 manner=cdom strike=user-recreates at=97 order=mixed seed=5 end=brief",
           // A label that no pod followed, on a node that was silent, kept others waiting (L5).
           "workload=W15 manner=cdom strike=node-lost at=32 end=brief",
           // An old view of a clique made nodes Ready whose daemons were gone (S1).
           "workload=W7 strike=crash-after at=62 stale=computedomaincliques",
           // A create that failed in passing made a domain Ready that had no template (L1).
           "workload=W16 strike=server-error at=49",
           "workload=W16 manner=cdom strike=too-many-requests at=50",
           // An old view of a domain that is gone made its template over and over (L6).
           "workload=W5 strike=crash-after at=85 stale=computedomains@1250+pods@1250 end=brief",
           "workload=W29 strike=crash-after at=99 stale=computedomains@1298",
           // Of an old view of a DaemonSet that is gone its clique was made over and over (L6).
           "workload=W15 manner=cdom strike=crash-after at=40 stale=daemonsets@1037+pods@1037 "
           "end=brief",
           // A clique that nobody may delete held a domain, and nobody said so (L2).
           "workload=W27 strike=node-lost at=90",
           // When to read again why pods wait ran away as time passed: it never rested (L6).
           "workload=W31 strike=forbidden at=7",
           // Of a daemon that crashed again after a reboot it was said that it comes up by itself,
           // and not why it does not (L1).
           "workload=W30 manner=cdom strike=node-lost watch=31 watches=frail end=brief",
           "workload=W30 strike=node-lost watch=31 watches=frail end=brief",
       }) {
    std::istringstream words(text);
    std::string error;
    const Plan plan = ParsePlan({std::istream_iterator<std::string>(words), {}}, error);
    ASSERT_EQ(error, "");
    lives.push_back({.plan = plan, .outcome = Live(plan)});
  }
  ExpectClean(lives, static_cast<int>(lives.size()));
}

class PlannerMutant : public testing::TestWithParam<int> {};

TEST_P(PlannerMutant, IsNoticedByItsOracleWhileTheProductPasses) {
  ExpectKilled(Mutants()[static_cast<std::size_t>(GetParam())]);
}

INSTANTIATE_TEST_SUITE_P(Rules, PlannerMutant,
                         testing::Range(0, static_cast<int>(Mutants().size())),
                         [](const auto& param) { return TestName(Mutants(), param.param); });

TEST(Plan, IsReadBackFromItsOwnText) {
  for (const Strike strike : kAllStrikes) {
    const Plan plan = {.workload = "W17",
                       .controller_writes = true,
                       .own_daemons = true,
                       .strike = strike,
                       .at = 17,
                       .watch = 5,
                       .stale = "nodes+pods@1017",
                       .mixed = true,
                       .frail_watches = true,
                       .two_leaders = true,
                       .standby = true,
                       .seed = 9,
                       .brief = true,
                       .mutant = "tear-down-forgets-a-role"};
    std::istringstream text(ToString(plan));
    std::vector<std::string> words;
    for (std::string word; text >> word;) words.push_back(word);
    std::string error;
    EXPECT_EQ(ToString(ParsePlan(words, error)), ToString(plan));
    EXPECT_EQ(error, "");
  }
  for (const char* wrong : {"strike=never", "end=soon", "workload=W99", "mutant=x",
                            "at=", "watch=x", "watches=x", "seed", "stale=Pods"}) {
    std::string error;
    (void)ParsePlan({wrong}, error);
    EXPECT_NE(error, "") << wrong;
  }
}

TEST(Life, EqualPlansGiveEqualLives) {
  for (const bool two_leaders : {false, true}) {
    const Plan plan = {
        .strike = Strike::kCrashAfter, .at = 12, .two_leaders = two_leaders, .seed = 3};
    EXPECT_EQ(Live(plan, true).trace, Live(plan, true).trace);
  }
}

// What the controller writes, in turn, but the Lease.
std::vector<std::string> WritesOf(const Plan& plan) {
  std::vector<std::string> writes;
  for (const std::string& line : Live(plan, true).trace) {
    const std::size_t at = line.find(" controller-1 ");
    const bool is_write = at != std::string::npos && line.find(" WATCH ") == std::string::npos &&
                          line.find(" GET ") == std::string::npos &&
                          line.find("/leases") == std::string::npos;
    if (is_write) writes.push_back(line.substr(at));
  }
  return writes;
}

// Else all that a seed changes is for how long is waited at random.
TEST(Life, MixedOrderIsWhatItsSeedSays) {
  const Plan in_turn = {.seed = 1};
  Plan other = in_turn;
  other.seed = 2;
  EXPECT_EQ(WritesOf(in_turn), WritesOf(other));
  const Plan mixed = {.mixed = true, .seed = 1};
  Plan other_mixed = mixed;
  other_mixed.seed = 2;
  EXPECT_NE(WritesOf(mixed), WritesOf(in_turn));
  EXPECT_NE(WritesOf(mixed), WritesOf(other_mixed));
  EXPECT_EQ(Live(mixed, true).trace, Live(mixed, true).trace);
}

TEST(Sweep, ALifeThatBranchesOffFromAMixedOneIsTheOneThatItsPlanLives) {
  const std::vector<Life> lives =
      Sweep({.mixed = true, .seed = 5},
            {Strike::kCrashAfter, Strike::kWatchBreaks, Blow::AtWatches(Strike::kServerError)},
            7 * kCoarser, true);
  EXPECT_GE(lives.size(), kCoarser == 1 ? 10U : 1U);
  for (const Life& life : lives) {
    const Outcome anew = Live(life.plan, true);
    EXPECT_EQ(life.outcome.trace, anew.trace) << ToString(life.plan);
    EXPECT_EQ(life.outcome.violations, anew.violations);
    EXPECT_EQ(life.outcome.passes_at_once, anew.passes_at_once);
  }
}

TEST(Sweep, ALifeThatBranchesOffIsTheOneThatItsPlanLives) {
  const std::vector<Life> lives =
      Sweep({.controller_writes = true}, {{Strike::kCrashAfter, "pods"}, Strike::kConflict},
            kCoarser, true);
  // Not every life: those of both strikes come in turn.
  const std::size_t step = kCoarser == 1 ? 15 : 5;
  for (std::size_t i = 0; i < lives.size(); i += step) {
    const Outcome anew = Live(lives[i].plan, true);
    EXPECT_EQ(lives[i].outcome.trace, anew.trace) << ToString(lives[i].plan);
    EXPECT_EQ(lives[i].outcome.struck, anew.struck);
    EXPECT_EQ(lives[i].outcome.violations, anew.violations);
  }
}

TEST(Sweep, OpeningsOfWatchesOfEveryKindAreStruckByNumbersOfTheirOwn) {
  const std::vector<Life> lives = Sweep(
      {}, {Blow::AtWatches(Strike::kForbidden), Blow::AtWatches(Strike::kWatchBreaks)}, 1, true);
  const int watches = lives.back().outcome.watches;
  std::set<std::string> kinds;
  EXPECT_EQ(lives.size(), static_cast<std::size_t>(2 * watches + 1));
  for (std::size_t i = 0; i + 1 < lives.size(); ++i) {
    const Life& life = lives[i];
    EXPECT_EQ(life.plan.at, 0);
    EXPECT_TRUE(life.outcome.struck) << ToString(life.plan);
    const auto is_struck = [](const std::string& line) { return line.ends_with("<- struck"); };
    const auto struck = std::ranges::find_if(life.outcome.trace, is_struck);
    ASSERT_NE(struck, life.outcome.trace.end());
    const std::size_t at = struck->find(" WATCH /api");
    ASSERT_NE(at, std::string::npos) << *struck;
    const Target target = ParseTarget(http::Method::kGet, struck->substr(struck->find('/', at)));
    EXPECT_EQ(target.verb, "watch");
    kinds.insert(target.kind->resource.plural);
    EXPECT_EQ(life.outcome.trace, Live(life.plan, true).trace) << ToString(life.plan);
  }
  RingLogger logger;
  compute_domain::Cache cache({std::string(kDriverNamespace)}, [](const std::string&) {}, logger);
  std::set<std::string> reflected;
  for (const auto& watch : cache.Watches()) reflected.insert(watch.options.resource.plural);
  EXPECT_EQ(kinds, reflected);
}

// So a sweep leaves nothing out where it does not branch off.
TEST(Sweep, AStrikeThatHitsNothingChangesNothing) {
  const std::vector<Strike> strikes = {Strike::kConflict, Strike::kUserDeletes};
  const std::vector<Life> lives = Sweep({}, {strikes.begin(), strikes.end()}, 1, true);
  const Life& not_struck = lives.back();
  EXPECT_FALSE(not_struck.outcome.struck);
  int hit_nothing = 0;
  for (const Strike strike : strikes) {
    for (int at = 1; at <= not_struck.outcome.requests; ++at) {
      const bool was_lived = std::ranges::any_of(
          lives, [&](const Life& l) { return l.plan.strike == strike && l.plan.at == at; });
      if (was_lived || ++hit_nothing % (8 * kCoarser) != 0) continue;
      const Outcome outcome = Live({.strike = strike, .at = at}, true);
      EXPECT_FALSE(outcome.struck);
      EXPECT_EQ(outcome.trace, not_struck.outcome.trace) << at;
    }
  }
  EXPECT_GT(hit_nothing, 20);
}

}  // namespace
}  // namespace simulation
