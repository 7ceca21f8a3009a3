// Goal: what is late, refused, left unsaid or other than in a run without a fault is noticed,
// and nothing else is.
#include <gtest/gtest.h>

#include <algorithm>

#include "pkg/base/rfc3339.h"
#include "test/simulation/oracles/end_state.h"
#include "test/simulation/oracles/oracles_fixture.h"

namespace simulation {
namespace {

using std::chrono::seconds;

class PaceOraclesTest : public OraclesTest {
 protected:
  // The daemon there goes, and the controller does not notice.
  void EndDaemonOn(const std::string& node) {
    store().Edit("user", Kind::kNode, {.name = node},
                 [](Value& object) { object["metadata"]["labels"].Erase(kDomainLabel); });
    cluster.Settle();
    ASSERT_EQ(DaemonOn(node), nullptr);
  }
  // The name of the claim that holds a channel there.
  std::string ClaimOn(const std::string& node) {
    for (const auto& [key, claim] : store().Live(Kind::kClaim)) {
      if (key.ns == kDomain.ns && AllocatedNode(*claim) == node) return key.name;
    }
    ADD_FAILURE() << "no claim is on " << node;
    return {};
  }
  void MiseditStatus(const std::function<void(Value& status)>& change) {
    ASSERT_TRUE(store()
                    .Edit(
                        "controller", Kind::kComputeDomain, kDomain,
                        [&](Value& domain) { change(domain["status"]); }, Subresource::kStatus)
                    .ok());
  }
  void SayCondition(const char* type, const char* status) {
    MiseditStatus([&](Value& object) {
      Value conditions = Value::Array();
      for (const Value& one : object["conditions"].items()) {
        if (one["type"].AsString() != type) conditions.Append(one);
      }
      conditions.Append(Value::Object({{"type", type},
                                       {"status", status},
                                       {"reason", "AllMembersReady"},
                                       {"message", ""},
                                       {"lastTransitionTime", "2026-01-01T00:00:00Z"}}));
      object["conditions"] = std::move(conditions);
    });
  }
  void WriteLease(const std::string& holder) {
    const Value spec = Value::Object({{"holderIdentity", holder}});
    const Value lease =
        Value::Object({{"metadata", Value::Object({{"name", kLeaseName}})}, {"spec", spec}});
    if (store().Create("controller", Kind::kLease, kSystem, lease).ok()) return;
    store().Edit("controller", Kind::kLease, {.ns = kSystem, .name = std::string(kLeaseName)},
                 [&](Value& object) {
                   object["spec"] = spec;
                   object["spec"]["renewTime"] = base::FormatSeconds(cluster.now());
                 });
  }
  void Look() { (void)cluster.server().Handle("controller", kube::ListRequest(kube::kNodes, {})); }
};

// ---- S1

TEST_F(PaceOraclesTest, S1SeesAMemberCalledReadyWhosePodIsGone) {
  const std::string ip = (*DaemonOn("node-0"))["status"]["podIP"].AsString();
  EndDaemonOn("node-0");
  const auto set_ready = [&](const char* status) {
    Misedit(Kind::kClique, CliqueObjectKey(), [&](Value& clique) {
      for (Value& entry : clique["daemons"].MutableItems()) entry["status"] = status;
    });
  };
  set_ready("NotReady");
  cluster.Advance(seconds(2));
  set_ready("Ready");
  EXPECT_EQ(Check(ReleaseGate), "");  // It may have been on its way.
  set_ready("NotReady");
  cluster.Advance(seconds(1));
  set_ready("Ready");
  EXPECT_TRUE(Contains(Check(ReleaseGate), "where no daemon is ready under " + ip));
}

TEST_F(PaceOraclesTest, S1TakesACliqueForItsDomainsByNameWhateverItsLabelSays) {
  const auto set_ready = [&](const char* status) {
    Misedit(Kind::kClique, CliqueObjectKey(), [&](Value& clique) {
      for (Value& entry : clique["daemons"].MutableItems()) entry["status"] = status;
    });
  };
  set_ready("NotReady");
  store().Edit("user", Kind::kClique, CliqueObjectKey(),
               [](Value& clique) { clique["metadata"]["labels"][kDomainLabel] = "another"; });
  set_ready("Ready");
  EXPECT_EQ(Check(ReleaseGate), "");
}

TEST_F(PaceOraclesTest, S1TakesNoWordOfACliqueThatTheControllerWrote) {
  EndDaemonOn("node-0");
  const auto set_ready = [&](const char* state) {
    MiseditStatus([&](Value& status) {
      for (Value& node : status["nodes"].MutableItems()) {
        if (node["name"].AsString() == "node-0") node["status"] = state;
      }
    });
  };
  const auto set_entry = [&](const char* actor, const char* state) {
    store().Edit(actor, Kind::kClique, CliqueObjectKey(), [&](Value& clique) {
      for (Value& entry : clique["daemons"].MutableItems()) {
        if (entry["nodeName"].AsString() == "node-0") entry["status"] = state;
      }
    });
  };
  set_ready("NotReady");
  cluster.Advance(seconds(3));
  set_entry("daemon", "NotReady");
  set_entry("daemon", "Ready");
  set_ready("Ready");
  EXPECT_EQ(Check(ReleaseGate), "") << "so its daemon says";
  set_ready("NotReady");
  set_entry("controller", "NotReady");
  set_entry("controller", "Ready");
  set_ready("Ready");
  EXPECT_TRUE(
      Contains(Check(ReleaseGate), "in ComputeDomain train/cd-1, where no daemon is ready"));
}

TEST_F(PaceOraclesTest, S1SeesAWorkloadThatStartsWhenItsDaemonIsGone) {
  const auto set_phase = [&](const char* phase) {
    store().Edit(
        "kubelet/node-0", Kind::kPod, {.ns = "train", .name = "job-0"},
        [&](Value& pod) { pod["status"]["phase"] = phase; }, Subresource::kStatus);
  };
  set_phase("Pending");
  set_phase("Running");
  EXPECT_EQ(Check(ReleaseGate), "");
  set_phase("Pending");
  EndDaemonOn("node-0");
  set_phase("Pending");  // As its kubelet may have said otherwise.
  cluster.Advance(seconds(3));
  set_phase("Running");
  EXPECT_TRUE(Contains(Check(ReleaseGate), "started Pod train/job-0 on node-0"));
}

class BootTest : public PaceOraclesTest {
 protected:
  // Its machine boots when its daemon has been gone for a while.
  void BootNode0() {
    EndDaemonOn("node-0");
    cluster.Advance(seconds(10));
    store().Edit(
        "kubelet/node-0", Kind::kNode, {.name = "node-0"},
        [](Value& node) { node["status"]["nodeInfo"]["bootID"] = "another"; },
        Subresource::kStatus);
  }
  void LeaveReadyEntry(const char* writer) {
    store().Edit(writer, Kind::kClique, CliqueObjectKey(), [](Value& clique) {
      clique["daemons"] = Value::Array({Value::Object({{"nodeName", "node-0"},
                                                       {"cliqueID", "c.1"},
                                                       {"index", 0},
                                                       {"ipAddress", "10.9.9.9"},
                                                       {"status", "Ready"}})});
    });
  }
  void StartJobPod() {
    for (const char* phase : {"Pending", "Running"}) {
      store().Edit(
          "kubelet/node-0", Kind::kPod, {.ns = "train", .name = "job-0"},
          [&](Value& pod) { pod["status"]["phase"] = phase; }, Subresource::kStatus);
    }
  }
};

TEST_F(BootTest, S1TakesTheWordOfADaemonThatDiedWithItsNodeRightAfterTheBoot) {
  BootNode0();
  LeaveReadyEntry("daemon");
  StartJobPod();
  EXPECT_EQ(Check(ReleaseGate), "");
  cluster.Advance(seconds(10));
  StartJobPod();
  EXPECT_TRUE(Contains(Check(ReleaseGate), "started Pod train/job-0 on node-0"));
}

TEST_F(BootTest, S1TakesNoWordOfTheControllerAfterABoot) {
  BootNode0();
  LeaveReadyEntry("controller");
  StartJobPod();
  EXPECT_TRUE(Contains(Check(ReleaseGate), "started Pod train/job-0 on node-0"));
}

TEST_F(BootTest, S1SeesAWorkloadThatStartsAfterABootWithoutAnyDaemonsWord) {
  BootNode0();
  StartJobPod();
  EXPECT_TRUE(Contains(Check(ReleaseGate), "started Pod train/job-0 on node-0"));
}

// ---- S21

class ReadinessTest : public PaceOraclesTest {
 protected:
  // All serve for a while when the domain is called Ready.
  ReadinessTest() {
    system.elect = true;
    for (const char* ready : {"NotReady", "Ready"}) {
      cluster.Advance(seconds(10));
      store().Edit(
          "user", Kind::kComputeDomain, kDomain,
          [&](Value& domain) { domain["status"]["status"] = ready; }, Subresource::kStatus);
    }
  }
  void Say(const char* ready) {
    MiseditStatus([&](Value& status) { status["status"] = ready; });
  }
  std::string Check() { return OraclesTest::Check(ReadinessHasCause); }
  void SetPodReady(const char* status) {
    store().Edit(
        "kubelet", Kind::kPod, DaemonOn("node-0")->key(),
        [&](Value& pod) {
          for (Value& one : pod["status"]["conditions"].MutableItems()) {
            if (one["type"].AsString() == "Ready") one["status"] = status;
          }
        },
        Subresource::kStatus);
  }
};

TEST_F(ReadinessTest, S21SeesADomainCalledNotReadyWithoutACause) {
  cluster.Advance(seconds(10));
  EXPECT_EQ(Check(), "");
  Say("NotReady");
  EXPECT_TRUE(Contains(Check(), "took back status.status of train/cd-1"));
  system.elect = false;
  EXPECT_EQ(Check(), "") << "two that lead";
}

TEST_F(ReadinessTest, S21SeesAConditionTakenBackWithoutACause) {
  SayCondition("Ready", "True");
  cluster.Advance(seconds(10));
  SayCondition("Ready", "False");
  EXPECT_TRUE(Contains(Check(), "took back the condition Ready of train/cd-1"));
}

TEST_F(ReadinessTest, S21TakesAPodThatIsNotReadyAsACauseUntilAllServeAgain) {
  cluster.Advance(seconds(10));
  SetPodReady("False");
  Say("NotReady");
  EXPECT_EQ(Check(), "");
  SetPodReady("True");
  cluster.Advance(seconds(3));
  Say("Ready");
  cluster.Advance(seconds(3));
  Say("NotReady");  // As an older view has it.
  EXPECT_TRUE(Contains(Check(), "as they did since 3000 ms before"));
  system.view_lag = seconds(2);
  EXPECT_TRUE(Contains(Check(), "as they did since 3000 ms before"));
  system.view_lag = seconds(3);
  EXPECT_EQ(Check(), "");
}

TEST_F(ReadinessTest, S21TakesWhatWasSoMeanwhileAsACause) {
  cluster.Advance(seconds(10));
  SetPodReady("False");
  SetPodReady("True");
  cluster.Advance(seconds(10));
  Say("NotReady");
  EXPECT_EQ(Check(), "");
}

TEST_F(ReadinessTest, S21TakesNoCauseThatIsLongOver) {
  cluster.Advance(seconds(10));
  SetPodReady("False");
  SetPodReady("True");
  cluster.Advance(seconds(31));
  Say("NotReady");
  EXPECT_TRUE(Contains(Check(), "took back status.status of train/cd-1"));
  system.excuses.push_back({.from = cluster.now() - seconds(31), .until = cluster.now()});
  EXPECT_EQ(Check(), "") << "a fault kept it from being told";
  system.excuses.clear();
  system.silence = seconds(31);
  EXPECT_EQ(Check(), "") << "a silent watch did";
}

TEST_F(ReadinessTest, S21TakesAMissingChildAsACause) {
  cluster.Advance(seconds(10));
  store().Delete("user", Kind::kClaimTemplate, kWorkloadTemplate);
  Say("NotReady");
  EXPECT_EQ(Check(), "");
}

TEST_F(ReadinessTest, S21TakesANodeWithoutADaemonAsACause) {
  cluster.Advance(seconds(10));
  store().Edit("user", Kind::kNode, {.name = "node-1"},
               [&](Value& node) { node["metadata"]["labels"][kDomainLabel] = uid; });
  Say("NotReady");
  EXPECT_EQ(Check(), "");
}

TEST_F(ReadinessTest, S21TakesAClaimWithoutADaemonAsACause) {
  cluster.Advance(seconds(10));
  cluster.agent("node-1").StopPlugin(cluster.now());  // So that the node gets no label.
  cluster.AddWorkload({.ns = "train", .name = "more"}, "channel", {"node-1"});
  cluster.Settle();
  Say("NotReady");
  EXPECT_EQ(Check(), "");
}

TEST_F(ReadinessTest, S21TakesAPodThatWaitsAsACauseOfTheConditionAlone) {
  SayCondition("Ready", "True");
  cluster.Advance(seconds(10));
  cluster.AddWorkload({.ns = "train", .name = "more"}, "channel", {"a-node-that-is-not-there"});
  cluster.Settle();
  SayCondition("Ready", "False");
  EXPECT_EQ(Check(), "");
  Say("NotReady");
  EXPECT_TRUE(Contains(Check(), "took back status.status of train/cd-1"));
}

TEST_F(ReadinessTest, S21TakesTooFewNodesAsACause) {
  const kube::ObjectKey second = {.ns = "train", .name = "cd-2"};
  cluster.CreateDomain(second, "other", 1);
  Settle();
  for (const char* ready : {"Ready", "NotReady"}) {
    cluster.Advance(seconds(10));
    store().Edit(
        "controller", Kind::kComputeDomain, second,
        [&](Value& domain) { domain["status"]["status"] = ready; }, Subresource::kStatus);
  }
  EXPECT_EQ(Check(), "");
}

TEST_F(ReadinessTest, S21TakesADeletionAsACause) {
  cluster.Advance(seconds(10));
  cluster.DeleteDomain(kDomain);
  Say("NotReady");
  EXPECT_EQ(Check(), "");
}

// ---- Q1

TEST_F(PaceOraclesTest, Q1SeesMoreThan20RequestsOfOneKindInASecond) {
  cluster.Advance(seconds(10));
  const auto patch = [&](const char* client, const char* node) {
    (void)cluster.server().Handle(
        client, kube::JsonPatchRequest(kube::kNodes, {.name = node}, Value::Array()));
  };
  for (int i = 0; i < 20; ++i) {
    patch("controller", "node-0");
    patch("controller", "node-1");
    patch("user", "node-0");
    patch("user", "node-0");
    cluster.Advance(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(Check(RequestsHaveABudget), "");
  cluster.Advance(std::chrono::milliseconds(800));
  patch("controller", "node-0");  // A second after the first.
  EXPECT_EQ(Check(RequestsHaveABudget), "");
  patch("controller", "node-0");
  EXPECT_TRUE(
      Contains(Check(RequestsHaveABudget),
               "controller sent patch /api/v1/nodes/node-0 node-0  21 times within 990 ms"));
  system.clocks_drift_per_million = 10'000;  // By a clock that is fast a second has passed.
  EXPECT_EQ(Check(RequestsHaveABudget), "");
}

TEST_F(PaceOraclesTest, REV4_K2_Q3SeesTheSameWriteMoreThan20TimesInAMinute) {
  const auto write = [&](const char* client, const char* value) {
    const Value labels =
        Value::Object({{"metadata", Value::Object({{"labels", Value::Object({{"a", value}})}})}});
    (void)cluster.server().Handle(
        client, kube::MergePatchRequest(kube::kNodes, {.name = "node-0"}, labels));
  };
  for (int i = 0; i < 20; ++i) {
    write("controller", "same");
    write("controller", std::to_string(i).c_str());
    write("user", "same");
    write("user", "same");
    cluster.Advance(seconds(2));
  }
  EXPECT_EQ(Check(RepetitionsArePaced), "");
  write("controller", "same");
  EXPECT_TRUE(Contains(Check(RepetitionsArePaced), "21 times within 40000 ms"));
}

TEST_F(PaceOraclesTest, Q1GivesWhoMayNotPatchTwoReadsOfWhatItWrites) {
  system.elect = true;
  cluster.Advance(seconds(10));
  const auto get = [&] {
    (void)cluster.server().Handle("controller", kube::GetRequest(kube::kNodes, {.name = "node-0"}));
  };
  for (int i = 0; i < 21; ++i) get();
  EXPECT_TRUE(Contains(Check(RequestsHaveABudget), " 21 times"));
  system.may_patch = false;
  EXPECT_EQ(Check(RequestsHaveABudget), "");
  for (int i = 0; i < 20; ++i) get();
  EXPECT_TRUE(Contains(Check(RequestsHaveABudget), " 41 times"));
}

TEST_F(PaceOraclesTest, Q1GivesEachDomainOfANamespaceABudgetForWhatTheyAllRead) {
  cluster.Advance(seconds(10));
  const auto list = [&](const std::string& label_selector) {
    const http::Request request = kube::ListRequest(
        kube::kResourceClaims, {.ns = kDomain.ns, .label_selector = label_selector});
    for (int i = 0; i < 21; ++i) (void)cluster.server().Handle("controller", request);
  };
  list("");
  EXPECT_TRUE(Contains(Check(RequestsHaveABudget), "/resourceclaims   21 times"));
  cluster.CreateDomain({.ns = kDomain.ns, .name = "second"}, "one", 1);
  EXPECT_TRUE(Contains(Check(RequestsHaveABudget), "/resourceclaims   21 times"))
      << "it came afterwards";
  cluster.Advance(seconds(1));
  list("mine");
  EXPECT_TRUE(Contains(Check(RequestsHaveABudget), "/resourceclaims  mine 21 times"));
}

TEST_F(PaceOraclesTest, Q1LetsTwoDomainsOfANamespaceReadItsClaimsTwiceAsOften) {
  cluster.CreateDomain({.ns = kDomain.ns, .name = "second"}, "one", 1);
  cluster.Advance(seconds(10));
  const auto list = [&] {
    (void)cluster.server().Handle("controller",
                                  kube::ListRequest(kube::kResourceClaims, {.ns = kDomain.ns}));
  };
  for (int i = 0; i < 40; ++i) list();
  EXPECT_EQ(Check(RequestsHaveABudget), "");
  list();
  EXPECT_TRUE(Contains(Check(RequestsHaveABudget), "/resourceclaims   41 times"));
}

TEST_F(PaceOraclesTest, Q1CountsPostsByNameAndPagesOfOneListOnce) {
  cluster.Advance(seconds(10));
  const auto send = [&](http::Request request) {
    (void)cluster.server().Handle("daemon/x", request);
  };
  const auto create = [&](const std::string& name) {
    send(kube::CreateRequest(kube::kResourceClaimTemplates, "other", ForeignTemplateObject(name)));
  };
  for (int i = 0; i < 30; ++i) {
    create("name-" + std::to_string(i));
    http::Request page = kube::ListRequest(kube::kNodes, {});
    page.path += (page.path.find('?') == std::string::npos ? "?" : "&") + std::string("continue=x");
    send(page);
  }
  EXPECT_EQ(Check(RequestsHaveABudget), "");
  for (int i = 0; i < 21; ++i) create("one");
  EXPECT_TRUE(Contains(Check(RequestsHaveABudget), "/resourceclaimtemplates one  21 times"));
}

// ---- L4, L5, S10

TEST_F(PaceOraclesTest, L5SeesANodeThatIsShownReadyForTooLong) {
  EndDaemonOn("node-0");
  cluster.Advance(seconds(2));
  EXPECT_EQ(Check(StatusFollows), "");
  cluster.Advance(seconds(1));
  EXPECT_TRUE(Contains(Check(StatusFollows), "shows node-0 Ready, where no daemon serves"));
}

TEST_F(PaceOraclesTest, L5SeesADaemonThatIsNotShownForTooLong) {
  MiseditStatus([](Value& status) {
    for (Value& node : status["nodes"].MutableItems()) node["status"] = "NotReady";
  });
  EXPECT_EQ(Check(StatusFollows), "");
  cluster.Advance(seconds(7));
  const std::string violations = Check(StatusFollows);
  EXPECT_TRUE(Contains(violations, "does not show node-0 Ready, where a daemon serves"));
  EXPECT_TRUE(Contains(violations, "does not show node-2 Ready, where a daemon serves"));
}

TEST_F(PaceOraclesTest, L5SeesAMemberThatNoPodUsesForTooLong) {
  ASSERT_TRUE(store()
                  .Edit(
                      "kubelet", Kind::kClaim, {.ns = kDomain.ns, .name = ClaimOn("node-0")},
                      [](Value& claim) { claim.Erase("status"); }, Subresource::kStatus)
                  .ok());
  cluster.Advance(seconds(2));
  EXPECT_EQ(Check(StatusFollows), "");
  cluster.Advance(seconds(1));
  EXPECT_TRUE(Contains(Check(StatusFollows), "shows node-0, where no pod has a channel"));
}

TEST_F(PaceOraclesTest, L5SeesAnEntryThatIsMissingInACliqueOfOurs) {
  Misedit(Kind::kClique, CliqueObjectKey(),
          [](Value& clique) { clique["daemons"] = Value::Array(); });
  MiseditStatus([](Value& status) {
    std::erase_if(status["nodes"].MutableItems(),
                  [](const Value& node) { return node["name"].AsString() == "node-0"; });
  });
  cluster.Advance(seconds(7));
  EXPECT_TRUE(Contains(Check(StatusFollows), "does not show node-0 Ready"));
}

TEST_F(PaceOraclesTest, S26SeesMemoryCalledSharedThatIsNot) {
  SayCondition("MemoryShared", "True");  // One of its two pods is on a node without fabric.
  EXPECT_EQ(Check(StatusFollows), "");
  cluster.Advance(seconds(3));
  EXPECT_TRUE(
      Contains(Check(StatusFollows), "says that memory is shared, although a node has no fabric"));
}

TEST_F(PaceOraclesTest, S26SeesMemoryCalledSharedWhereNobodyServesAPod) {
  EndDaemonOn("node-0");
  cluster.FailNode("node-0");
  SayCondition("MemoryShared", "True");
  cluster.Advance(seconds(3));
  EXPECT_TRUE(Contains(Check(StatusFollows), "although nobody serves node-0"));
}

TEST_F(PaceOraclesTest, S26SeesMemoryThatIsSharedAndNotCalledSo) {
  workload->Finish();
  Settle();
  cluster.AddWorkload({.ns = "train", .name = "solo"}, "channel", {"node-0", "node-1"});
  Settle();
  SayCondition("MemoryShared", "False");
  cluster.Advance(seconds(5));
  EXPECT_FALSE(Contains(Check(StatusFollows), "memory is shared"));
  cluster.Advance(seconds(2));
  EXPECT_TRUE(Contains(Check(StatusFollows), "does not say that memory is shared"));
}

TEST_F(PaceOraclesTest, S26SeesMemoryCalledSharedOfPodsThatHaveEnded) {
  workload->Finish();
  cluster.Settle();
  SayCondition("MemoryShared", "True");
  cluster.Advance(seconds(3));
  EXPECT_TRUE(Contains(Check(StatusFollows), "although no pod uses it"));
}

// The garbage collector may be late.
TEST_F(PaceOraclesTest, S26TakesAClaimWithoutANodeForAPodThatWaitsWhileThePodExists) {
  workload->Finish();
  Settle();
  cluster.AddWorkload({.ns = "train", .name = "solo"}, "channel", {"node-0", "node-1"});
  Settle();
  const auto& claims = store().Live(Kind::kClaim);
  const auto of_pod = std::ranges::find_if(claims, [](const auto& item) {
    return item.first.ns == "train" && item.second->ControllerOwner()["kind"].AsString() == "Pod";
  });
  ASSERT_NE(of_pod, claims.end());
  Value waits = of_pod->second->value();
  waits["metadata"]["name"] = "waits";
  waits["metadata"].Erase("resourceVersion");
  Value left = waits;
  left["metadata"]["name"] = "left";
  left["metadata"]["ownerReferences"].MutableItems().at(0)["uid"] = "of-a-pod-that-is-gone";
  ASSERT_TRUE(store().Create("user", Kind::kClaim, "train", left).ok());
  for (const char* status : {"True", "False"}) {
    SayCondition("MemoryShared", status);
    cluster.Advance(seconds(8));
    EXPECT_FALSE(Contains(Check(StatusFollows), "memory is shared")) << status;
  }
  ASSERT_TRUE(store().Create("user", Kind::kClaim, "train", waits).ok());
  SayCondition("MemoryShared", "True");
  cluster.Advance(seconds(3));
  EXPECT_TRUE(Contains(Check(StatusFollows), "although the pod of train/waits waits"));
}

TEST_F(PaceOraclesTest, S10SeesADomainCalledReadyWhileANodeOfItIsNotServed) {
  SayCondition("Ready", "True");
  LabelIdleNode();
  EXPECT_EQ(Check(StatusFollows), "");
  EndDaemonOn("node-1");
  cluster.FailNode("node-1");  // So that nothing comes up there.
  store().Edit("user", Kind::kNode, {.name = "node-1"},
               [&](Value& node) { node["metadata"]["labels"][kDomainLabel] = uid; });
  Settle();
  SayCondition("Ready", "True");
  EXPECT_EQ(Check(StatusFollows), "");
  cluster.Advance(seconds(3));
  EXPECT_EQ(Check(StatusFollows), "") << "no pod is there";
  system.may_read_claims = false;
  EXPECT_TRUE(Contains(Check(StatusFollows),
                       "S10 ReadyIsTrue: train/cd-1 is Ready although nobody serves node-1"));
}

TEST_F(PaceOraclesTest, S10SeesADomainCalledReadyWhileANodeWithAClaimIsNotServed) {
  SayCondition("Ready", "True");
  cluster.FailNode("node-1");  // So that nothing comes up there.
  cluster.AddWorkload({.ns = "train", .name = "more"}, "channel", {"node-1"});
  Settle();
  SayCondition("Ready", "True");
  EXPECT_EQ(Check(StatusFollows), "");
  cluster.Advance(seconds(3));
  EXPECT_TRUE(Contains(Check(StatusFollows),
                       "S10 ReadyIsTrue: train/cd-1 is Ready although nobody serves node-1"));
}

TEST_F(PaceOraclesTest, L4SeesALabelThatStaysAfterItsDomain) {
  store().Edit("user", Kind::kComputeDomain, kDomain,
               [](Value& domain) { domain["metadata"].Erase("finalizers"); });
  cluster.DeleteDomain(kDomain);
  cluster.Advance(seconds(61));
  EXPECT_EQ(Check(StatusFollows), "");
  cluster.Advance(seconds(2));
  EXPECT_TRUE(Contains(Check(StatusFollows), "L4 NodesAreFreed: node-0"));
}

// ---- L8

TEST_F(PaceOraclesTest, L8SeesAReplicaThatLeadsTooLate) {
  system.clients = {"late"};
  (void)cluster.server().Handle("late", kube::ListRequest(kube::kNodes, {}));
  cluster.Advance(seconds(20));
  WriteLease("late");
  EXPECT_TRUE(Contains(Check(FailoverIsFast), "late led only after 20000 ms"));
}
TEST_F(PaceOraclesTest, L8LetsAReplicaWaitForALeaseToEnd) {
  system.clients = {"punctual"};
  (void)cluster.server().Handle("punctual", kube::ListRequest(kube::kNodes, {}));
  cluster.Advance(seconds(19));
  WriteLease("punctual");
  EXPECT_EQ(Check(FailoverIsFast), "");
}

TEST_F(PaceOraclesTest, L8CountsFromTheLastTimeThatALeaseWasRenewed) {
  system.clients = {"first", "second"};
  for (const char* client : {"first", "second"}) {
    (void)cluster.server().Handle(client, kube::ListRequest(kube::kNodes, {}));
  }
  WriteLease("first");
  cluster.Advance(seconds(100));
  WriteLease("first");
  cluster.Advance(seconds(19));
  WriteLease("second");
  EXPECT_EQ(Check(FailoverIsFast), "");
  system.clients.insert("third");
  (void)cluster.server().Handle("third", kube::ListRequest(kube::kNodes, {}));
  cluster.Advance(seconds(20));
  WriteLease("third");
  EXPECT_TRUE(Contains(Check(FailoverIsFast), "third led only after 20000 ms"));
}

TEST_F(PaceOraclesTest, L8LetsAReplicaWaitWhileAKindCannotBeRead) {
  system.clients = {"first", "second"};
  for (const char* client : {"first", "second"}) {
    (void)cluster.server().Handle(client, kube::ListRequest(kube::kNodes, {}));
  }
  WriteLease("first");
  system.unreadable = {"pods"};
  system.unreadable_until = cluster.now();
  cluster.Advance(seconds(20));
  WriteLease("second");
  EXPECT_EQ(Check(FailoverIsFast), "");
  system.unreadable.clear();
  EXPECT_TRUE(Contains(Check(FailoverIsFast), "second led only after 20000 ms"));
}

// ---- S15

TEST_F(PaceOraclesTest, S15SeesAWriteOfOneThatDoesNotLead) {
  system.elect = true;
  system.clients = {"controller", "other"};
  const auto patch = [&] {
    (void)cluster.server().Handle(
        "controller", kube::JsonPatchRequest(kube::kNodes, {.name = "node-0"}, Value::Array()));
  };
  WriteLease("controller");
  Settle();
  const std::string before = Check(OnlyTheLeaderWrites);  // When nobody stood for election.
  patch();
  EXPECT_EQ(Check(OnlyTheLeaderWrites), before);
  WriteLease("other");
  (void)cluster.server().Handle("controller", kube::ListRequest(kube::kNodes, {}));
  EXPECT_EQ(Check(OnlyTheLeaderWrites), before) << "it may look";
  patch();
  EXPECT_TRUE(Contains(Check(OnlyTheLeaderWrites), "controller sent patch nodes node-0"));
  system.elect = false;
  EXPECT_EQ(Check(OnlyTheLeaderWrites), "");
}

// ---- What is excused

TEST(Lateness, IsWhatOfATimeIsNotExcused) {
  const Time t0 = Cluster::kStart;
  const auto at = [&](int s) { return t0 + seconds(s); };
  SystemUnderTest system;
  EXPECT_EQ(Lateness(system, at(1), at(8)), seconds(7));
  system.excuses = {{.from = at(4), .until = at(6)}};
  EXPECT_EQ(Lateness(system, at(1), at(8)), seconds(5));
  EXPECT_EQ(Lateness(system, at(5), at(8)), seconds(2));
  EXPECT_EQ(Lateness(system, at(1), at(5)), seconds(3));
  EXPECT_EQ(Lateness(system, at(1), at(3)), seconds(2));
  EXPECT_EQ(Lateness(system, at(7), at(8)), seconds(1));
  system.excuses.push_back({.from = at(3), .until = at(5)});  // They overlap.
  EXPECT_EQ(Lateness(system, at(1), at(8)), seconds(4));
  system.excuses.push_back({.from = at(7)});  // One that goes on.
  EXPECT_EQ(Lateness(system, at(1), at(8)), seconds(3));
}

TEST_F(PaceOraclesTest, S10_L5SeeWhatIsLateThoughAFaultWasExcusedBefore) {
  EndDaemonOn("node-0");
  const Time now = cluster.now();
  system.excuses = {{.from = now, .until = now + seconds(20)}};
  cluster.Advance(seconds(21));
  EXPECT_EQ(Check(StatusFollows), "");
  cluster.Advance(seconds(2));
  EXPECT_TRUE(Contains(Check(StatusFollows), "shows node-0 Ready, where no daemon serves"));
}

// ---- S19, Q2

TEST_F(PaceOraclesTest, S19SeesARefusedRequestButNoneThatAnotherWasFasterWith) {
  const auto patch = [&](const Value& operations) {
    (void)cluster.server().Handle(
        "controller", kube::JsonPatchRequest(kube::kNodes, {.name = "node-0"}, operations));
  };
  const auto operation = [](const char* op, const char* path, const char* value) {
    return Value::Object({{"op", op}, {"path", path}, {"value", value}});
  };
  (void)cluster.server().Handle("controller", kube::GetRequest(kube::kNodes, {.name = "nobody"}));
  patch(Value::Array({operation("test", "/metadata/uid", "another")}));
  EXPECT_EQ(Check(NothingRefused), "");
  patch(Value::Array({operation("remove", "/metadata/nothing", "")}));
  EXPECT_TRUE(
      Contains(Check(NothingRefused), "S19 NothingRefused: controller sent patch nodes node-0: "));
}

TEST_F(PaceOraclesTest, Q2LetsWhatWasSeenBeforeBeToldLater) {
  const auto tell = [&](const char* when) {
    Value event = Value::Object({{"apiVersion", "events.k8s.io/v1"}, {"kind", "Event"}});
    event["metadata"]["name"] = std::string("e.") + when;
    event["eventTime"] = when;
    (void)cluster.server().Handle("controller", kube::CreateRequest(kube::kEvents, "train", event));
  };
  cluster.Advance(seconds(60));
  const std::size_t since = cluster.server().requests().size();
  Look();  // Which sets when it was quiet.
  const auto count = [&] { return QuietAtRest(cluster.server(), system, since).size(); };
  ASSERT_EQ(count(), 1U);
  tell("2026-01-01T00:00:10.000000Z");
  EXPECT_EQ(count(), 1U);
  tell("2026-01-01T00:05:00.000000Z");
  EXPECT_EQ(count(), 2U);
}

// ---- L1

TEST_F(PaceOraclesTest, L1SeesEachConditionThatIsMissingOrWrong) {
  system.says_all = true;
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "has no observedGeneration in status"));
  const auto write_all = [&] {
    for (const char* type : {"Accepted", "Provisioned", "MembersReady", "Ready", "InUse"}) {
      SayCondition(type, "True");
    }
    SayCondition("MemoryShared", "False");  // One of two members has no fabric.
    MiseditStatus([](Value& status) {
      status["members"] = "2/2";
      status["observedGeneration"] = 1;
      Value clique = Value::Object({{"id", "c.1"}, {"members", 1}, {"ready", 1}});
      Value none = Value::Object({{"id", ""}, {"members", 1}, {"ready", 1}});
      status["cliques"] = Value::Array({clique, none});
      // Its warnings have tests of their own.
      for (Value& one : status["conditions"].MutableItems()) {
        one["message"] = "Without NVLink fabric: node-2.";
      }
    });
  };
  write_all();
  EXPECT_EQ(Check(ChildrenAndStatusMatch), "");
  for (const char* type : {"Accepted", "Provisioned", "MembersReady", "Ready", "InUse"}) {
    SayCondition(type, "False");
    EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch),
                         "has the condition " + std::string(type) + "=False"));
    write_all();
  }
  SayCondition("MemoryShared", "True");
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "the condition MemoryShared=True instead"));
  write_all();
  MiseditStatus([](Value& status) { status["cliques"] = Value::Array(); });
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "does not sum up the clique c.1"));
}

