// Why a node has no daemon pod is told, and what a daemon without its DaemonSet means.
#include <gtest/gtest.h>

#include "test/fixtures/pass_world.h"
#include "test/fixtures/plan.h"

namespace compute_domain {
namespace {

using fixtures::Marked;
using fixtures::PassWorld;
using std::chrono::seconds;

struct Told {
  std::string told = {};
  int reads = 0;
};

// Runs the controller for a quarter of an hour. LISTs of Events are answered so.
Told RunWith(int status, const std::string& body) {
  PassWorld world(Marked());
  world.server.Put(fixtures::Store(fixtures::MakeNode("node-2")));
  world.server.Put(fixtures::Store(fixtures::MakeChannelClaim("node-2", "train-2")));
  Told run;
  world.server.Intercept([&](const std::string& line) -> std::optional<fixtures::MapServer::Reply> {
    if (line.find("/events?") == std::string::npos) return std::nullopt;
    ++run.reads;
    return http::Response{.status = status, .body = body};
  });
  for (int i = 0; i < 90; ++i) {
    world.server.ShowAll(world.cache);
    const Outcome outcome = world.Run();
    if (!outcome.error) world.clock.Advance(seconds(10));
  }
  run.told = world.Conditions();
  return run;
}

TEST(CreationTrouble, REV4_K11_NodeWithoutADaemonPodTellsWhyThereIsNone) {
  const Told run =
      RunWith(200, R"({"apiVersion": "events.k8s.io/v1", "kind": "EventList", "items": [
      {"reason": "FailedCreate", "deprecatedLastTimestamp": "2026-01-01T00:00:00Z",
       "note": "Error creating: pods \"x\" is forbidden: exceeded quota: none"}]})");
  EXPECT_NE(run.told.find("Not ready: node-2 (no daemon yet)"), std::string::npos) << run.told;
  EXPECT_NE(run.told.find("exceeded quota: none"), std::string::npos) << run.told;
  EXPECT_GE(run.reads, 3);
  EXPECT_LE(run.reads, 10) << "up to 5 minutes lie between two";
}

TEST(CreationTrouble, REV4_K11_WithoutEventsTheCommandIsToldThatShowsThem) {
  for (const int status : {200, 403, 404, 500}) {
    const std::string body =
        status == 200 ? R"({"apiVersion": "events.k8s.io/v1", "kind": "EventList", "items": []})"
                      : R"({"kind": "Status", "status": "Failure", "reason": "Forbidden",
                            "message": "events is forbidden: User \"c\" cannot list resource"})";
    const Told run = RunWith(status, body);
    EXPECT_NE(run.told.find("describe daemonsets"), std::string::npos) << status << run.told;
    EXPECT_EQ(run.told.find("not created"), std::string::npos) << status << run.told;
    EXPECT_LE(run.reads, 10) << status;
  }
}

// A person takes the owner off one pod, whose DaemonSet no longer selects it.
TEST(Orphans, REV4_K3_DaemonThatNoDaemonSetOwnsIsToldWhileItsDomainLives) {
  Observed observed = Marked();
  api::DaemonPod& pod = observed.children.daemon_pods[1];
  pod.meta.key.name = fixtures::kDaemonName + ("-" + pod.node);
  PassWorld world(observed);
  (void)world.Settle();
  EXPECT_EQ(world.Conditions().find("No DaemonSet of the domain owns"), std::string::npos);
  json::Value stored = world.server.Get(Kind::kDaemonPod, pod.meta.key);
  stored["metadata"].Erase("ownerReferences");
  world.server.Put({Kind::kDaemonPod, stored});
  (void)world.Settle();
  EXPECT_NE(world.Conditions().find("No DaemonSet of the domain owns the daemons on node-1:"),
            std::string::npos)
      << world.Conditions();
  EXPECT_EQ(world.Domain()["status"]["status"].AsString(), "Ready");
}

TEST(Orphans, REV4_K3_DaemonIsToldWhileItRunsOnANodeAndNoDaemonSetOfItsDomainOwnsIt) {
  struct Row {
    const char* what;
    void (*change)(Observed& observed, api::DaemonPod& orphan);
    bool is_told;
  };
  for (const Row& row : {
           Row{"nothing owns it", [](Observed&, api::DaemonPod&) {}, true},
           Row{"another DaemonSet owns it",
               [](Observed&, api::DaemonPod& orphan) {
                 orphan.meta.owners = {
                     {.kind = "DaemonSet", .name = "other", .uid = "other", .controller = true}};
               },
               true},
           Row{"one of the domain does, whatever its name",
               [](Observed& observed, api::DaemonPod& orphan) {
                 orphan.meta.owners = {{.kind = "DaemonSet",
                                        .name = "other",
                                        .uid = observed.children.daemon_sets.front().meta.uid,
                                        .controller = true}};
               },
               false},
           Row{"it ends", [](Observed&, api::DaemonPod& orphan) { orphan.meta.deleting = true; },
               false},
           Row{"it has no node", [](Observed&, api::DaemonPod& orphan) { orphan.node = ""; },
               false},
       }) {
    Observed observed = fixtures::Converged();
    api::DaemonPod orphan = observed.children.daemon_pods[1];
    orphan.meta.owners.clear();
    orphan.meta.key.name = fixtures::kDaemonName + "-orphan";
    orphan.meta.uid = "orphan";
    row.change(observed, orphan);
    observed.children.daemon_pods.push_back(orphan);
    const std::string said = fixtures::StatusOf(observed).Find("MembersReady")->message;
    EXPECT_EQ(said.find("owns the daemons on node-1") != std::string::npos, row.is_told)
        << row.what << ": " << said;
  }
}

}  // namespace
}  // namespace compute_domain
