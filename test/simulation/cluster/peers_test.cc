#include "test/simulation/cluster/peers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "test/simulation/apiserver/contract.h"
#include "test/simulation/apiserver/fixtures.h"
#include "test/simulation/cluster/tiny_controller.h"

namespace simulation {
namespace {

using json::Value;
using std::chrono::seconds;

const kube::ObjectKey kDomain = {.ns = "train", .name = "cd-1"};
const std::string kSystem(kDriverNamespace);

// A cluster of two nodes in one clique and one without fabric, with the tiny controller.
class PeersTest : public testing::TestWithParam<bool> {
 protected:
  PeersTest() {
    cluster.AddNamespace("train");
    cluster.AddNode("node-0", "c.1");
    cluster.AddNode("node-1", "c.1");
    cluster.AddNode("node-2", "");
  }

  void Settle() {
    for (bool moved = true; moved;) {
      moved = cluster.Settle() > 0;
      moved = controller.Pass() || moved;
    }
    // Nobody missed what concerned him.
    for (const auto& peer : cluster.peers()) peer->Wake();
    EXPECT_EQ(cluster.Settle(), 0);
  }
  void Wait(seconds time) {
    cluster.Advance(time);
    Settle();
  }
  ObjectStore& store() { return cluster.store(); }
  std::string DomainLabel(const std::string& node) {
    return store().Get(Kind::kNode, {.name = node})->Label(kDomainLabel);
  }
  // The daemon pod on the node, or nullptr.
  ObjectPtr DaemonOn(const std::string& node) {
    for (const auto& [key, pod] : store().Live(Kind::kPod)) {
      if (key.ns == kSystem && TargetNode(*pod) == node) return pod;
    }
    return nullptr;
  }
  bool IsWorkloadReady(const std::string& pod) {
    const ObjectPtr found = store().Get(Kind::kPod, {.ns = "train", .name = pod});
    return found && IsPodReady(*found);
  }
  const Value& DaemonEntries() {
    return (
        *store().Get(Kind::kClique, {.ns = kSystem, .name = CliqueName(uid, "c.1")}))["daemons"];
  }
  void BringUp(std::vector<std::string> nodes) {
    uid = cluster.CreateDomain(kDomain, "channel");
    workload = &cluster.AddWorkload({.ns = "train", .name = "job"}, "channel", std::move(nodes));
    Settle();
  }

