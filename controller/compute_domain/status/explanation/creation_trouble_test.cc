#include "controller/compute_domain/status/explanation/creation_trouble.h"

#include <gtest/gtest.h>

#include <functional>

#include "controller/compute_domain/rules/membership/membership.h"
#include "test/fixtures/observed.h"

namespace compute_domain {
namespace {

using fixtures::kDriverNs;
using fixtures::Marked;
using fixtures::Now;
using std::chrono::minutes;
using std::chrono::seconds;
using Change = std::function<void(Observed&)>;

// A pod of the job is on node-2, and the node has had no daemon for a minute.
Observed WithoutDaemon() {
  Observed observed = Marked();
  api::Node node = fixtures::MakeNode("node-2");
  observed.nodes.emplace("node-2", node);
  observed.children.labelled_nodes.push_back(node);
  observed.children.claims.push_back(fixtures::MakeChannelClaim("node-2", "train-2"));
  observed.memory.phases["node-2"] = {.since = Now().monotonic - minutes(1)};
  return observed;
}

CreationTrouble Plan(const Observed& observed) {
  const Membership membership = PlanMembership(observed, Now());
  return PlanCreationTrouble(observed, Analyze(observed, membership), Now());
}

TEST(PlanCreationTrouble, REV4_K11_EventsAreReadForAPodThatIsMissing) {
  const CreationTrouble trouble = Plan(WithoutDaemon());
  ASSERT_TRUE(trouble.read);
  EXPECT_EQ(trouble.read->daemon_set.ns, kDriverNs);
  EXPECT_EQ(trouble.read->uid, WithoutDaemon().children.daemon_sets[0].meta.uid);
}

TEST(PlanCreationTrouble, REV4_K11_NothingIsReadIfThePodIsThereOrSomethingElseExplainsIt) {
  struct Row {
    const char* what;
    Change change;
  };
  for (const Row& row : {
           Row{"it is only starting",
               [](Observed& o) { o.memory.phases["node-2"].since = Now().monotonic - seconds(9); }},
           Row{"the pod exists",
               [](Observed& o) {
                 o.children.daemon_pods.push_back(fixtures::MakePod("node-2", 2));
               }},
           Row{"no pod takes part", [](Observed& o) { o.children.claims.pop_back(); }},
           Row{"the node is unknown", [](Observed& o) { o.nodes.erase("node-2"); }},
           Row{"the node is cordoned", [](Observed& o) { o.nodes["node-2"].unschedulable = true; }},
           Row{"the node is tainted", [](Observed& o) { o.nodes["node-2"].taints = {"a"}; }},
           Row{"the node is lost", [](Observed& o) { o.nodes["node-2"].ready = false; }},
           Row{"the DaemonSet is missing", [](Observed& o) { o.children.daemon_sets.clear(); }},
           Row{"pods cannot be read",
               [](Observed& o) { o.facts.views.problems[Kind::kDaemonPod] = "500"; }},
       }) {
    SCOPED_TRACE(row.what);
    Observed observed = WithoutDaemon();
    row.change(observed);
    EXPECT_FALSE(Plan(observed).read);
  }
}

TEST(PlanCreationTrouble, REV4_K11_ReadsArePacedAndWaitForAMissingPermission) {
  Observed observed = WithoutDaemon();
  observed.memory.creation_trouble_read = Now().monotonic - seconds(20);
  EXPECT_FALSE(Plan(observed).read);
  EXPECT_EQ(Plan(observed).requeue_after, seconds(20)) << "it had waited for 40 s";
  observed.memory.creation_trouble_read = Now().monotonic - seconds(40);
  EXPECT_TRUE(Plan(observed).read);
  observed.facts.cluster.missing_permissions[{.verb = "list", .resource = "events"}] =
      Now().monotonic + seconds(7);
  EXPECT_FALSE(Plan(observed).read);
  EXPECT_EQ(Plan(observed).requeue_after, seconds(7));
}

// Its daemon had served for days.
TEST(PlanCreationTrouble, REV4_K11_NodeThatLosesItsDaemonHasWaitedSinceThen) {
  Observed observed = WithoutDaemon();
  observed.memory.phases["node-2"] = {.is = MemberPhase::Is::kServing,
                                      .since = Now().monotonic - minutes(4000),
                                      .ends_since = Now().monotonic - seconds(15)};
  observed.memory.creation_trouble_read = Now().monotonic - seconds(10);
  EXPECT_TRUE(Plan(observed).read);
}

// An earlier process may have read them long ago.
TEST(PlanCreationTrouble, REV4_K11_NodeThatLackedADaemonBeforeThisProcessHasWaitedForLong) {
  for (const bool is_known : {true, false}) {
    Observed observed = WithoutDaemon();
    observed.memory.phases.erase("node-2");
    if (is_known) observed.memory.phases["node-2"] = {};
    observed.memory.creation_trouble_read = Now().monotonic - seconds(299);
    EXPECT_FALSE(Plan(observed).read);
    EXPECT_EQ(Plan(observed).requeue_after, seconds(1));
  }
}

}  // namespace
}  // namespace compute_domain
