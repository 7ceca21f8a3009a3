// Goal: each oracle over the product's daemons is green where nobody does wrong, and red after each
// wrong that it is there for. See oracles_test.cc.
#include "test/simulation/oracles/daemon_oracles.h"

#include <gtest/gtest.h>

#include "test/simulation/oracles/oracles_fixture.h"

namespace simulation {
namespace {

using std::chrono::seconds;

// The cluster of the other tests, whose nodes play daemons; and on node-0 an IMEX, as the product's
// would run it there.
class DaemonOraclesTest : public OraclesTest {
 protected:
  explicit DaemonOraclesTest(bool controller_writes = true) : OraclesTest(controller_writes) {
    const ObjectPtr pod = DaemonOn("node-0");
    container_ = {.pod = pod->key(),
                  .uid = pod->uid(),
                  .node = "node-0",
                  .ip = (*pod)["status"]["podIP"].AsString(),
                  .domain = uid,
                  .clique = "c.1"};
    fabric_.StartContainer(container_, cluster.now());
    fabric_.Start(container_, {{.index = 0, .ip = container_.ip}}, cluster.now());
    Report(0, 0);
  }

  void Report(int index, int restarts) {
    Send("pods", container_.pod.name,
         R"({"metadata":{"uid":")" + container_.uid + R"(","annotations":{"cdom.dev/imex":)" +
             json::Serialize(
                 Value(json::Serialize(Value::Object({{"index", index},
                                                      {"state", "READY"},
                                                      {"version", "580.1"},
                                                      {"started", "2026-01-01T00:00:00Z"},
                                                      {"restarts", restarts},
                                                      {"unreachable", Value::Array()}})))) +
             "}}}");
  }
  // The daemon does.
  void Send(const std::string& plural, const std::string& name, const std::string& patch) {
    const bool is_pod = plural == "pods";
    const std::string api = is_pod ? "/api/v1" : "/apis/resource.nvidia.com/v1beta1";
    (void)cluster.server().Handle(
        "daemon/" + container_.pod.name,
        {.method = http::Method::kPatch,
         .path = api + "/namespaces/" + kSystem + "/" + plural + "/" + name,
         .content_type = "application/merge-patch+json",
         .body = patch});
  }
  void EditEntry(const char* name, const Value& value) {
    store().Edit("user", Kind::kClique, CliqueObjectKey(),
                 [&](Value& clique) { clique["daemons"].MutableItems().at(0)[name] = value; });
  }
  template <typename Oracle>
  std::string CheckDaemon(Oracle oracle) {
    std::string all;
    for (const std::string& violation : oracle(cluster.server(), fabric_)) all += violation + "\n";
    return all;
  }

