// What must be so before a job can be started.
#include <gtest/gtest.h>

#include <functional>

#include "test/fixtures/next_memory.h"
#include "test/fixtures/plan.h"

namespace compute_domain {
namespace {

using fixtures::Converged;
using fixtures::kCliqueId;
using fixtures::kOtherCliqueId;
using Change = std::function<void(Observed&)>;

// Two pods run on node-0 and node-1, members of one clique.
std::string Judge(const Change& change) {
  Observed observed = Converged();
  change(observed);
  const kube::Condition shared = *fixtures::StatusOf(observed).Find(api::kConditionMemoryShared);
  return shared.status + " " + shared.reason;
}

void MoveToOtherClique(Observed& observed) {
  for (api::Clique& clique : observed.children.cliques) clique.daemons.pop_back();
  api::Clique other = fixtures::MakeClique();
  other.meta.key.name = fixtures::kUid + "." + kOtherCliqueId;
  other.meta.uid = "other-clique";
  other.id = kOtherCliqueId;
  other.daemons = {fixtures::MakeMember("node-1", 1)};
  other.daemons[0].clique = kOtherCliqueId;
  observed.children.cliques.push_back(other);
  observed.children.daemon_pods[1].clique = kOtherCliqueId;
}

// As the daemon of a clique that has none does.
void LoseFabric(Observed& observed, std::size_t member) {
  std::erase_if(observed.children.cliques[0].daemons, [&](const api::Member& one) {
    return one.node == observed.children.daemon_pods[member].node;
  });
  observed.children.daemon_pods[member].clique = "";
}

void RestartImex(Observed& observed) {
  observed.memory.imex_of_jobs["node-0"] = {.is_another = true};
}

TEST(MemoryShared, IsTrueOnlyIfAllPodsRunOnReadyMembersOfOneClique) {
  struct Row {
    const char* what;
    Change change;
    const char* says;
  };
  for (const Row& row : {
           Row{"as it should be", [](Observed&) {}, "True AllInOneClique"},
           Row{"nobody uses it", [](Observed& o) { fixtures::EndWorkload(o.children.claims); },
               "False Idle"},
           Row{"a daemon does not serve",
               [](Observed& o) { o.children.daemon_pods[1].ready = false; },
               "False MembersNotReady"},
           Row{"fewer nodes than are wanted", [](Observed& o) { o.domain->num_nodes = 3; },
               "False WaitingForMembers"},
           Row{"a pod waits",
               [](Observed& o) {
                 o.children.claims.push_back(fixtures::MakeWaitingClaim("train-9"));
               },
               "False PodsWaiting"},
           Row{"two cliques", MoveToOtherClique, "False SpansCliques"},
           Row{"two cliques, which is meant",
               [](Observed& o) {
                 MoveToOtherClique(o);
                 o.domain->placement = "any";
               },
               "True SharedWithinCliques"},
           Row{"two cliques, perhaps one for each group",
               [](Observed& o) {
                 MoveToOtherClique(o);
                 o.domain->placement = "clique";
                 o.domain->placement_group = "example.com/rank";
               },
               "Unknown GroupsNotRead"},
           Row{"one member has no fabric", [](Observed& o) { LoseFabric(o, 1); }, "False NoFabric"},
           Row{"no member has fabric",
               [](Observed& o) {
                 LoseFabric(o, 0);
                 LoseFabric(o, 1);
               },
               "False NoFabric"},
           Row{"IMEX was started again", RestartImex, "False ImexRestartedUnderJob"},
           Row{"another domain is in the clique, which works mostly",
               [](Observed& o) { o.others.in_clique = {{kCliqueId, {"team-b/other"}}}; },
               "True AllInOneClique"},
           Row{"IMEX does not say whom it reaches",
               [](Observed& o) {
                 o.children.daemon_pods[0].imex =
                     api::ImexReport{.index = 0, .peers_unanswered = true};
               },
               "Unknown ImexPeersUnknown"},
           Row{"IMEX runs on the hosts",
               [](Observed& o) { o.facts.settings.Edit().imex_on_hosts = true; },
               "Unknown HostManaged"},
       }) {
    EXPECT_EQ(Judge(row.change), row.says) << row.what;
  }
}

TEST(MemoryShared, IsUnknownWhileAKindThatItNeedsIsNotRead) {
  for (const auto& [kind, says] : {std::pair{Kind::kClaim, "Unknown ClaimsNotRead"},
                                   {Kind::kNode, "Unknown NodesNotRead"},
                                   {Kind::kDaemonPod, "Unknown DaemonsNotRead"},
                                   {Kind::kClique, "Unknown DaemonsNotRead"}}) {
    EXPECT_EQ(Judge([&](Observed& o) { o.facts.views.problems[kind] = "503"; }), says);
  }
  EXPECT_EQ(Judge([](Observed& o) {
              o.facts.views.problems[Kind::kNode] = "503";
              o.facts.views.problems[Kind::kClique] = "503";
            }),
            "Unknown DaemonsNotRead");
  EXPECT_EQ(Judge([](Observed& o) {
              o.facts.views.problems[Kind::kClaim] = "403";
              o.facts.views.claims_are_read = false;
              o.facts.views.claims_are_granted = false;
            }),
            "Unknown PermissionMissing");
}

// Which node it was, only the process before knew.
TEST(MemoryShared, IsFalseInANewProcessUntilThePodsThatRanThenHaveEnded) {
  Observed observed = Converged();
  for (api::DaemonPod& pod : observed.children.daemon_pods) {
    pod.imex = api::ImexReport{.state = "READY", .started = "2026-01-01T11:00:00Z"};
  }
  for (const bool was_lost : {false, true}) {
    if (was_lost) {
      fixtures::ConditionOf(observed.domain->status, "MemoryShared").reason =
          "ImexRestartedUnderJob";
    }
    observed.memory = {};
    UpdateMemory(observed, fixtures::Now());
    EXPECT_EQ(fixtures::StatusOf(observed).Find("MemoryShared")->status,
              was_lost ? "False" : "True");
  }
  const kube::Condition said = *fixtures::StatusOf(observed).Find("MemoryShared");
  EXPECT_EQ(said.reason, "ImexRestartedUnderJob");
  Observed of_before = observed;  // As a release without the condition leaves it.
  std::erase_if(of_before.domain->status.conditions,
                [](const kube::Condition& one) { return one.type == "MemoryShared"; });
  of_before.memory = {};
  UpdateMemory(of_before, fixtures::Now());
  EXPECT_EQ(fixtures::StatusOf(of_before).Find("MemoryShared")->status, "True");
  EXPECT_EQ(said.message.find("node-"), std::string::npos);
  // A pod of the next job comes while one of the lost job still runs.
  observed.children.claims[0].meta.uid = "next";
  UpdateMemory(observed, fixtures::Now());
  EXPECT_EQ(fixtures::StatusOf(observed).Find("MemoryShared")->status, "False");
  for (api::ResourceClaim& claim : observed.children.claims) claim.meta.uid += "-next";
  UpdateMemory(observed, fixtures::Now());
  EXPECT_EQ(fixtures::StatusOf(observed).Find("MemoryShared")->status, "True");
}

// The members serve, so MembersReady stays True.
TEST(Ready, IsFalseWhileMemoryIsLostUnderAJob) {
  Observed observed = Converged();
  RestartImex(observed);
  const api::DomainStatus status = fixtures::StatusOf(observed);
  EXPECT_EQ(status.Find("MembersReady")->status, "True");
  EXPECT_EQ(status.Find("Ready")->status, "False");
  EXPECT_EQ(fixtures::ReasonOf(status, "Ready"), "ImexRestartedUnderJob");
  EXPECT_EQ(status.status, "Ready") << "NVIDIA's meaning";
}

}  // namespace
}  // namespace compute_domain