  Cluster cluster;
  TinyController controller{cluster.server(), "controller", GetParam()};
  kube::Uid uid;
  Workload* workload = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Writers, PeersTest, testing::Bool(), [](const auto& writer) {
  return std::string(writer.param ? "ControllerWrites" : "DaemonWrites");
});

TEST_P(PeersTest, WorkloadRunsOnceItsNodesHaveReadyDaemons) {
  BringUp({"node-0", "node-1"});
  EXPECT_TRUE(IsWorkloadReady("job-0"));
  EXPECT_TRUE(IsWorkloadReady("job-1"));
  EXPECT_EQ(DomainLabel("node-0"), uid);
  ASSERT_EQ(DaemonEntries().items().size(), 2U);
  EXPECT_EQ(DaemonEntries().items().at(0)["status"].AsString(), "Ready");
  EXPECT_NE(DaemonEntries().items().at(0)["index"], DaemonEntries().items().at(1)["index"]);
  EXPECT_EQ(DaemonOn("node-2"), nullptr);
}

TEST_P(PeersTest, NodeWithoutFabricIsReleasedByTheDomainsStatus) {
  BringUp({"node-2"});
  EXPECT_TRUE(IsWorkloadReady("job-0"));
  EXPECT_EQ(*DaemonOn("node-2")->FindLabel(kCliqueLabel), "");
  EXPECT_TRUE(store().Live(Kind::kClique).empty());
}

TEST_P(PeersTest, WorkloadWaitsUntilTheDaemonOnItsNodeIsShownReady) {
  uid = cluster.CreateDomain(kDomain, "channel");
  cluster.AddWorkload({.ns = "train", .name = "job"}, "channel", {"node-2"});
  controller.Pass();
  cluster.Settle();
  EXPECT_TRUE(IsPodReady(*DaemonOn("node-2")));
  EXPECT_FALSE(IsWorkloadReady("job-0")) << "nobody has written the domain's status";
  Settle();
  EXPECT_TRUE(IsWorkloadReady("job-0"));
}

TEST_P(PeersTest, NothingStartsWithoutAController) {
  cluster.Settle();  // The nodes publish their devices.
  uid = cluster.CreateDomain(kDomain, "channel");
  cluster.AddWorkload({.ns = "train", .name = "job"}, "channel", {"node-0"});
  EXPECT_EQ(cluster.Settle(), 0);
  EXPECT_TRUE(store().Live(Kind::kPod).empty());
}

TEST_P(PeersTest, PodNeitherStartsNorEndsWhileThePluginOfItsNodeIsGone) {
  BringUp({"node-0"});
  NodeAgent& agent = cluster.agent("node-0");
  agent.StopPlugin(cluster.now());
  workload->Finish();
  Settle();
  EXPECT_EQ(store().Live(Kind::kSlice).size(), 3U) << "a restart does not show";
  Wait(seconds(30));
  EXPECT_EQ(store().Live(Kind::kSlice).size(), 2U);
  EXPECT_TRUE(store().Get(Kind::kPod, {.ns = "train", .name = "job-0"})->deleting());
  EXPECT_NE(DaemonOn("node-0"), nullptr);
  agent.StartPlugin();
  Settle();
  EXPECT_EQ(store().Get(Kind::kPod, {.ns = "train", .name = "job-0"}), nullptr);
  EXPECT_EQ(DaemonOn("node-0"), nullptr);

  agent.StopPlugin(cluster.now());
  Wait(seconds(30));
  cluster.AddWorkload({.ns = "train", .name = "next"}, "channel", {"node-0"});
  Settle();
  EXPECT_FALSE(IsWorkloadReady("next-0"));
  agent.StartPlugin();
  Settle();
  EXPECT_TRUE(IsWorkloadReady("next-0"));
}

TEST_P(PeersTest, EverythingGoesWithTheWorkloadAndTheDomain) {
  BringUp({"node-0", "node-1", "node-2"});
  workload->Finish();
  Settle();
  EXPECT_EQ(DomainLabel("node-0"), "") << "the kubelet plugin takes its label back";
  EXPECT_EQ(DaemonOn("node-0"), nullptr);
  cluster.DeleteDomain(kDomain);
  Settle();
  for (const Kind kind : {Kind::kComputeDomain, Kind::kDaemonSet, Kind::kClaimTemplate, Kind::kPod,
                          Kind::kClaim, Kind::kClique}) {
    EXPECT_TRUE(store().Live(kind).empty()) << Describe(kind).resource.kind;
  }
}

TEST_P(PeersTest, ChannelHasOneHolder) {
  BringUp({"node-0"});
  cluster.AddWorkload({.ns = "train", .name = "other"}, "channel", {"node-0"});
  Settle();
  EXPECT_FALSE(IsWorkloadReady("other-0"));
  const ObjectPtr pod = store().Get(Kind::kPod, {.ns = "train", .name = "other-0"});
  EXPECT_EQ(FindCondition(pod->value(), "PodScheduled")["reason"].AsString(), "Unschedulable");
  workload->Finish();
  Settle();
  EXPECT_TRUE(IsWorkloadReady("other-0"));
}

TEST_P(PeersTest, ClaimIsMadeOfItsTemplateAndHeldWhileItIsInUse) {
  BringUp({"node-0"});
  ObjectPtr claim;
  for (const auto& [key, object] : store().Live(Kind::kClaim)) {
    if (key.ns == "train") claim = object;
  }
  ASSERT_TRUE(claim);
  EXPECT_TRUE(claim->key().name.starts_with("job-0-channel-"));
  EXPECT_EQ(claim->ControllerOwner()["kind"].AsString(), "Pod");
  EXPECT_EQ(FindConfig(*claim)->domain, uid);
  EXPECT_TRUE(FindConfig(*claim)->is_channel);
  EXPECT_EQ(AllocatedNode(*claim), "node-0");
  EXPECT_EQ(
      (*claim)["status"]["allocation"]["devices"]["config"].items().at(0)["source"].AsString(),
      "FromClaim");
  store().Delete("user", Kind::kClaim, claim->key());
  Settle();
  EXPECT_TRUE(store().Get(Kind::kClaim, claim->key())) << "deleted, but a pod holds it";
}

TEST_P(PeersTest, PodThatSomebodyDeletesComesAgain) {
  BringUp({"node-0"});
  const kube::Uid first = store().Get(Kind::kPod, {.ns = "train", .name = "job-0"})->uid();
  store().Delete("user", Kind::kPod, {.ns = "train", .name = "job-0"});
  Settle();
  EXPECT_TRUE(IsWorkloadReady("job-0"));
  EXPECT_NE(store().Get(Kind::kPod, {.ns = "train", .name = "job-0"})->uid(), first);
}

TEST_P(PeersTest, DaemonPodThatIsDeletedByForceIsReplacedAndJoinsAgain) {
  BringUp({"node-0", "node-1"});
  const ObjectPtr before = DaemonOn("node-0");
  store().Delete("user", Kind::kPod, before->key(), {.grace = 0});
  Settle();
  const ObjectPtr after = DaemonOn("node-0");
  ASSERT_TRUE(after);
  EXPECT_NE(after->uid(), before->uid());
  EXPECT_TRUE(IsPodReady(*after));
  ASSERT_EQ(DaemonEntries().items().size(), 2U);
  std::set<std::string> addresses;
  for (const Value& entry : DaemonEntries().items())
    addresses.insert(entry["ipAddress"].AsString());
  EXPECT_TRUE(addresses.contains((*after)["status"]["podIP"].AsString()));
}

TEST_P(PeersTest, DaemonsLeaveWhenTheirNodeIsReleased) {
  BringUp({"node-0", "node-1"});
  store().Edit("user", Kind::kNode, {.name = "node-1"},
               [](Value& node) { node["metadata"]["labels"].Erase(kDomainLabel); });
  Settle();
  EXPECT_EQ(DaemonOn("node-1"), nullptr);
  ASSERT_EQ(DaemonEntries().items().size(), 1U);
  EXPECT_EQ(DaemonEntries().items().at(0)["nodeName"].AsString(), "node-0");
}

TEST_P(PeersTest, SilentNodeIsNoticedAndItsPodsAreEvictedInTime) {
  BringUp({"node-0", "node-1"});
  cluster.FailNode("node-0");
  Settle();
  const auto ready = [&] {
    const ObjectPtr node = store().Get(Kind::kNode, {.name = "node-0"});
    return FindCondition(node->value(), "Ready")["status"].AsString();
  };
  EXPECT_EQ(ready(), "True") << "nobody knows yet";
  Wait(NodeController::kMonitorGrace);
  EXPECT_EQ(ready(), "Unknown");
  const kube::ObjectKey pod = {.ns = "train", .name = "job-0"};
  EXPECT_FALSE(store().Get(Kind::kPod, pod)->deleting());
  Wait(NodeController::kTolerated);
  EXPECT_TRUE(store().Get(Kind::kPod, pod)->deleting());
  EXPECT_FALSE(DaemonOn("node-0")->deleting()) << "daemons tolerate everything";
  cluster.RecoverNode("node-0", true);
  Settle();
  EXPECT_EQ(ready(), "True");
  EXPECT_TRUE(IsPodReady(*DaemonOn("node-0")));
}

TEST_P(PeersTest, NodeThatComesBackAfterABootGetsItsDaemonAgainUnderAnotherAddress) {
  BringUp({"node-0"});
  const std::string before = (*DaemonOn("node-0"))["status"]["podIP"].AsString();
  cluster.FailNode("node-0");
  Wait(NodeController::kMonitorGrace);
  cluster.RecoverNode("node-0", true);
  Settle();
  const std::string after = (*DaemonOn("node-0"))["status"]["podIP"].AsString();
  EXPECT_NE(after, before);
  ASSERT_EQ(DaemonEntries().items().size(), 1U);
  EXPECT_EQ(DaemonEntries().items().at(0)["ipAddress"].AsString(), after);
  EXPECT_TRUE(store().Get(Kind::kNode, {.name = "node-0"})->value()["spec"]["taints"].IsNull());
}

TEST_P(PeersTest, NodeThatComesBackInAnotherRackJoinsTheCliqueThere) {
  BringUp({"node-0", "node-1"});
  cluster.FailNode("node-0");
  Wait(NodeController::kMonitorGrace);
  cluster.agent("node-0").MoveTo("c.9");
  cluster.RecoverNode("node-0", true);
  Settle();
  EXPECT_EQ(*DaemonOn("node-0")->FindLabel(kCliqueLabel), "c.9");
  EXPECT_TRUE(IsPodReady(*DaemonOn("node-0")));
}

TEST_P(PeersTest, NamespaceGoesWithAllThatIsInItAndTakesNothingMore) {
  BringUp({"node-0"});
  store().Delete("user", Kind::kNamespace, {.name = "train"});
  EXPECT_TRUE(store().Get(Kind::kNamespace, {.name = "train"})) << "it is not empty";
  EXPECT_FALSE(
      store().Create("user", Kind::kClaimTemplate, "train", ForeignTemplateObject("late")).ok());
  Settle();
  EXPECT_EQ(store().Get(Kind::kNamespace, {.name = "train"}), nullptr);
  EXPECT_TRUE(store().Live(Kind::kComputeDomain).empty());
}

TEST_P(PeersTest, PodsOfANodeThatIsDeletedGoWithIt) {
  BringUp({"node-0", "node-1"});
  cluster.FailNode("node-0");
  store().Delete("user", Kind::kNode, {.name = "node-0"});
  Settle();
  EXPECT_EQ(DaemonOn("node-0"), nullptr);
}

TEST_P(PeersTest, NodeThatIsMadeAgainHasNeitherLabelNorPodsAndPublishesItsDevicesAnew) {
  BringUp({"node-0", "node-1"});
  const ObjectPtr slice = store().Get(Kind::kSlice, {.name = SliceName("node-0")});
  store().Delete("admin", Kind::kNode, {.name = "node-0"});
  Settle();
  EXPECT_EQ(store().Get(Kind::kSlice, slice->key()), nullptr) << "it belonged to the Node";
  EXPECT_FALSE(IsWorkloadReady("job-0"));
  store().Create("admin", Kind::kNode, "", NodeObject("node-0", "node-0-boot-1"));
  EXPECT_EQ(DomainLabel("node-0"), "");
  Settle();
  EXPECT_NE(store().Get(Kind::kSlice, slice->key())->uid(), slice->uid());
  EXPECT_TRUE(IsWorkloadReady("job-0"));
  EXPECT_EQ(DomainLabel("node-0"), uid);
}

TEST_P(PeersTest, NodeWithTheAddressesOfAnotherGivesItsPodsWhatTheOthersHad) {
  BringUp({"node-0", "node-1"});
  std::set<std::string> before;
  for (const auto& [key, pod] : store().Live(Kind::kPod)) {
    if (TargetNode(*pod) == "node-1") before.insert((*pod)["status"]["podIP"].AsString());
  }
  cluster.FailNode("node-0");
  cluster.agent("node-0").TakeAddressesOf(cluster.agent("node-1").number());
  cluster.RecoverNode("node-0", true);
  Settle();
  EXPECT_TRUE(before.contains((*DaemonOn("node-0"))["status"]["podIP"].AsString()));
}

TEST_P(PeersTest, DaemonThatIsEvictedIsReplacedUnderAnotherName) {
  BringUp({"node-0"});
  const ObjectPtr before = DaemonOn("node-0");
  cluster.agent("node-0").EndPod(before->uid(), "Failed");
  Settle();
  EXPECT_EQ(store().Get(Kind::kPod, before->key()), nullptr);
  ASSERT_NE(DaemonOn("node-0"), nullptr);
  EXPECT_TRUE(IsPodReady(*DaemonOn("node-0")));
}

TEST(NodeAgent, PluginLooksEverMoreRarelyAndTheKubeletAsksAgain) {
  using std::chrono::milliseconds;
  const Time began = Cluster::kStart;
  std::vector<long> looks;
  for (Time now = began; now < began + seconds(60);) {
    const Time next = NodeAgent::NextLook(began, now);
    EXPECT_EQ(NodeAgent::NextLook(began, next), next);
    looks.push_back(std::chrono::duration_cast<milliseconds>(next - began).count());
    now = next + milliseconds(1);
  }
  EXPECT_EQ(std::vector(looks.begin(), looks.begin() + 6),
            (std::vector<long>{250, 750, 1'750, 3'750, 6'750, 9'750}));
  EXPECT_EQ(std::vector(looks.end() - 6, looks.end()),
            (std::vector<long>{42'750, 55'250, 55'750, 56'750, 58'750, 61'750}))
      << "it gives up after 45 s, and is asked again after 10";
}

TEST_P(PeersTest, PluginOfNvidiasNoticesLateThatADaemonIsReady) {
  cluster.agent("node-0").LookNowAndThen();
  BringUp({"node-0"});
  EXPECT_TRUE(IsPodReady(*DaemonOn("node-0")));
  EXPECT_FALSE(IsWorkloadReady("job-0"));
  ASSERT_TRUE(cluster.NextDue());
  EXPECT_EQ(*cluster.NextDue(), cluster.now() + std::chrono::milliseconds(250));
  Wait(seconds(1));
  EXPECT_TRUE(IsWorkloadReady("job-0"));
}

TEST_P(PeersTest, DaemonThatFailsAgainAndAgainIsReplacedEverLater) {
  BringUp({"node-0"});
  std::vector<seconds> waits;
  for (int i = 0; i < 12; ++i) {
    const ObjectPtr failed = DaemonOn("node-0");
    cluster.agent("node-0").EndPod(failed->uid(), "Failed");
    Settle();
    seconds waited(0);
    for (; store().Get(Kind::kPod, failed->key()); waited += seconds(1)) Wait(seconds(1));
    waits.push_back(waited);
  }
  EXPECT_EQ(waits, (std::vector<seconds>{seconds(0), seconds(1), seconds(2), seconds(4), seconds(8),
                                         seconds(16), seconds(32), seconds(64), seconds(128),
                                         seconds(256), seconds(512), seconds(900)}));
}

TEST_P(PeersTest, NewTemplateReplacesDaemonsOneByOneUnlessTheStrategyIsOnDelete) {
  BringUp({"node-0", "node-1"});
  const auto edit = [&](const char* strategy, const char* image) {
    const kube::ObjectKey key = store().Live(Kind::kDaemonSet).begin()->first;
    store().Edit("user", Kind::kDaemonSet, key, [&](Value& set) {
      set["spec"]["updateStrategy"]["type"] = strategy;
      set["spec"]["template"]["spec"]["containers"].MutableItems().front()["image"] = image;
    });
  };
  const kube::Uid before = DaemonOn("node-0")->uid();
  edit("OnDelete", "new");
  cluster.Settle();
  EXPECT_EQ(DaemonOn("node-0")->uid(), before);
  edit("RollingUpdate", "newer");
  const kube::Uid other = DaemonOn("node-1")->uid();
  const std::size_t began = store().history().changes().size();
  Settle();
  EXPECT_NE(DaemonOn("node-0")->uid(), before);
  EXPECT_NE(DaemonOn("node-1")->uid(), other);
  int going = 0;
  for (std::size_t i = began; i < store().history().changes().size(); ++i) {
    const Change& change = store().history().changes()[i];
    if (change.kind != Kind::kPod || change.before == nullptr) continue;
    if (change.type == Change::Type::kDeleted) {
      going = 0;
    } else if (change.actor == "daemonset-controller" && !change.before->deleting()) {
      EXPECT_EQ(++going, 1) << "one at a time";
    }
  }
}

// The DaemonSet that owns the pod; empty: none does.
kube::Uid ControllerOf(const ObjectPtr& pod) { return pod->ControllerOwner()["uid"].AsString(); }

TEST_P(PeersTest, DaemonSetAdoptsThePodsOfOneThatLeftOrphans) {
  BringUp({"node-0", "node-1"});
  const kube::Uid before = DaemonOn("node-0")->uid();
  const ObjectPtr set = store().Live(Kind::kDaemonSet).begin()->second;
  ASSERT_TRUE(store().Delete("user", Kind::kDaemonSet, set->key(), {.propagation = "Orphan"}).ok());
  cluster.Settle();
  ASSERT_EQ(store().Live(Kind::kDaemonSet).size(), 0U);
  EXPECT_EQ(ControllerOf(DaemonOn("node-0")), "");
  const Reply made =
      store().Create("user", Kind::kDaemonSet, kSystem, DaemonSetObject(uid, GetParam()));
  ASSERT_TRUE(made.ok());
  cluster.Settle();
  for (const char* node : {"node-0", "node-1"}) {
    EXPECT_EQ(ControllerOf(DaemonOn(node)), made.object->uid()) << node;
    EXPECT_TRUE(DaemonOn(node)->ControllerOwner()["blockOwnerDeletion"].AsBool());
  }
  EXPECT_EQ(DaemonOn("node-0")->uid(), before) << "it runs on, and no other comes beside it";
  EXPECT_EQ(
      (*store().Get(Kind::kDaemonSet, set->key()))["status"]["currentNumberScheduled"].AsInt(), 2);
}

TEST_P(PeersTest, DaemonSetAdoptsNoPodThatIsNotAnOrphanOfItsLabels) {
  BringUp({"node-0"});
  const kube::ObjectKey set_key = store().Live(Kind::kDaemonSet).begin()->first;
  store().Edit("user", Kind::kDaemonSet, set_key, [](Value& set) {
    set["spec"]["updateStrategy"]["type"] = "OnDelete";  // These pods are of no template of its.
  });
  const auto edit = [&](const std::string& name, const auto& change) {
    ASSERT_TRUE(store().Edit("user", Kind::kPod, {.ns = kSystem, .name = name}, change).ok());
  };
  const auto make = [&](const std::string& name, const std::string& ns, const kube::Uid& label) {
    Value pod = Value::Object(
        {{"metadata",
          Value::Object(
              {{"name", name}, {"labels", Value::Object({{std::string(kDomainLabel), label}})}})},
         {"spec", Value::Object({{"nodeSelector", Value::Object({{"none", "none"}})}})}});
    ASSERT_TRUE(store().Create("user", Kind::kPod, ns, std::move(pod)).ok());
  };
  make("orphan", kSystem, uid);
  make("of-another-domain", kSystem, "another");
  make("elsewhere", "train", uid);
  make("leaving", kSystem, uid);
  edit("leaving",
       [](Value& pod) { pod["metadata"]["finalizers"] = Value::Array({"example.com/held"}); });
  ASSERT_TRUE(store().Delete("user", Kind::kPod, {.ns = kSystem, .name = "leaving"}).ok());
  make("of-another-controller", kSystem, uid);
  edit("of-another-controller", [&](Value& pod) {
    const ObjectPtr node = store().Get(Kind::kNode, {.name = "node-0"});
    pod["metadata"]["ownerReferences"] = Value::Array({Value::Object({{"apiVersion", "v1"},
                                                                      {"kind", "Node"},
                                                                      {"name", "node-0"},
                                                                      {"uid", node->uid()},
                                                                      {"controller", true}})});
  });
  cluster.Settle();
  const kube::Uid set = store().Live(Kind::kDaemonSet).begin()->second->uid();
  std::set<std::string> owned;
  for (const auto& [key, pod] : store().Live(Kind::kPod)) {
    if (ControllerOf(pod) == set) owned.insert(key.name);
  }
  EXPECT_EQ(owned, (std::set<std::string>{DaemonOn("node-0")->key().name, "orphan"}));
}

TEST_P(PeersTest, DaemonSetReleasesAPodWhoseLabelsChangeAndMakesAnother) {
  BringUp({"node-0"});
  const ObjectPtr before = DaemonOn("node-0");
  store().Edit("user", Kind::kPod, before->key(), [](Value& pod) {
    pod["metadata"]["labels"][std::string(kDomainLabel)] = "another";
  });
  Settle();
  const ObjectPtr released = store().Get(Kind::kPod, before->key());
  ASSERT_NE(released, nullptr);
  EXPECT_EQ(ControllerOf(released), "");
  const kube::Uid set = store().Live(Kind::kDaemonSet).begin()->second->uid();
  EXPECT_EQ(std::ranges::count_if(store().Live(Kind::kPod),
                                  [&](const auto& item) {
                                    return ControllerOf(item.second) == set &&
                                           TargetNode(*item.second) == "node-0";
                                  }),
            1);
}

TEST_P(PeersTest, TaintThatNothingMayStayOnEvictsWhoDoesNotTolerateIt) {
  BringUp({"node-0"});
  const auto taint = [&](bool on) {
    store().Edit("admin", Kind::kNode, {.name = "node-0"}, [&](Value& node) {
      node["spec"].Erase("taints");
      if (on) {
        node["spec"]["taints"] =
            Value::Array({Value::Object({{"key", "team"}, {"effect", "NoExecute"}})});
      }
    });
    Settle();
  };
  taint(true);
  EXPECT_FALSE(IsWorkloadReady("job-0"));
  taint(false);
  EXPECT_TRUE(IsWorkloadReady("job-0"));
}

TEST_P(PeersTest, PodThatSucceedsStaysWithoutItsClaim) {
  BringUp({"node-0"});
  const kube::ObjectKey key = {.ns = "train", .name = "job-0"};
  cluster.agent("node-0").EndPod(store().Get(Kind::kPod, key)->uid(), "Succeeded");
  Settle();
  ASSERT_NE(store().Get(Kind::kPod, key), nullptr);
  EXPECT_TRUE(IsTerminal(*store().Get(Kind::kPod, key)));
  for (const auto& [claim, object] : store().Live(Kind::kClaim)) EXPECT_NE(claim.ns, "train");
  EXPECT_EQ(DomainLabel("node-0"), "");
}

TEST_P(PeersTest, TaintKeepsAwayThePodsThatDoNotTolerateIt) {
  const auto taint = [&](const char* effect) {
    store().Edit("admin", Kind::kNode, {.name = "node-0"}, [&](Value& node) {
      node["spec"]["taints"] =
          Value::Array({Value::Object({{"key", "team"}, {"value", "a"}, {"effect", effect}})});
    });
  };
  taint("NoSchedule");
  BringUp({"node-0"});
  EXPECT_FALSE(IsWorkloadReady("job-0"));
  store().Edit("admin", Kind::kNode, {.name = "node-0"},
               [](Value& node) { node["spec"].Erase("taints"); });
  Settle();
  EXPECT_TRUE(IsWorkloadReady("job-0"));
  taint("NoSchedule");
  Settle();
  EXPECT_NE(DaemonOn("node-0"), nullptr) << "who runs may stay";
}

TEST_P(PeersTest, NamespaceIsEmptiedInTheOrderThatIsSet) {
  BringUp({"node-0"});
  cluster.namespace_controller().SetOrder(
      {Kind::kPod, Kind::kClaimTemplate, Kind::kClaim, Kind::kComputeDomain});
  store().Delete("user", Kind::kNamespace, {.name = "train"});
  cluster.Settle();
  std::vector<Kind> begun;
  for (const Change& change : store().history().changes()) {
    if (change.actor == "namespace-controller" && change.kind != Kind::kNamespace &&
        (begun.empty() || begun.back() != change.kind)) {
      begun.push_back(change.kind);
    }
  }
  ASSERT_FALSE(begun.empty());
  EXPECT_EQ(begun.front(), Kind::kPod);
  EXPECT_EQ(begun.back(), Kind::kComputeDomain);
  Settle();
  EXPECT_EQ(store().Get(Kind::kNamespace, {.name = "train"}), nullptr);
}

// What each node's daemon says in its clique, where it writes that itself.
TEST_P(PeersTest, DaemonThatIsNotReadySaysSoAndOneThatCrashesSaysNothing) {
  BringUp({"node-0"});
  NodeAgent& agent = cluster.agent("node-0");
  const auto said = [&] { return DaemonEntries().items().at(0)["status"].AsString(); };
  agent.SetHealth(NodeAgent::Health::kCrashing);
  cluster.Settle();
  EXPECT_FALSE(IsPodReady(*DaemonOn("node-0")));
  EXPECT_EQ(said(), "Ready");
  agent.SetHealth(NodeAgent::Health::kUnready);
  cluster.Settle();
  EXPECT_FALSE(IsPodReady(*DaemonOn("node-0")));
  EXPECT_EQ(said(), GetParam() ? "Ready" : "NotReady") << "the controller has not moved";
  agent.SetHealth(NodeAgent::Health::kWell);
  Settle();
  EXPECT_TRUE(IsPodReady(*DaemonOn("node-0")));
  EXPECT_EQ(said(), "Ready");
}

TEST_P(PeersTest, DaemonThatCrashesIsWaitedForAndOfOneThatIsLostThePhaseIsUnknown) {
  BringUp({"node-0"});
  NodeAgent& agent = cluster.agent("node-0");
  const auto phase = [&] { return (*DaemonOn("node-0"))["status"]["phase"].AsString(); };
  const auto waits_for = [&] {
    const Value& containers = (*DaemonOn("node-0"))["status"]["containerStatuses"];
    return containers.items().empty()
               ? ""
               : At(containers.items().front(), {"state", "waiting", "reason"}).AsString();
  };
  agent.SetHealth(NodeAgent::Health::kCrashing);
  cluster.Settle();
  EXPECT_EQ(waits_for(), "CrashLoopBackOff");
  agent.SetHealth(NodeAgent::Health::kLost);
  cluster.Settle();
  EXPECT_EQ(phase(), "Unknown");
  EXPECT_EQ(waits_for(), "");
  EXPECT_FALSE(IsPodReady(*DaemonOn("node-0")));
  EXPECT_TRUE(IsWorkloadReady("job-0"));
  agent.SetHealth(NodeAgent::Health::kWell);
  Settle();
  EXPECT_EQ(phase(), "Running");
  EXPECT_TRUE(IsPodReady(*DaemonOn("node-0")));
}

TEST_P(PeersTest, KubeletThatBeginsAnewTakesTheSlicesAwayAndThePluginPutsThemBack) {
  BringUp({"node-0"});
  cluster.agent("node-0").RestartKubelet(cluster.now());
  Settle();
  EXPECT_EQ(store().Live(Kind::kSlice).size(), 2U);
  EXPECT_TRUE(IsWorkloadReady("job-0"));
  Wait(NodeAgent::kPutsBackAfter - seconds(1));
  EXPECT_EQ(store().Live(Kind::kSlice).size(), 2U);
  Wait(seconds(1));
  EXPECT_EQ(store().Live(Kind::kSlice).size(), 3U);
}

// Labels every node that has no label.
class Labeller final : public Peer {
 public:
  explicit Labeller(ObjectStore& store) : Peer("labeller", store, {Kind::kNode}) {}

