#include "controller/compute_domain/status/explanation/missing_plugins.h"

#include <gtest/gtest.h>

#include <functional>

#include "pkg/base/rfc3339.h"
#include "test/fixtures/observed.h"

namespace compute_domain {
namespace {

using fixtures::Converged;
using fixtures::Deleting;
using fixtures::Now;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Change = std::function<void(Observed&)>;
using Names = std::vector<std::string>;
using Times = std::map<std::string, base::Clock::TimePoint>;

// The plugin of node-1 publishes nothing, and this process saw it so for `since`.
Observed Without(seconds since, Observed observed = Converged()) {
  observed.facts.views.freshness[Kind::kResourceSlice] = Freshness::kFresh;
  observed.without_slices = {"node-1"};
  observed.memory.silent_since = {{"node-1", Now().monotonic - since}};
  return observed;
}

// Its daemon's pod was to have ended so long ago.
Observed WithDyingDaemon(seconds ago, Observed observed = Without(minutes(5))) {
  api::DaemonPod& pod = observed.children.daemon_pods[1];
  fixtures::Delete(pod.meta, {});
  pod.meta.deletion_timestamp = base::FormatSeconds(Now().wall - ago);
  return observed;
}

// ---- FindSilentNodes

Times SilentAfter(Observed observed, const Times& before, base::Clock::TimePoint now) {
  observed.memory.silent_since = before;
  return FindSilentNodes(observed, now);
}

TEST(FindSilentNodes, B56_NodeIsSilentSinceThisProcessSawItSoFirst) {
  const Observed observed = Without(seconds(0));
  const Times first = SilentAfter(observed, {}, Now().monotonic);
  EXPECT_EQ(first, (Times{{"node-1", Now().monotonic}}));
  EXPECT_EQ(SilentAfter(observed, first, Now().monotonic + seconds(5)), first);
}

TEST(FindSilentNodes, B56_PodOfADaemonOrAChannelOnTheNodeMakesItOneOfTheDomain) {
  struct Row {
    const char* what;
    Change change;
    bool concerns;
  };
  for (const Row& row :
       {Row{"a daemon pod", [](Observed& o) { o.children.claims.clear(); }, true},
        Row{"a channel claim", [](Observed& o) { o.children.daemon_pods.clear(); }, true},
        Row{"a label, which is about to go",
            [](Observed& o) { o.children.claims.clear(), o.children.daemon_pods.clear(); },
            false}}) {
    SCOPED_TRACE(row.what);
    Observed observed = Without(seconds(0));
    row.change(observed);
    EXPECT_EQ(SilentAfter(observed, {}, Now().monotonic).size(), row.concerns ? 1U : 0U);
  }
}

TEST(FindSilentNodes, B56_NobodyIsAccusedWhoPublishesOrIsLostOrCannotBeSeen) {
  const std::vector<std::pair<const char*, Change>> rows = {
      {"it publishes", [](Observed& o) { o.without_slices = {"node-7"}; }},
      {"all publish", [](Observed& o) { o.without_slices.clear(); }},
      {"the node is not ready", [](Observed& o) { o.nodes["node-1"].ready = false; }},
      {"slices cannot be read",
       [](Observed& o) { o.facts.views.freshness[Kind::kResourceSlice] = Freshness::kUnknown; }},
      {"the domain is gone", [](Observed& o) { o.domain.reset(); }},
  };
  for (const auto& [what, change] : rows) {
    Observed observed = Without(seconds(0));
    change(observed);
    EXPECT_EQ(SilentAfter(observed, {}, Now().monotonic), Times()) << what;
  }
}

TEST(FindSilentNodes, B56_OldViewAccusesNobodyWhoWasNotAccusedBefore) {
  Observed observed = Without(seconds(0));
  observed.facts.views.freshness[Kind::kResourceSlice] = Freshness::kStale;
  const base::Clock::TimePoint now = Now().monotonic;
  for (const auto& [before, after] :
       {std::pair{seconds(59), seconds(0)}, std::pair{seconds(60), seconds(60)}}) {
    EXPECT_EQ(SilentAfter(observed, {{"node-1", now - before}}, now),
              (Times{{"node-1", now - after}}));
  }
}

TEST(FindSilentNodes, B56_ProcessThatStartsGoesOnWithWhatTheOneBeforeItSaid) {
  for (const auto& [reason, since] :
       {std::pair{"PluginMissing", seconds(60)}, std::pair{"PodsStuckTerminating", seconds(60)},
        std::pair{"AllMembersReady", seconds(0)}}) {
    Observed observed = Without(seconds(0));
    fixtures::ConditionOf(observed.domain->status, "MembersReady").reason = reason;
    EXPECT_EQ(SilentAfter(observed, {}, Now().monotonic),
              (Times{{"node-1", Now().monotonic - since}}));
    const Times before = {{"node-1", Now().monotonic - minutes(9)}};
    EXPECT_EQ(SilentAfter(observed, before, Now().monotonic), before);
  }
  Observed observed = Without(seconds(0));
  observed.domain->status = {};
  EXPECT_EQ(SilentAfter(observed, {}, Now().monotonic).size(), 1U) << "nothing was said yet";
}

// ---- FindMissingPlugins

TEST(FindMissingPlugins, Q2_NothingIsWaitedForWhereAllIsWell) {
  const MissingPlugins missing = FindMissingPlugins(Converged(), Now());
  EXPECT_EQ(missing.nodes, Names());
  EXPECT_EQ(missing.stuck, Names());
  EXPECT_FALSE(missing.requeue_after);
}

TEST(FindMissingPlugins, B56_K7_RestartOfAKubeletAndItsPluginIsGivenItsTime) {
  const MissingPlugins soon = FindMissingPlugins(Without(seconds(59)), Now());
  EXPECT_EQ(soon.nodes, Names());
  EXPECT_EQ(soon.requeue_after, seconds(1));
  const MissingPlugins now = FindMissingPlugins(Without(seconds(60)), Now());
  EXPECT_EQ(now.nodes, Names{"node-1"});
  EXPECT_FALSE(now.requeue_after) << "what changes then, a watch shows";
}

TEST(FindMissingPlugins, OfSeveralTheOneThatIsDueFirstIsWaitedFor) {
  for (const auto& [first, second] :
       {std::pair{seconds(59), seconds(10)}, std::pair{seconds(10), seconds(59)}}) {
    Observed observed = Without(second);
    observed.memory.silent_since["node-0"] = Now().monotonic - first;
    EXPECT_EQ(FindMissingPlugins(observed, Now()).requeue_after, seconds(1));
  }
}

TEST(FindMissingPlugins, B26_DaemonPodThatDoesNotEndForMinutesIsNamedWithItsNode) {
  const MissingPlugins soon = FindMissingPlugins(WithDyingDaemon(seconds(119)), Now());
  EXPECT_EQ(soon.stuck, Names());
  EXPECT_EQ(soon.requeue_after, seconds(1));
  EXPECT_EQ(FindMissingPlugins(WithDyingDaemon(seconds(120)), Now()).stuck,
            Names{"pods/cdom-system/daemon-node-1 on node-1"});
}

TEST(FindMissingPlugins, B26_PodWhosePluginIsThereIsNotSaidToBeStuck) {
  Observed observed = WithDyingDaemon(minutes(9));
  observed.memory.silent_since.clear();
  const MissingPlugins missing = FindMissingPlugins(observed, Now());
  EXPECT_EQ(missing.stuck, Names());
  EXPECT_FALSE(missing.requeue_after);
}

TEST(FindMissingPlugins, B26_WhoStillUsesADomainMinutesAfterItsDeletionIsNamed) {
  const auto after = [](seconds ago) {
    Observed observed = Without(minutes(5), Deleting());
    observed.domain->meta.deletion_timestamp = base::FormatSeconds(Now().wall - ago);
    return FindMissingPlugins(observed, Now());
  };
  EXPECT_EQ(after(seconds(119)).stuck, Names());
  EXPECT_EQ(after(seconds(119)).requeue_after, seconds(1));
  EXPECT_EQ(after(seconds(120)).stuck, Names{"pods/train-1 on node-1"});
}

TEST(FindMissingPlugins, B26_ThoseThatAreStuckComeInOrder) {
  Observed observed = WithDyingDaemon(minutes(5), Without(minutes(5), Deleting()));
  observed.domain->meta.deletion_timestamp = base::FormatSeconds(Now().wall - minutes(5));
  observed.children.claims[1].consumers = {"pods/train-9", "pods/train-1"};
  EXPECT_EQ(FindMissingPlugins(observed, Now()).stuck,
            (Names{"pods/cdom-system/daemon-node-1 on node-1", "pods/train-1 on node-1",
                   "pods/train-9 on node-1"}));
}

}  // namespace
}  // namespace compute_domain