TEST_F(PaceOraclesTest, L1TakesTheAddressFromThePodAndNotFromTheEntryThatTheControllerWrote) {
  const auto move = [](Value& entries) {
    for (Value& entry : entries.MutableItems()) {
      if (entry["cliqueID"].AsString() == "c.1") entry["ipAddress"] = "10.9.9.9";
    }
  };
  Misedit(Kind::kClique, CliqueObjectKey(), [&](Value& clique) { move(clique["daemons"]); });
  MiseditStatus([&](Value& status) { move(status["nodes"]); });
  EXPECT_TRUE(Contains(Check(ChildrenAndStatusMatch), "shows node-0 as {10.9.9.9 c.1"));
}

// Of nodes where a pod has a channel, and of daemons that crash.
TEST_F(PaceOraclesTest, B56_K3_L1SeesAMissingPluginAndACrashLoopThatAreNotSaidOrNotSo) {
  const auto say = [&](const std::string& message) {
    SayCondition("MembersReady", "False");
    MiseditStatus([&](Value& status) {
      for (Value& one : status["conditions"].MutableItems()) one["message"] = message;
    });
    return Check(ChildrenAndStatusMatch);
  };
  const std::string missing = "No kubelet plugin of ours is registered on node-0: see to it. ";
  const std::string crashes = "Not ready: node-2 (CrashLoopBackOff: no CDI device). ";
  EXPECT_TRUE(Contains(say(missing), "says that node-0 has no plugin"));
  EXPECT_TRUE(Contains(say(crashes), "says that a daemon crashes"));
  cluster.agent("node-0").StopPlugin(cluster.now());
  cluster.agent("node-2").SetHealth(NodeAgent::Health::kCrashing);
  cluster.Settle();
  cluster.Advance(seconds(31));
  cluster.Settle();
  EXPECT_TRUE(Contains(say(""), "does not say that node-0 has no plugin"));
  EXPECT_TRUE(Contains(say(""), "does not say \"node-2 (CrashLoopBackOff: no CDI device)\""));
  const std::string told = say(missing + crashes);
  EXPECT_FALSE(Contains(told, "plugin"));
  EXPECT_FALSE(Contains(told, "rash"));
}