 protected:
  void Act(Time /*now*/) override {
    for (const auto& [key, node] : store().Live(Kind::kNode)) {
      if (!node->Label("seen").empty()) continue;
      store().Edit(name(), Kind::kNode, key,
                   [](Value& object) { object["metadata"]["labels"]["seen"] = "yes"; });
      return;
    }
  }
};

TEST(Peer, LagIsHowLateItHearsOfWhatHappensAndThenItGoesOnAtOnce) {
  ObjectStore store(500);
  Labeller peer(store);
  int asked = 0;
  peer.SetLag([&] {
    ++asked;
    return seconds(5);
  });
  Time now = Cluster::kStart;
  EXPECT_FALSE(peer.Step(now));
  now += seconds(5);
  EXPECT_FALSE(peer.Step(now)) << "it looks, and there is nothing";
  EXPECT_FALSE(peer.due());

  now += seconds(60);
  for (const char* node : {"node-0", "node-1"}) {
    store.Create("user", Kind::kNode, "", NodeObject(node, "b"));
  }
  EXPECT_FALSE(peer.Step(now));
  EXPECT_EQ(peer.due(), now + seconds(5));
  EXPECT_FALSE(peer.Step(now + std::chrono::milliseconds(4'999)));
  const std::size_t before = store.history().changes().size();
  now += seconds(5);
  EXPECT_TRUE(peer.Step(now));
  EXPECT_TRUE(peer.Step(now)) << "what else there is to do waits no more";
  EXPECT_FALSE(peer.Step(now));
  EXPECT_EQ(store.history().changes().size(), before + 2);
  EXPECT_FALSE(peer.due());
  EXPECT_EQ(asked, 2) << "once for each time";
}

class GarbageCollectorTest : public testing::Test {
 protected:
  GarbageCollectorTest() { cluster.AddNamespace("train"); }

  ObjectPtr Make(const std::string& ns, const std::string& name, const Value& owners) {
    Value object = Value::Object({{"metadata", Value::Object({{"name", name}})}});
    if (!owners.items().empty()) object["metadata"]["ownerReferences"] = owners;
    return cluster.store().Create("user", Kind::kPod, ns, std::move(object)).object;
  }
  static Value Owner(const std::string& name, const kube::Uid& uid, const char* kind = "Pod") {
    return Value::Object({{"apiVersion", "v1"}, {"kind", kind}, {"name", name}, {"uid", uid}});
  }
  bool Exists(const std::string& ns, const std::string& name) {
    return cluster.store().Get(Kind::kPod, {.ns = ns, .name = name}) != nullptr;
  }

  Cluster cluster;
};

TEST_F(GarbageCollectorTest, DependentGoesWithItsLastOwnerAndLosesReferencesToTheOthers) {
  const ObjectPtr a = Make("train", "a", {});
  const ObjectPtr b = Make("train", "b", {});
  Make("train", "child", Value::Array({Owner("a", a->uid()), Owner("b", b->uid())}));
  cluster.store().Delete("user", Kind::kPod, a->key());
  cluster.Settle();
  const ObjectPtr child = cluster.store().Get(Kind::kPod, {.ns = "train", .name = "child"});
  ASSERT_TRUE(child);
  EXPECT_EQ(child->meta()["ownerReferences"].items().size(), 1U);
  cluster.store().Delete("user", Kind::kPod, b->key());
  cluster.Settle();
  EXPECT_FALSE(Exists("train", "child"));
}

TEST_F(GarbageCollectorTest, OwnerOfTheSameNameWithAnotherUidIsNoOwner) {
  Make("train", "a", {});
  Make("train", "child", Value::Array({Owner("a", "another")}));
  cluster.Settle();
  EXPECT_FALSE(Exists("train", "child"));
}

TEST_F(GarbageCollectorTest, OwnerInAnotherNamespaceIsNoOwner) {
  const ObjectPtr a = Make("train", "a", {});
  Make(kSystem, "child", Value::Array({Owner("a", a->uid())}));
  cluster.Settle();
  EXPECT_FALSE(Exists(kSystem, "child"));
}

TEST_F(GarbageCollectorTest, ClusterScopedOwnerIsFoundFromAnyNamespace) {
  cluster.AddNode("node-0", "");
  const ObjectPtr node = cluster.store().Get(Kind::kNode, {.name = "node-0"});
  Make("train", "child", Value::Array({Owner("node-0", node->uid(), "Node")}));
  cluster.Settle();
  EXPECT_TRUE(Exists("train", "child"));
}

TEST_F(GarbageCollectorTest, ForegroundDeletionEndsWhenTheLastBlockingDependentHasGone) {
  const ObjectPtr a = Make("train", "a", {});
  Value owner = Owner("a", a->uid());
  owner["blockOwnerDeletion"] = true;
  Make("train", "child", Value::Array({owner}));
  cluster.store().Delete("user", Kind::kPod, a->key(), {.propagation = "Foreground"});
  EXPECT_TRUE(Exists("train", "a"));
  cluster.Settle();
  EXPECT_FALSE(Exists("train", "a"));
  EXPECT_FALSE(Exists("train", "child"));
}

TEST_F(GarbageCollectorTest, OrphansStay) {
  const ObjectPtr a = Make("train", "a", {});
  Make("train", "child", Value::Array({Owner("a", a->uid())}));
  cluster.store().Delete("user", Kind::kPod, a->key(), {.propagation = "Orphan"});
  cluster.Settle();
  EXPECT_FALSE(Exists("train", "a"));
  EXPECT_TRUE(Exists("train", "child"));
}

}  // namespace
}  // namespace simulation