  Fabric fabric_{store().history()};
  DaemonContainer container_;
};

class OwnEntryOraclesTest : public DaemonOraclesTest {
 protected:
  OwnEntryOraclesTest() : DaemonOraclesTest(false) {}
};

TEST_F(DaemonOraclesTest, RunWithoutViolations_IsGreen) {
  EXPECT_EQ(CheckDaemon(CheckDaemons), "");
  EXPECT_EQ(CheckDaemon(CheckDaemonsAtRest), "");
}

TEST_F(DaemonOraclesTest, I1SeesAnImexThatIsToldToEndUnderItsPod) {
  fabric_.TellToEnd(container_, cluster.now());
  EXPECT_TRUE(Contains(CheckDaemon(ImexIsKept), "told IMEX to end"));
}

TEST_F(DaemonOraclesTest, I1SeesASecondImexBesideTheFirst) {
  fabric_.Start(container_, {}, cluster.now());
  EXPECT_TRUE(Contains(CheckDaemon(ImexIsKept), "beside one that runs"));
}

TEST_F(DaemonOraclesTest, I1LetsOneThatEndedBeStartedAndOneEndWithItsPod) {
  fabric_.End(container_.uid, cluster.now());
  fabric_.Start(container_, {{.index = 0, .ip = container_.ip}}, cluster.now());
  fabric_.TellToStop(container_, cluster.now());
  fabric_.TellToEnd(container_, cluster.now());
  EXPECT_EQ(CheckDaemon(ImexIsKept), "");
}

TEST_F(DaemonOraclesTest, I2SeesAnIndexThatTheCliqueDoesNotHaveForIt) {
  fabric_.StartContainer(container_, cluster.now());
  fabric_.Start(container_, {{.index = 3, .ip = container_.ip}}, cluster.now());
  EXPECT_TRUE(Contains(CheckDaemon(ImexStartsUnderItsIndex), "under the index 3"));
}

TEST_F(DaemonOraclesTest, I2SeesAnImexWithoutAnIndex) {
  fabric_.StartContainer(container_, cluster.now());
  fabric_.Start(container_, {}, cluster.now());
  EXPECT_TRUE(Contains(CheckDaemon(ImexStartsUnderItsIndex), "under the index -1"));
}

TEST_F(DaemonOraclesTest, I2LetsAWatchBeLateButNotForever) {
  EditEntry("index", 5);
  const auto start = [&] {
    fabric_.StartContainer(container_, cluster.now());
    fabric_.Start(container_, {{.index = 0, .ip = container_.ip}}, cluster.now());
  };
  cluster.Advance(seconds(10));
  start();
  EXPECT_EQ(CheckDaemon(ImexStartsUnderItsIndex), "");
  cluster.Advance(seconds(60));
  start();
  EXPECT_TRUE(Contains(CheckDaemon(ImexStartsUnderItsIndex), "under the index 0"));
}

TEST_F(DaemonOraclesTest, I3SeesADaemonThatWritesTheControllersClique) {
  Send("computedomaincliques", CliqueObjectKey().name, R"({"daemons":[]})");
  EXPECT_TRUE(Contains(CheckDaemon(DaemonsWriteTheirOwn), "patch computedomaincliques"));
}

TEST_F(DaemonOraclesTest, I3SeesADaemonThatWritesMoreThanItsLabelAndItsReport) {
  Send("pods", container_.pod.name,
       R"({"metadata":{"uid":"u","labels":{"resource.nvidia.com/computeDomain":"x"}}})");
  EXPECT_TRUE(Contains(CheckDaemon(DaemonsWriteTheirOwn), "patch pods"));
}

TEST_F(DaemonOraclesTest, I3SeesADaemonThatWritesToAnothersPod) {
  Send("pods", DaemonOn("node-2")->key().name,
       R"({"metadata":{"uid":"u","annotations":{"cdom.dev/imex":"x"}}})");
  EXPECT_TRUE(Contains(CheckDaemon(DaemonsWriteTheirOwn), "patch pods"));
}

TEST_F(OwnEntryOraclesTest, I3SeesADaemonThatWritesAnothersEntry) {
  store().Edit("daemon/" + container_.pod.name, Kind::kClique, CliqueObjectKey(),
               [](Value& clique) {
                 clique["daemons"].Append(Value::Object({{"nodeName", "node-1"},
                                                         {"ipAddress", "10.9.9.9"},
                                                         {"cliqueID", "c.1"},
                                                         {"index", 4},
                                                         {"status", "Ready"}}));
               });
  EXPECT_TRUE(Contains(CheckDaemon(DaemonsWriteTheirOwn), "changed another's entry"));
}

TEST_F(OwnEntryOraclesTest, I3SeesAReportThatNobodyAskedFor) {
  EXPECT_TRUE(Contains(CheckDaemon(DaemonsWriteTheirOwn), "annotations"));
}

TEST_F(DaemonOraclesTest, I4SeesAReportThatIsNotTrue) {
  Report(0, 3);
  EXPECT_TRUE(Contains(CheckDaemon(ReportsAreTrue), "the daemon of node-0 reports"));
  Report(1, 0);
  EXPECT_TRUE(Contains(CheckDaemon(ReportsAreTrue), "the daemon of node-0 reports"));
  Report(0, 0);
  EXPECT_EQ(CheckDaemon(ReportsAreTrue), "");
}

TEST_F(DaemonOraclesTest, I4SeesAPeerThatIsNotCalledUnreachable) {
  store().Edit("controller", Kind::kClique, CliqueObjectKey(), [](Value& clique) {
    clique["daemons"].Append(Value::Object({{"nodeName", "node-1"},
                                            {"ipAddress", "10.9.9.9"},
                                            {"cliqueID", "c.1"},
                                            {"index", 4},
                                            {"status", "Ready"}}));
  });
  EXPECT_TRUE(Contains(CheckDaemon(ReportsAreTrue), R"("unreachable":[4])"));
}

TEST_F(DaemonOraclesTest, I4SeesADaemonThatReportsNothing) {
  store().Edit("user", Kind::kPod, container_.pod,
               [](Value& pod) { pod["metadata"].Erase("annotations"); });
  EXPECT_TRUE(Contains(CheckDaemon(ReportsAreTrue), "reports nothing"));
}

TEST_F(OwnEntryOraclesTest, I4SeesAReportOfADaemonThatShallWriteNone) {
  EXPECT_TRUE(Contains(CheckDaemon(ReportsAreTrue), "the daemon of node-0 reports"));
  store().Edit("user", Kind::kPod, container_.pod,
               [](Value& pod) { pod["metadata"].Erase("annotations"); });
  EXPECT_EQ(CheckDaemon(ReportsAreTrue), "");
}

TEST_F(DaemonOraclesTest, I5SeesADaemonWithoutImex) {
  fabric_.End(container_.uid, cluster.now());
  EXPECT_TRUE(Contains(CheckDaemon(DaemonsAreReady), "on node-0 no IMEX runs"));
}

TEST_F(DaemonOraclesTest, I5SeesADaemonThatItsCliqueDoesNotCallReady) {
  EditEntry("status", "NotReady");
  EXPECT_TRUE(Contains(CheckDaemon(DaemonsAreReady), "the clique of node-0"));
  EditEntry("status", "Ready");
  EditEntry("ipAddress", "10.9.9.9");
  EXPECT_TRUE(Contains(CheckDaemon(DaemonsAreReady), "the clique of node-0"));
}

TEST_F(DaemonOraclesTest, I5SeesAPodThatIsNotReady) {
  store().Edit(
      "user", Kind::kPod, container_.pod, [](Value& pod) { pod["status"].Erase("conditions"); },
      Subresource::kStatus);
  EXPECT_TRUE(Contains(CheckDaemon(DaemonsAreReady), "the pod on node-0"));
}

TEST_F(DaemonOraclesTest, I5LeavesOutWhoIsSilentOrGoes) {
  fabric_.End(container_.uid, cluster.now());
  fabric_.SetSilent("node-0", true, cluster.now());
  EXPECT_EQ(CheckDaemon(DaemonsAreReady), "");
}

TEST_F(DaemonOraclesTest, I5LeavesOutADaemonWithoutRoomInItsClique) {
  fabric_.End(container_.uid, cluster.now());
  const auto fill = [&](int others) {
    store().Edit("user", Kind::kClique, CliqueObjectKey(), [&](Value& clique) {
      clique["daemons"] = Value::Array();
      for (int i = 0; i < others; ++i) {
        clique["daemons"].Append(Value::Object({{"nodeName", "other-" + std::to_string(i)},
                                                {"ipAddress", "10.8.0." + std::to_string(i)},
                                                {"cliqueID", "c.1"},
                                                {"index", i},
                                                {"status", "Ready"}}));
      }
    });
    return CheckDaemon(DaemonsAreReady);
  };
  EXPECT_TRUE(Contains(fill(17), "on node-0 no IMEX runs"));
  EXPECT_EQ(fill(18), "");
}

TEST_F(DaemonOraclesTest, I5LeavesOutAPodThatItsKubeletDoesNotKnow) {
  fabric_.End(container_.uid, cluster.now());
  store().Edit(
      "kubelet", Kind::kPod, container_.pod, [](Value& pod) { pod["status"]["phase"] = "Unknown"; },
      Subresource::kStatus);
  EXPECT_EQ(CheckDaemon(DaemonsAreReady), "");
}

// ---- I10

class LostMemoryTest : public DaemonOraclesTest {
 protected:
  void Say(const char* status, const char* reason) {
    store().Edit(
        "controller", Kind::kComputeDomain, kDomain,
        [&](Value& domain) {
          domain["status"]["conditions"] =
              Value::Array({Value::Object({{"type", "MemoryShared"},
                                           {"status", status},
                                           {"reason", reason},
                                           {"lastTransitionTime", "2026-01-01T00:00:00Z"},
                                           {"message", ""}})});
        },
        Subresource::kStatus);
  }
  void SaySharedAfter(seconds time) {
    cluster.Advance(time);
    fabric_.End(container_.uid, cluster.now());
    fabric_.Start(container_, {{.index = 0, .ip = container_.ip}}, cluster.now());
    LookAtPods();
    Say("True", "AllInOneClique");
  }
};

TEST_F(LostMemoryTest, I10SeesMemoryCalledSharedAfterAnImexWasStartedAgainUnderAPod) {
  SaySharedAfter(seconds(60));
  EXPECT_TRUE(Contains(CheckDaemon(LostMemoryIsTold), "IMEX was started again on node-0"));
  Say("False", "ImexRestartedUnderJob");
  EXPECT_EQ(CheckDaemon(LostMemoryIsTold), "");
}

TEST_F(LostMemoryTest, I10SeesAnAlarmWithoutARestart) {
  Say("False", "ImexRestartedUnderJob");
  EXPECT_TRUE(Contains(CheckDaemon(LostMemoryIsTold), "which it was under no pod"));
}

TEST_F(LostMemoryTest, I10LetsAPodThatMayNotHaveStartedBeOverlooked) {
  SaySharedAfter(seconds(5));
  EXPECT_EQ(CheckDaemon(LostMemoryIsTold), "");
}

TEST_F(LostMemoryTest, I10LetsASecondControllerForgetTheFirstStart) {
  (void)cluster.server().Handle("controller-2", kube::ListRequest(kube::kPods, {.ns = kSystem}));
  SaySharedAfter(seconds(60));
  EXPECT_EQ(CheckDaemon(LostMemoryIsTold), "");
}

TEST_F(LostMemoryTest, I10IsOverWhenEachPodOfThatTimeHasEnded) {
  SaySharedAfter(seconds(60));
  workload->Finish();
  Settle();
  EXPECT_EQ(CheckDaemon(LostMemoryIsTold), "");
  Say("False", "ImexRestartedUnderJob");
  EXPECT_TRUE(Contains(CheckDaemon(LostMemoryIsTold), "which it was under no pod"));
}

TEST_F(DaemonOraclesTest, I6SeesAnotherIndexThatNobodyTells) {
  const auto say = [&](const std::string& more) {
    store().Edit(
        "controller", Kind::kComputeDomain, kDomain,
        [&](Value& domain) {
          domain["status"]["conditions"] =
              Value::Array({Value::Object({{"type", "MembersReady"},
                                           {"status", "True"},
                                           {"reason", "AllMembersReady"},
                                           {"lastTransitionTime", "2026-01-01T00:00:00Z"},
                                           {"message", "All 1 members are ready." + more}})});
        },
        Subresource::kStatus);
  };
  const std::string told = " IMEX runs with another index: node-0 (as 0, not 5). Delete the pod.";
  say(told);
  EXPECT_TRUE(Contains(CheckDaemon(OtherIndicesAreTold), "says that IMEX on node-0"));
  EditEntry("index", 5);
  EXPECT_EQ(CheckDaemon(OtherIndicesAreTold), "");
  say("");
  EXPECT_TRUE(Contains(CheckDaemon(OtherIndicesAreTold), "does not say that IMEX on node-0"));
}

TEST_F(DaemonOraclesTest, I7SeesASignalThatIsNotHeard) {
  fabric_.Signal(container_, {}, cluster.now());
  cluster.Advance(seconds(6));
  fabric_.Signal(container_, {}, cluster.now());
  EXPECT_EQ(CheckDaemon(SignalsAreHeard), "");
  cluster.Advance(seconds(4));
  fabric_.Signal(container_, {}, cluster.now());
  EXPECT_TRUE(Contains(CheckDaemon(SignalsAreHeard), "twice within 5 s"));
}

TEST_F(OwnEntryOraclesTest, I8SeesADaemonThatStaysInItsCliqueAndDoesNotSayWhy) {
  fabric_.EndContainer(container_, true, "the server did not answer", cluster.now());
  EXPECT_EQ(CheckDaemon(DaemonsLeave), "");
  fabric_.EndContainer(container_, true, "", cluster.now());
  EXPECT_TRUE(Contains(CheckDaemon(DaemonsLeave), "does not say why"));
}

TEST_F(DaemonOraclesTest, I8LetsTheControllerTakeItOut) {
  fabric_.EndContainer(container_, true, "", cluster.now());
  EXPECT_EQ(CheckDaemon(DaemonsLeave), "");
}

TEST_F(DaemonOraclesTest, I9SeesADaemonThatIsNotQuiet) {
  const std::size_t since = cluster.server().requests().size();
  EXPECT_TRUE(DaemonsAreQuiet(cluster.server(), since).empty());
  Report(0, 0);
  EXPECT_EQ(DaemonsAreQuiet(cluster.server(), since).size(), 1U);
}

}  // namespace
}  // namespace simulation