TEST_F(PaceOraclesTest, REV4_K8_L1SeesThatCliquesAreCalledServedOrNotWronglyWhereNoPodUsesThem) {
  system.says_all = true;
  const auto say = [&](const std::string& message) {
    SayCondition("MembersReady", "True");
    MiseditStatus([&](Value& status) {
      for (Value& one : status["conditions"].MutableItems()) one["message"] = message;
    });
    return Check(ChildrenAndStatusMatch);
  };
  EXPECT_TRUE(Contains(say("Cliques are not served."), "says that cliques are not served"));
  system.serves_cliques = false;
  EXPECT_TRUE(Contains(say(""), "does not say that cliques are not served"));
}

// ---- D1, D2

TEST_F(PaceOraclesTest, D1_D2_L1SeeWhatIsOtherAtRestOrWasMadeTwiceOrLate) {
  const auto course = [&] {
    return Course{.rests = {DescribeEnd(cluster.server(), system)},
                  .deeds = {CountDeeds(cluster.server(), system)}};
  };
  const auto all = [](const Violations& violations) {
    std::string text;
    for (const std::string& violation : violations) text += violation + "\n";
    return text;
  };
  const Course expected = course();
  EXPECT_EQ(all(SameEnd(course(), expected)), "");
  store().Edit("somebody", Kind::kComputeDomain, kDomain,
               [](Value& domain) { domain["metadata"]["annotations"]["cdom.dev/joining"] = "1"; });
  EXPECT_EQ(all(SameEnd(course(), expected)), "");  // Another version of the same.
  Mislabel("node-1", uid);
  EXPECT_TRUE(Contains(all(SameEnd(course(), expected)),
                       "there is Node node-1 of train/cd-1#1 instead of Node node-1 of nobody"));
  EXPECT_EQ(all(SameDeeds(course(), expected)), "");
  ASSERT_TRUE(Misdelete(Kind::kDaemonSet, DaemonKey()).ok());
  Settle();
  const std::string deeds = all(SameDeeds(course(), expected));
  EXPECT_TRUE(Contains(deeds, "D2 SameDeeds: deleted DaemonSet 1 times instead of 0"));
  const Course fast = {.times = {seconds(10), seconds(30)}};
  EXPECT_EQ(all(SameTime({.times = {seconds(70), seconds(150)}}, fast, seconds(60))), "");
  EXPECT_TRUE(Contains(all(SameTime({.times = {seconds(10), seconds(91)}}, fast, seconds(60))),
                       "L1 SameTime: it came to rest 2 of 2 after 81000 ms instead of 20000 ms"));
  EXPECT_TRUE(Contains(all(SameTime({.times = {seconds(71)}}, fast, seconds(60))),
                       "L1 SameTime: it came to rest 1 of 1 after 71000 ms instead of 10000 ms"));
  const Course few = {.requests = {10, 20}};
  EXPECT_EQ(all(FewMoreRequests({.requests = {15, 25, 99}}, few, 5)), "");
  EXPECT_TRUE(Contains(all(FewMoreRequests({.requests = {10, 26}}, few, 5)),
                       "until rest 2 of 2 it sent 26 requests instead of 20"));
  const int sent = CountRequests(cluster.server(), system);
  Look();
  EXPECT_EQ(CountRequests(cluster.server(), system), sent + 1);
  Course other = expected;
  other.rests.clear();
  EXPECT_TRUE(Contains(all(SameEnd(other, expected)), "came to rest 0 times instead of 1"));
}

}  // namespace
}  // namespace simulation
