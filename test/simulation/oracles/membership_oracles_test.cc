// Goal: the oracles over who is in which clique (S1-S5) are green over whole runs in which nobody
// does wrong (see oracles_test.cc), and red after each wrong that they are there for.
#include <gtest/gtest.h>

#include "pkg/kube/client/request.h"
#include "test/simulation/oracles/oracles_fixture.h"

namespace simulation {
namespace {

class MembershipOraclesTest : public OraclesTest {
 protected:
  // The controller rewrites the entries of the clique, or of status.
  template <typename Change>
  void MiseditEntries(Change change) {
    Misedit(Kind::kClique, CliqueObjectKey(), [&](Value& clique) { change(clique["daemons"]); });
  }
  template <typename Change>
  void MiseditStatus(Change change) {
    const Reply reply = store().Edit(
        "controller", Kind::kComputeDomain, kDomain,
        [&](Value& domain) { change(domain["status"]["nodes"]); }, Subresource::kStatus);
    ASSERT_TRUE(reply.ok()) << json::Serialize(reply.status);
  }
  static Value EntryOf(const std::string& node, const std::string& ip, int index,
                       const char* status) {
    return Value::Object({{"nodeName", node},
                          {"ipAddress", ip},
                          {"cliqueID", "c.1"},
                          {"index", index},
                          {"status", status}});
  }
  void EndPodOn(const std::string& node) {
    store().Edit("user", Kind::kNode, {.name = node},
                 [](Value& object) { object["metadata"]["labels"].Erase(kDomainLabel); });
    cluster.Settle();  // Without the controller.
    ASSERT_EQ(DaemonOn(node), nullptr);
  }
};

// ---- S23

TEST_F(MembershipOraclesTest, S23SeesAMemberWhereNoPodOfTheDomainEverWas) {
  MiseditEntries(
      [](Value& daemons) { daemons.Append(EntryOf("node-1", "10.0.1.1", 1, "NotReady")); });
  EXPECT_TRUE(Contains(Check(NoStrangers), "made node-1 a member in ComputeDomainClique"));
  system.may_read_claims = false;
  EXPECT_EQ(Check(NoStrangers), "") << "nobody can know";
  system.may_read_claims = true;
  system.excuses.push_back(
      {.from = cluster.now() - std::chrono::seconds(5), .until = cluster.now()});
  EXPECT_EQ(Check(NoStrangers), "") << "a fault heals";
}

TEST_F(MembershipOraclesTest, S23LetsThoseJoinWhosePodsHaveAChannel) {
  cluster.AddWorkload({.ns = "train", .name = "more"}, "channel", {"node-1"});
  cluster.Settle();
  MiseditEntries(
      [](Value& daemons) { daemons.Append(EntryOf("node-1", "10.0.1.1", 1, "NotReady")); });
  EXPECT_EQ(Check(NoStrangers), "");
}

// ---- S1

TEST_F(MembershipOraclesTest, S1SeesAMemberCalledReadyWhoseDaemonNeverWas) {
  MiseditEntries([](Value& daemons) { daemons.Append(EntryOf("node-1", "10.0.1.1", 1, "Ready")); });
  EXPECT_TRUE(Contains(Check(ReleaseGate), "called node-1 ready in ComputeDomainClique"));
}

TEST_F(MembershipOraclesTest, S1SeesAMemberCalledReadyUnderAnAddressThatIsNotItsDaemons) {
  MiseditStatus([](Value& nodes) { nodes.MutableItems().at(0)["ipAddress"] = "10.9.9.9"; });
  EXPECT_TRUE(Contains(Check(ReleaseGate), "where no daemon is ready under 10.9.9.9"));
}

TEST_F(MembershipOraclesTest, S1LetsStatusRepeatWhatADaemonSaysInItsClique) {
  store().Edit("kubelet/node-1", Kind::kClique, CliqueObjectKey(), [](Value& clique) {
    clique["daemons"].Append(EntryOf("node-1", "10.0.1.1", 1, "Ready"));
  });
  MiseditStatus([](Value& nodes) {
    Value entry = EntryOf("node-1", "10.0.1.1", 1, "Ready");
    entry.Erase("nodeName");
    entry["name"] = "node-1";
    nodes.Append(entry);
  });
  EXPECT_EQ(Check(ReleaseGate), "");
}

TEST_F(MembershipOraclesTest, S1SeesAWorkloadThatRunsBeforeADaemonOnItsNodeWasReady) {
  cluster.FailNode("node-1");  // So that nothing starts there by itself.
  cluster.AddWorkload({.ns = "train", .name = "more"}, "channel", {"node-1"});
  Settle();
  store().Edit(
      "somebody", Kind::kPod, {.ns = "train", .name = "more-0"},
      [](Value& pod) { pod["status"]["phase"] = "Running"; }, Subresource::kStatus);
  EXPECT_TRUE(Contains(Check(ReleaseGate), "started Pod train/more-0 on node-1"));
}

// ---- S2

TEST_F(MembershipOraclesTest, S2SeesADaemonStartWhereOneOfAnotherDomainRuns) {
  Value rival = DaemonOn("node-0")->value();
  rival["metadata"] = Value::Object({{"name", "rival"},
                                     {"labels", Value::Object({{std::string(kDomainLabel), "x"}})},
                                     {"ownerReferences", rival["metadata"]["ownerReferences"]}});
  ASSERT_TRUE(store().Create("somebody", Kind::kPod, kSystem, rival).ok());
  EXPECT_EQ(Check(OneDomainPerNode), "") << "it only waits";
  store().Edit(
      "somebody", Kind::kPod, {.ns = kSystem, .name = "rival"},
      [](Value& pod) { pod["status"]["phase"] = "Running"; }, Subresource::kStatus);
  EXPECT_TRUE(Contains(Check(OneDomainPerNode), "started Pod cdom-system/rival on node-0"));
}

// ---- S3

TEST_F(MembershipOraclesTest, S3SeesAnIndexGivenTwice) {
  MiseditEntries(
      [](Value& daemons) { daemons.Append(EntryOf("node-1", "10.0.1.1", 0, "NotReady")); });
  EXPECT_TRUE(Contains(Check(IndexUniqueness), "gave an index twice in ComputeDomainClique"));
  EXPECT_TRUE(Contains(Check(IndexUniqueness), "gave node-1 the index 0 of Pod"));
}

TEST_F(MembershipOraclesTest, S3SeesAnIndexGivenTwiceInStatus) {
  MiseditStatus([](Value& nodes) {
    Value twin = nodes.items().at(0);
    twin["name"] = "node-1";
    nodes.Append(twin);
  });
  EXPECT_TRUE(Contains(Check(IndexUniqueness), "gave an index twice in ComputeDomain train/cd-1"));
}

TEST_F(MembershipOraclesTest, S3SeesAnIndexThatTheFabricDoesNotHave) {
  MiseditEntries([](Value& daemons) { daemons.MutableItems().at(0)["index"] = 18; });
  EXPECT_TRUE(Contains(Check(IndexUniqueness), "the index 18, which does not exist"));
}

TEST_F(MembershipOraclesTest, S3SeesTheIndexOfAPodThatLivesGivenToAnother) {
  MiseditEntries([](Value& daemons) { daemons.MutableItems().clear(); });
  MiseditEntries(
      [](Value& daemons) { daemons.Append(EntryOf("node-1", "10.0.1.1", 0, "NotReady")); });
  EXPECT_TRUE(Contains(Check(IndexUniqueness), "gave node-1 the index 0 of Pod"));
}

TEST_F(MembershipOraclesTest, S3LetsAnIndexBeGivenAgainOnceItsPodIsGone) {
  EndPodOn("node-0");
  MiseditEntries([](Value& daemons) { daemons.MutableItems().clear(); });
  MiseditEntries(
      [](Value& daemons) { daemons.Append(EntryOf("node-1", "10.0.1.1", 0, "NotReady")); });
  EXPECT_EQ(Check(IndexUniqueness), "");
}

// ---- S4

TEST_F(MembershipOraclesTest, S4SeesAMemberMoved) {
  MiseditEntries([](Value& daemons) { daemons.MutableItems().at(0)["index"] = 5; });
  EXPECT_TRUE(Contains(Check(IndexStability), "moved node-0 from index 0 to 5 while Pod"));
}

TEST_F(MembershipOraclesTest, S4SeesAMemberThatComesBackUnderAnotherIndex) {
  const Value entry = (*store().Get(Kind::kClique, CliqueObjectKey()))["daemons"].items().at(0);
  MiseditEntries([](Value& daemons) { daemons.MutableItems().clear(); });
  MiseditEntries([&](Value& daemons) {
    Value moved = entry;
    moved["index"] = 3;
    daemons.Append(moved);
  });
  EXPECT_TRUE(Contains(Check(IndexStability), "moved node-0 from index 0 to 3"));
  EXPECT_TRUE(Contains(Check(IndexStability), "gave node-0 the index 3 although 0 is kept for it"));
}

TEST_F(MembershipOraclesTest, S4SeesAnIndexGivenAwayWithinAMinute) {
  const auto replace_by = [&](const std::string& node) {
    MiseditEntries([](Value& daemons) { daemons.MutableItems().clear(); });
    return [this, node] {
      MiseditEntries(
          [&](Value& daemons) { daemons.Append(EntryOf(node, "10.0.9.9", 0, "NotReady")); });
    };
  };
  const auto late = replace_by("node-1");
  cluster.Advance(std::chrono::minutes(1));
  late();
  EXPECT_EQ(Check(IndexStability), "");
  replace_by("node-2")();
  EXPECT_TRUE(
      Contains(Check(IndexStability), "gave node-2 the index 0 although it is kept for node-1"));
  system.members_max = 1;
  EXPECT_EQ(Check(IndexStability), "") << "there is no other";
}

TEST_F(MembershipOraclesTest, S4LetsADaemonMoveItself) {
  store().Edit("kubelet/node-0", Kind::kClique, CliqueObjectKey(),
               [](Value& clique) { clique["daemons"].MutableItems().at(0)["index"] = 5; });
  EXPECT_EQ(Check(IndexStability), "");
}

// ---- S5

TEST_F(MembershipOraclesTest, S5SeesAMemberTakenOutWhileItsPodLives) {
  LookAtPods();
  MiseditEntries([](Value& daemons) { daemons.MutableItems().clear(); });
  EXPECT_TRUE(Contains(Check(NoPruneWithoutProof), "took node-0 out of ComputeDomainClique"));
}

TEST_F(MembershipOraclesTest, S5SeesAMemberTakenOutWithoutALiveLook) {
  LookAtPods();  // Too early: its pod is still there.
  EndPodOn("node-0");
  const std::size_t green = Find(NoPruneWithoutProof).size();
  MiseditEntries([](Value& daemons) { daemons.MutableItems().clear(); });
  EXPECT_EQ(Find(NoPruneWithoutProof).size(), green + 1);
}

TEST_F(MembershipOraclesTest, S5LetsAMemberGoWhosePodWasSeenToBeGone) {
  EndPodOn("node-0");
  LookAtPods();
  MiseditEntries([](Value& daemons) { daemons.MutableItems().clear(); });
  EXPECT_EQ(Check(NoPruneWithoutProof), "");
}

TEST_F(MembershipOraclesTest, S5SeesAMemberLeaveStatusThatIsStillInItsClique) {
  MiseditStatus([](Value& nodes) {
    std::erase_if(nodes.MutableItems(),
                  [](const Value& node) { return node["name"].AsString() == "node-0"; });
  });
  EXPECT_TRUE(Contains(Check(NoPruneWithoutProof), "took node-0 out of the status"));
}

TEST_F(MembershipOraclesTest, S5SeesAMemberWithoutFabricLeaveStatusWhileItsPodLives) {
  MiseditStatus([](Value& nodes) {
    std::erase_if(nodes.MutableItems(),
                  [](const Value& node) { return node["name"].AsString() == "node-2"; });
  });
  EXPECT_TRUE(Contains(Check(NoPruneWithoutProof), "took node-2 out of the status"));
}

TEST_F(MembershipOraclesTest, S5LetsAMemberLeaveStatusThatHasLeftItsClique) {
  store().Edit("kubelet/node-0", Kind::kClique, CliqueObjectKey(),
               [](Value& clique) { clique["daemons"].MutableItems().clear(); });
  MiseditStatus([](Value& nodes) {
    std::erase_if(nodes.MutableItems(),
                  [](const Value& node) { return node["name"].AsString() == "node-0"; });
  });
  EXPECT_EQ(Check(NoPruneWithoutProof), "");
}

}  // namespace
}  // namespace simulation
