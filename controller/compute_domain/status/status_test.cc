#include "controller/compute_domain/status/status.h"

#include <gtest/gtest.h>

#include <functional>

#include "controller/compute_domain/rules/children.h"
#include "controller/compute_domain/rules/membership/membership.h"
#include "test/fixtures/observed.h"
#include "test/fixtures/plan.h"

namespace compute_domain {
namespace {

using api::DomainStatus;
using fixtures::Converged;
using fixtures::kCliqueId;
using fixtures::kOtherCliqueId;
using fixtures::Now;
using fixtures::StatusOf;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Change = std::function<void(Observed&)>;

DomainStatus StatusAfter(const Change& change) {
  Observed observed = Converged();
  change(observed);
  return StatusOf(observed);
}

std::string MessageOf(const DomainStatus& status, std::string_view type) {
  const kube::Condition* condition = status.Find(type);
  return condition == nullptr ? "" : condition->message;
}

void RemoveMembers(Observed& observed) {
  observed.children.cliques.clear();
  observed.children.daemon_pods.clear();
  observed.evidence.daemon_pods.emplace();
}

// Nobody has ever used it, or nobody does any more.
void LeaveUnused(Observed& observed) {
  RemoveMembers(observed);
  observed.children.claims.clear();
  observed.children.labelled_nodes.clear();
}

TEST(DecideStatus, ConvergedDomainIsReadyInEveryTerm) {
  EXPECT_EQ(StatusOf(Converged()), fixtures::MakeStatus());
}

// ---- Another controller writes, too.

TEST(DecideStatus, DomainThatAnotherControllerWritesSaysSoForTenMinutes) {
  const auto says = [](std::chrono::seconds ago) {
    return StatusAfter([&](Observed& observed) {
      observed.memory.foreign_writes = {.last = "2026-11-27T00:00:01Z",
                                        .seen = Now().monotonic - ago};
      observed.domain->status.conditions.push_back({.type = "Conflicted", .status = "True"});
    });
  };
  EXPECT_EQ(fixtures::ReasonOf(says(seconds(0)), "Conflicted"), "OtherControllerWrites");
  EXPECT_EQ(says(seconds(0)).Find("Conflicted")->status, "True");
  EXPECT_TRUE(MessageOf(says(seconds(0)), "Conflicted")
                  .starts_with("NVIDIA's controller also writes the status of this domain"));
  EXPECT_EQ(fixtures::ReasonOf(says(seconds(599)), "Conflicted"), "OtherControllerWrites");
  EXPECT_EQ(says(seconds(600)).Find("Conflicted"), nullptr);
  EXPECT_EQ(fixtures::ReasonOf(says(seconds(0)), "Ready"),
            fixtures::ReasonOf(says(seconds(600)), "Ready"))
      << "the domain works";
}

TEST(DecideStatus, WritesOfAnotherControllerBeforeThisOneLedAreNoConflict) {
  const DomainStatus status = StatusAfter([](Observed& observed) {
    observed.memory.foreign_writes = {.last = "2026-11-27T00:00:01Z"};
    observed.domain->status.conditions.push_back({.type = "Conflicted", .status = "True"});
  });
  EXPECT_EQ(status.Find("Conflicted"), nullptr) << "an earlier leader said it";
}

TEST(UntilConflictEnds, IsTheRestOfTenMinutes) {
  Memory memory;
  EXPECT_EQ(UntilConflictEnds(memory, Now().monotonic), RequeueAfter());
  memory.foreign_writes = {.last = "2026-11-27T00:00:01Z", .seen = Now().monotonic - seconds(590)};
  EXPECT_EQ(UntilConflictEnds(memory, Now().monotonic), milliseconds(10'000));
  EXPECT_EQ(UntilConflictEnds(memory, Now().monotonic + seconds(10)), RequeueAfter());
}

// ---- Where IMEX runs on the hosts.

std::string SaidOnHosts(std::string_view type, const Change& change) {
  Observed observed = fixtures::OnHosts();
  change(observed);
  const DomainStatus status = StatusOf(observed);
  const kube::Condition* condition = status.Find(type);
  return condition->status + " " + condition->reason + ": " + condition->message;
}

TEST(DecideStatus, P23_DomainOfTheHostsIsReadyAndNobodyKnowsHowImexIs) {
  const std::string says =
      " HostManaged: IMEX runs on the hosts, and the kubelet plugin asks it before a pod starts."
      " Pods use it on node-0, node-1.";
  EXPECT_EQ(SaidOnHosts("MembersReady", [](Observed&) {}), "Unknown" + says);
  EXPECT_EQ(SaidOnHosts("Ready", [](Observed&) {}), "True" + says);
  EXPECT_EQ(SaidOnHosts("Provisioned", [](Observed&) {}),
            "True ChildrenExist: The claim template exists.");
  EXPECT_EQ(SaidOnHosts("Ready", LeaveUnused),
            "True HostManaged: IMEX runs on the hosts, and the kubelet plugin asks it before a pod "
            "starts.");
  // Somebody wrote who uses it before the scheduler wrote where it is.
  const auto nowhere = [](Observed& observed) {
    for (api::ResourceClaim& claim : observed.children.claims) claim.node.clear();
  };
  EXPECT_EQ(SaidOnHosts("Ready", nowhere), SaidOnHosts("Ready", LeaveUnused));
}

TEST(DecideStatus, P23_DomainOfTheHostsHasNoMembersAndIsReadyForNvidiasUsers) {
  Observed observed = fixtures::OnHosts();
  observed.domain->num_nodes = 8;
  const DomainStatus status = StatusOf(observed);
  EXPECT_EQ(status.status, "Ready");
  EXPECT_TRUE(status.nodes.empty() && status.cliques.empty());
  EXPECT_EQ(status.members, "");
  fixtures::FailToCreate(observed, {.reason = "Forbidden", .message = "quota"});
  EXPECT_EQ(StatusOf(observed).status, "NotReady");
}

TEST(DecideStatus, P23_PodsThatWaitForADomainOfTheHostsMakeItUnready) {
  const auto add_waiting = [](Observed& o) {
    o.children.claims.push_back(fixtures::MakeWaitingClaim("train-9"));
  };
  EXPECT_EQ(SaidOnHosts("Ready", add_waiting).substr(0, 16), "False PodsWaitin");
}

TEST(DecideStatus, P23_BlindnessOnHostsKeepsWhatWasMade) {
  EXPECT_EQ(SaidOnHosts("Provisioned",
                        [](Observed& o) {
                          o.facts.views.problem_reason = "PermissionMissing";
                          o.facts.views.problem = "Grant list on nodes.";
                        }),
            "True ChildrenExist: The claim template was created.");
}

TEST(DecideStatus, P1_EachCauseHasItsReasonAndASentenceThatHelps) {
  struct Row {
    Change change;
    const char* ready;
    const char* reason;
    const char* says;
    const char* status;
  };
  const std::vector<Row> rows = {
      {[](Observed& o) {
         o.domain->status = {};  // It was never provisioned.
         o.children = {};
         o.facts.views.problem_reason = "PermissionMissing";
         o.facts.views.problem = "Grant list on nodes.";
       },
       "False", "PermissionMissing", "Grant list on nodes.", "NotReady"},
      {[](Observed& o) { o.domain->has_spec = false; }, "False", "SpecMissing",
       "spec.channel.resourceClaimTemplate.name", "NotReady"},
      {[](Observed& o) { fixtures::FailToCreate(o, {.reason = "Forbidden", .message = "quota"}); },
       "False", "Forbidden", "quota", "NotReady"},
      {RemoveMembers, "False", "MembersNotReady", "node-0 (no daemon yet)", "NotReady"},
      {LeaveUnused, "True", "Idle",
       "Provisioned; nodes join when pods that claim from train-channel are scheduled.", "Ready"},
      {[](Observed& o) { o.nodes["node-1"].ready = false; }, "False", "NodeLost",
       "Lost: node-1 (not ready)", "NotReady"},
      {[](Observed& o) { o.nodes.erase("node-0"); }, "False", "NodeLost",
       "Lost: node-0 (does not exist)", "NotReady"},
      {[](Observed& o) { o.children.daemon_pods[1].ready = false; }, "False", "MembersNotReady",
       "Not ready: node-1; 1/2 members are ready. Pods that start there wait: delete them to run "
       "elsewhere, or ask an administrator. For administrators: `kubectl -n cdom-system get pods "
       "-l "
       "resource.nvidia.com/computeDomain=d0000000-0000-4000-8000-000000000001 --field-selector "
       "spec.nodeName=node-1`.",
       "NotReady"},
      {[](Observed& o) { o.domain->num_nodes = 3; }, "False", "WaitingForMembers",
       "2 of spec.numNodes 3 nodes have joined", "NotReady"},
      {[](Observed& o) { o.domain->num_nodes = 2; }, "True", "AllMembersReady", "2/2", "Ready"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.reason);
    const DomainStatus status = StatusAfter(row.change);
    const kube::Condition* ready = status.Find("Ready");
    ASSERT_NE(ready, nullptr);
    EXPECT_EQ(ready->status, row.ready);
    EXPECT_EQ(ready->reason, row.reason);
    EXPECT_NE(ready->message.find(row.says), std::string::npos) << ready->message;
    EXPECT_EQ(status.status, row.status);
  }
}

// node-1 has had no plugin for five minutes.
void LosePlugin(Observed& observed) {
  observed.memory.silent_since = {{"node-1", Now().monotonic - seconds(300)}};
}
constexpr const char* kNoPlugin =
    "No kubelet plugin of compute-domain.nvidia.com is registered on node-1: pods of the domain "
    "neither start nor end there. For administrators: check that the plugin's pod runs on that "
    "node.";

TEST(DecideStatus, B56_NodeWhosePluginIsMissingIsNamedWithWhatToDo) {
  struct Row {
    const char* what;
    Change change;
    const char* status;
    const char* reason;
    const char* global;
  };
  const std::vector<Row> rows = {
      {"its daemon serves all the same", [](Observed&) {}, "True", "PluginMissing", "Ready"},
      {"its daemon does not start", [](Observed& o) { o.children.daemon_pods[1].ready = false; },
       "False", "PluginMissing", "NotReady"},
      {"it is no member yet",
       [](Observed& o) {
         o.children.cliques[0].daemons.pop_back();
         o.children.daemon_pods.pop_back();
         o.evidence.daemon_pods = o.children.daemon_pods;
       },
       "False", "PluginMissing", "NotReady"},
      {"nobody is a member yet", RemoveMembers, "False", "PluginMissing", "NotReady"},
      {"it rebooted",
       [](Observed& o) {
         o.rebooted = {"node-1"};
         o.children.daemon_pods[1].ready = false;
       },
       "False", "PluginMissing", "NotReady"},
      {"others are waited for", [](Observed& o) { o.domain->num_nodes = 3; }, "False",
       "PluginMissing", "NotReady"},
      {"its clique is shared",
       [](Observed& o) { o.others.in_clique = {{kCliqueId, {"team-b/other"}}}; }, "True",
       "PluginMissing", "Ready"},
      {"it is about to go", [](Observed& o) { o.nodes["node-1"].unschedulable = true; }, "True",
       "PluginMissing", "Ready"},
      {"another node is lost", [](Observed& o) { o.nodes["node-0"].ready = false; }, "False",
       "NodeLost", "NotReady"},
      {"it is taken out of service",
       [](Observed& o) {
         o.nodes["node-1"].unschedulable = true;
         o.children.daemon_pods[1].ready = false;
       },
       "False", "NodeDrained", "NotReady"},
      {"its daemon does not end",
       [](Observed& o) { fixtures::Delete(o.children.daemon_pods[1].meta, {}); }, "False",
       "PluginMissing", "NotReady"},
      {"its daemon has not ended for minutes",
       [](Observed& o) {
         fixtures::Delete(o.children.daemon_pods[1].meta, {});
         o.children.daemon_pods[1].meta.deletion_timestamp = "2026-01-01T11:58:00Z";
       },
       "False", "PodsStuckTerminating", "NotReady"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const DomainStatus status = StatusAfter([&](Observed& o) { row.change(o), LosePlugin(o); });
    const kube::Condition* members = status.Find("MembersReady");
    EXPECT_EQ(members->status, row.status);
    EXPECT_EQ(members->reason, row.reason);
    EXPECT_NE(members->message.find(kNoPlugin), std::string::npos) << members->message;
    EXPECT_EQ(status.status, row.global);
    const bool names_pod =
        members->message.find(" Pods that do not end: pods/cdom-system/daemon-node-1 on node-1.") !=
        std::string::npos;
    EXPECT_EQ(names_pod, members->reason == "PodsStuckTerminating");
  }
}

TEST(DecideDeletionStatus, B26_DeletionThatIsBlockedWhereAPluginIsMissingSaysSo) {
  const auto message = [](const std::vector<std::string>& blockers, bool is_missing) {
    Observed observed = fixtures::Deleting();
    if (is_missing) LosePlugin(observed);
    return MessageOf(StatusOf(observed, DeletionWait{.blockers = blockers}), "DeletionBlocked");
  };
  EXPECT_NE(message({"pods/train-1 on node-1"}, true).find(kNoPlugin), std::string::npos);
  EXPECT_EQ(message({"pods/train-1 on node-1"}, false).find("plugin"), std::string::npos);
  EXPECT_EQ(message({}, true).find("plugin"), std::string::npos) << "it waits for nobody";
}

TEST(DecideStatus, Z7_CliqueWhoseNameIsNoCliquesIsIgnoredAndTold) {
  Observed observed = Converged();
  const DomainStatus before = StatusOf(observed);
  api::Clique nobodys = observed.children.cliques[0];
  nobodys.id.clear();
  nobodys.meta.key.name = std::string(fixtures::kUid) + "." + std::string(100, 'a');
  nobodys.is_labelled = false;
  observed.children.cliques.push_back(nobodys);
  EXPECT_TRUE(PlanChildren(observed).empty()) << "nothing is written to it";
  const DomainStatus status = StatusOf(observed);
  EXPECT_EQ(status.nodes, before.nodes);
  EXPECT_EQ(status.Find("Ready")->status, "True");
  EXPECT_NE(
      status.Find("Provisioned")->message.find("Ignored, because their names belong to no clique"),
      std::string::npos);
}

TEST(DecideStatus, S7_CliqueOfAStrangerIsNotEvenTold) {
  Observed observed = Converged();
  api::Clique strangers = observed.children.cliques[0];
  strangers.id.clear();
  strangers.domain = fixtures::kOtherUid;
  observed.children.cliques.push_back(strangers);
  EXPECT_EQ(StatusOf(observed), fixtures::MakeStatus());
}

TEST(DecideStatus, C9_WhatIsLeftUndoneIsToldAndNoFault) {
  Observed observed = Converged();
  fixtures::Fail(observed, Concern::kLabels, {.reason = "Forbidden", .message = "no right"});
  const DomainStatus status = StatusOf(observed);
  EXPECT_EQ(status.Find("Ready")->status, "True");
  EXPECT_EQ(status.Find("Provisioned")->status, "True");
  EXPECT_TRUE(status.Find("Provisioned")->message.ends_with(" Not done yet: no right"));
}

TEST(DecideStatus, P1_EachConditionSaysItsOwnPartAndReadyTheFirstThatFails) {
  struct Row {
    Change change;
    const char* condition;
    const char* status;
    const char* reason;
    const char* says;
  };
  const std::vector<Row> rows = {
      {[](Observed& o) { o.domain->template_name = "No"; }, "Accepted", "False",
       "TemplateNameInvalid", "spec.channel.resourceClaimTemplate.name"},
      {[](Observed& o) {
         fixtures::FailToCreate(o, {.reason = "TemplateNameTaken", .message = "taken"});
       },
       "Accepted", "False", "TemplateNameTaken", "taken"},
      {[](Observed& o) { fixtures::FailToCreate(o, {.reason = "Forbidden", .message = "quota"}); },
       "Provisioned", "False", "Forbidden", "quota"},
      {[](Observed& o) { fixtures::Delete(o.children.daemon_sets[0].meta, {"x"}); }, "Provisioned",
       "False", "ChildrenTerminating", "DaemonSet cdom-system/computedomain-daemon-"},
      {[](Observed& o) { o.children.templates.pop_back(); }, "Provisioned", "False",
       "ChildrenMissing", "ResourceClaimTemplate team-a/train-channel"},
      {[](Observed& o) {
         o.nodes["node-1"].unschedulable = true;
         o.children.daemon_pods[1].ready = false;
       },
       "MembersReady", "False", "NodeDrained", "node-1 (cordoned)"},
      {[](Observed& o) {
         o.rebooted = {"node-1"};
         o.children.daemon_pods[1].ready = false;
       },
       "MembersReady", "False", "NodeRebooted", "Rebooted: node-1"},
      {[](Observed& o) { o.others.in_clique = {{kCliqueId, {"team-a/other"}}}; }, "MembersReady",
       "True", "CliqueShared", "team-a/other in "},
      {[](Observed& o) { o.others.in_clique = {{kCliqueId, {"team-b/other"}}}; }, "MembersReady",
       "True", "CliqueShared", "a domain in another namespace in "},
      {[](Observed& o) {
         o.nodes["node-1"].taints = {"example.com/repair=now:NoExecute"};
         o.children.daemon_pods[1].ready = false;
       },
       "MembersReady", "False", "NodeTainted", "node-1 (taint example.com/repair)"},
      {[](Observed& o) {
         o.children.daemon_pods[1].ready = false;
         o.children.daemon_pods[1].trouble = "CrashLoopBackOff: in use";
       },
       "MembersReady", "False", "MembersNotReady", "node-1 (CrashLoopBackOff: in use)"},
      {[](Observed& o) {
         api::ResourceClaim claim = fixtures::MakeChannelClaim("node-2", "train-2");
         o.children.claims.push_back(claim);
         o.nodes["node-2"] = fixtures::MakeNode("node-2", fixtures::kOtherUid);
         o.others.domains = {{fixtures::kOtherUid, "team-a/other"}};
       },
       "MembersReady", "False", "NodeHeldByAnotherDomain", "node-2 (by team-a/other)"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.reason);
    const DomainStatus status = StatusAfter(row.change);
    for (const char* type : {row.condition, "Ready"}) {
      ASSERT_NE(status.Find(type), nullptr);
      EXPECT_EQ(status.Find(type)->status, row.status);
      EXPECT_EQ(status.Find(type)->reason, row.reason);
      EXPECT_NE(MessageOf(status, type).find(row.says), std::string::npos)
          << MessageOf(status, type);
    }
  }
}

// ---- What should be known of members that serve.

struct MembersRow {
  const char* what;
  Change change;
  const char* status;  // Of MembersReady, as what follows.
  const char* reason;
  std::string message;
};

void ExpectMembers(const std::vector<MembersRow>& rows) {
  for (const MembersRow& row : rows) {
    SCOPED_TRACE(row.what);
    const DomainStatus status = StatusAfter(row.change);
    const kube::Condition* members = status.Find("MembersReady");
    EXPECT_EQ(members->status, row.status);
    EXPECT_EQ(members->reason, row.reason);
    EXPECT_EQ(members->message, row.message);
    EXPECT_EQ(fixtures::ReasonOf(status, "Ready"), row.reason);
    EXPECT_EQ(status.status, std::string(row.status) == "True" ? "Ready" : "NotReady");
  }
}

// What is said of the node of a member that does not serve.
std::string HelpOn(const std::string& node) {
  return " Pods that start there wait: delete them to run elsewhere, or ask an administrator. For "
         "administrators: `kubectl -n cdom-system get pods -l resource.nvidia.com/computeDomain=" +
         fixtures::kUid + " --field-selector spec.nodeName=" + node + "`.";
}

void Cordon(Observed& o, const char* node) { o.nodes[node].unschedulable = true; }
void Taint(Observed& o, const char* node, std::vector<std::string> taints) {
  o.nodes[node].taints = std::move(taints);
}
const std::string kStays =
    ". They serve until they leave: move their pods in time, or uncordon a node that must stay.";

TEST(DecideStatus, G11_ReadyMemberWhoseNodeIsAboutToGoIsNamedBeforeItIsLost) {
  ExpectMembers({
      {"one is cordoned", [](Observed& o) { Cordon(o, "node-1"); }, "True", "NodeLeaving",
       "All 2/2 members are ready. About to leave: node-1 (cordoned)" + kStays},
      {"an autoscaler takes it, which cordons it as well",
       [](Observed& o) {
         Cordon(o, "node-1");
         Taint(o, "node-1", {"nvidia.com/gpu", "ToBeDeletedByClusterAutoscaler"});
       },
       "True", "NodeLeaving",
       "All 2/2 members are ready. About to leave: node-1 (taint "
       "ToBeDeletedByClusterAutoscaler)" +
           kStays},
      {"both go, one by a taint of some prefix",
       [](Observed& o) {
         Taint(o, "node-0", {"aws-node-termination-handler/spot-itn"});
         Taint(o, "node-1", {"karpenter.sh/disrupted"});
       },
       "True", "NodeLeaving",
       "All 2/2 members are ready. About to leave: node-0 (taint "
       "aws-node-termination-handler/spot-itn), node-1 (taint karpenter.sh/disrupted)" +
           kStays},
      {"a taint that tells nothing of that kind",
       [](Observed& o) { Taint(o, "node-0", {"aws-node-termination-handler", "example.com/x"}); },
       "True", "AllMembersReady", "All 2/2 members are ready."},
      {"a taint that the configuration names",
       [](Observed& o) {
         o.facts.settings.Edit().leaving_taints = {"example.com/*"};
         Taint(o, "node-0", {"example.com/x=1:NoSchedule"});
         Taint(o, "node-1", {"karpenter.sh/disrupted"});
       },
       "True", "NodeLeaving",
       "All 2/2 members are ready. About to leave: node-0 (taint example.com/x)" + kStays},
  });
}

TEST(DecideStatus, G11_LossOfAMemberOutranksThatAnotherIsAboutToGo) {
  ExpectMembers({
      {"the other is lost",
       [](Observed& o) {
         Cordon(o, "node-1");
         o.nodes["node-0"].ready = false;
       },
       "False", "NodeLost",
       "Lost: node-0 (not ready); 1/2 members are ready. Bring the node back, or delete the pods "
       "there: pods/train-0. About to leave: node-1 (cordoned)" +
           kStays},
      {"it does not serve any more",
       [](Observed& o) {
         Cordon(o, "node-1");
         o.children.daemon_pods[1].ready = false;
       },
       "False", "NodeDrained",
       "Not ready, and cordoned: node-1 (cordoned); 1/2 members are ready. Uncordon the node, or "
       "delete its pods so that they run elsewhere."},
      {"nor does one that is tainted, by the taint that tells",
       [](Observed& o) {
         Taint(o, "node-1", {"nvidia.com/gpu", "karpenter.sh/disrupted"});
         o.children.daemon_pods[1].ready = false;
       },
       "False", "NodeTainted",
       "Not ready, and tainted: node-1 (taint karpenter.sh/disrupted); 1/2 members are ready. Find "
       "out who tainted the node; its pods may have to run elsewhere."},
  });
}

// node-1 is in another clique, or in none.
void Move(Observed& o, const std::string& clique) {
  o.children.cliques[0].daemons.pop_back();
  o.children.daemon_pods[1].clique = clique;
  if (clique.empty()) return;
  api::Clique other = o.children.cliques[0];
  other.meta = fixtures::Meta(fixtures::kDriverNs, fixtures::kUid + "." + clique, "other-clique");
  other.id = clique;
  other.daemons = {
      {.node = "node-1", .ip = "10.0.0.2", .clique = clique, .index = 0, .ready = true}};
  o.children.cliques.push_back(std::move(other));
}
// The same, and node-2 is a third member, in the first clique.
void Spread(Observed& o) {
  Move(o, kOtherCliqueId);
  o.children.cliques[0].daemons.push_back(fixtures::MakeMember("node-2", 2));
  o.children.daemon_pods.push_back(fixtures::MakePod("node-2", 2));
  o.children.claims.push_back(fixtures::MakeChannelClaim("node-2", "train-2"));
  o.nodes["node-2"] = fixtures::MakeNode("node-2");
  o.children.labelled_nodes.push_back(o.nodes["node-2"]);
}
const std::string kTwoCliques = ": 2 in " + kCliqueId + ", 1 in " + kOtherCliqueId + ". ";
const std::string kSpans =
    "All 3/3 members are ready. Members in use are in 2 cliques although cdom.dev/placement asks "
    "for one" +
    kTwoCliques +
    "The policy of manifests/placement is not installed, or these pods are older than the label: "
    "start the job again.";

TEST(DecideStatus, G12_MembersOfTwoCliquesAreCountedUnlessThatIsMeant) {
  ExpectMembers({
      {"nobody asked for one", Spread, "True", "SpansCliques",
       "All 3/3 members are ready. Members in use are in 2 cliques" + kTwoCliques +
           "Pods share no memory across cliques; to have them in one, label the domain "
           "cdom.dev/placement=clique and start the job again. Label it cdom.dev/placement=any if "
           "this is meant."},
      {"no clique could have them all",
       [](Observed& o) {
         Spread(o);
         fixtures::EditCapacity(o) = {
             {"", {.free = 9}}, {kCliqueId, {.held = 2}}, {"c", {.free = 1}}};
       },
       "True", "SpansCliques",
       "All 3/3 members are ready. Members in use are in 2 cliques" + kTwoCliques +
           "Pods share no memory across cliques; no clique has 3 nodes (largest: 2). Run at most "
           "2 pods, or label the domain cdom.dev/placement=any if this is meant."},
      {"a clique could have them all",
       [](Observed& o) {
         Spread(o);
         fixtures::EditCapacity(o) = {{kCliqueId, {.free = 1, .held = 2}}};
       },
       "True", "SpansCliques",
       "All 3/3 members are ready. Members in use are in 2 cliques" + kTwoCliques +
           "Pods share no memory across cliques; to have them in one, label the domain "
           "cdom.dev/placement=clique and start the job again. Label it cdom.dev/placement=any if "
           "this is meant."},
      {"the label allows several",
       [](Observed& o) {
         Spread(o);
         o.domain->placement = "any";
       },
       "True", "AllMembersReady", "All 3/3 members are ready."},
      {"the label asks",
       [](Observed& o) {
         Spread(o);
         o.domain->placement = "clique";
       },
       "True", "SpansCliques", kSpans},
      {"the label asks for more",
       [](Observed& o) {
         Spread(o);
         o.domain->placement = "exclusive-clique";
       },
       "True", "SpansCliques", kSpans},
      {"one for each group of pods, which may be these two",
       [](Observed& o) {
         Spread(o);
         o.domain->placement = "clique";
         o.domain->placement_group = "example.com/rank";
       },
       "True", "AllMembersReady", "All 3/3 members are ready."},
      {"one for each group, as far as there is room",
       [](Observed& o) {
         Spread(o);
         o.domain->placement_group = "example.com/rank";
       },
       "True", "AllMembersReady", "All 3/3 members are ready."},
      {"they are in one", [](Observed& o) { o.domain->placement = "clique"; }, "True",
       "AllMembersReady", "All 2/2 members are ready."},
      {"the pods of one clique have ended, and its nodes are still held",
       [](Observed& o) {
         Spread(o);
         o.domain->placement = "clique";
         std::erase_if(o.children.claims, [](const api::ResourceClaim& claim) {
           return claim.node == "node-1" && !claim.channel_domain.empty();
         });
       },
       "True", "AllMembersReady", "All 3/3 members are ready."},
      {"one is about to go, which is more urgent",
       [](Observed& o) {
         Spread(o);
         o.domain->placement = "clique";
         Cordon(o, "node-0");
       },
       "True", "NodeLeaving", kSpans + " About to leave: node-0 (cordoned)" + kStays},
      {"another domain is there as well",
       [](Observed& o) {
         Spread(o);
         o.domain->placement = "clique";
         o.others.in_clique = {{kCliqueId, {"team-b/other"}}};
       },
       "True", "SpansCliques",
       kSpans +
           " Other domains have members in the same clique: a domain in another namespace in " +
           kCliqueId + ". Imports of memory may fail now and then; use one domain per clique."},
      {"one member does not serve",
       [](Observed& o) {
         Spread(o);
         o.domain->placement = "clique";
         o.children.daemon_pods[1].ready = false;
       },
       "False", "MembersNotReady", "Not ready: node-1; 2/3 members are ready." + HelpOn("node-1")},
  });
}

TEST(DecideStatus, G12_CliquesAreNamedUpToFiveAndTheRestIsCounted) {
  const DomainStatus status = StatusAfter([](Observed& o) {
    o.domain->placement = "clique";
    o.children.cliques.clear();
    o.children.daemon_pods.clear();
    for (int i = 0; i < 12; ++i) {
      const std::string node = "node-" + std::to_string(i);
      const std::string id = "c" + std::to_string(i);
      api::Clique clique = fixtures::MakeClique();
      clique.meta.key.name = fixtures::kUid + "." + id;
      clique.meta.uid = id;
      clique.id = id;
      clique.daemons = {{.node = node, .ip = "10.0.0.1", .clique = id, .index = 0, .ready = true}};
      o.children.cliques.push_back(std::move(clique));
      o.children.daemon_pods.push_back(fixtures::MakePod(node, 0));
      o.children.daemon_pods.back().clique = id;
      o.nodes[node] = fixtures::MakeNode(node);
      o.children.claims.push_back(fixtures::MakeChannelClaim(node, "train-" + std::to_string(i)));
    }
  });
  EXPECT_NE(
      MessageOf(status, "MembersReady")
          .find("in 12 cliques although cdom.dev/placement asks for one: 1 in c0, 1 in c1, 1 in "
                "c10, 1 in c11, 1 in c2 and 7 more."),
      std::string::npos)
      << MessageOf(status, "MembersReady");
}

TEST(DecideStatus, G10_MembersWithoutFabricAreNamed) {
  ExpectMembers({
      {"all are",
       [](Observed& o) {
         o.children.cliques.clear();
         for (api::DaemonPod& pod : o.children.daemon_pods) pod.clique = "";
       },
       "True", "NoFabric",
       "All 2/2 members are ready. No member has NVLink fabric: node-0, node-1. Pods share no "
       "memory "
       "across nodes. If the nodes should have a fabric, see nvidia-smi -q | grep -A4 Fabric on "
       "the "
       "node."},
      {"one is", [](Observed& o) { Move(o, ""); }, "True", "AllMembersReady",
       "All 2/2 members are ready. Without NVLink fabric: node-1. Pods there share no memory with "
       "the "
       "others."},
      {"all are, and one is about to go",
       [](Observed& o) {
         o.children.cliques.clear();
         for (api::DaemonPod& pod : o.children.daemon_pods) pod.clique = "";
         Cordon(o, "node-0");
       },
       "True", "NodeLeaving",
       "All 2/2 members are ready. No member has NVLink fabric: node-0, node-1. Pods share no "
       "memory "
       "across nodes. If the nodes should have a fabric, see nvidia-smi -q | grep -A4 Fabric on "
       "the "
       "node. About to leave: node-0 (cordoned)" +
           kStays},
      {"one is not ready",
       [](Observed& o) {
         o.children.cliques.clear();
         for (api::DaemonPod& pod : o.children.daemon_pods) pod.clique = "";
         o.children.daemon_pods[0].ready = false;
       },
       "False", "MembersNotReady", "Not ready: node-0; 1/2 members are ready." + HelpOn("node-0")},
  });
}

// Daemons of ours, both of which have reported.
Observed Reported() {
  Observed observed = fixtures::Marked();
  int index = 0;
  for (api::DaemonPod& pod : observed.children.daemon_pods) {
    pod.imex = api::ImexReport{.index = index++, .state = "READY", .peers_known = true};
  }
  return observed;
}
// What MembersReady says then, after a change of the first report.
std::string SaidOf(const std::function<void(Observed& observed, api::ImexReport& first)>& change) {
  Observed observed = Reported();
  change(observed, *observed.children.daemon_pods[0].imex);
  const DomainStatus status = StatusOf(observed);
  const kube::Condition* condition = status.Find("MembersReady");
  return condition->status + " " + condition->reason + ": " + condition->message;
}

TEST(DecideStatus, ReportsOfImexThatAreAsTheyShouldBeSayNothing) {
  EXPECT_EQ(SaidOf([](Observed&, api::ImexReport&) {}),
            "True AllMembersReady: All 2/2 members are ready.");
  EXPECT_EQ(SaidOf([](Observed&, api::ImexReport& first) { first.index = -1; }),
            "True AllMembersReady: All 2/2 members are ready.");
}

TEST(DecideStatus, B2_ImexThatRunsUnderAnotherIndexIsNamed) {
  EXPECT_EQ(SaidOf([](Observed&, api::ImexReport& first) { first.index = 5; }),
            "True ImexIndexDiffers: All 2/2 members are ready. IMEX runs with another index than "
            "its peers know: node-0 (as 5, not 0). For administrators: delete the daemon pod of "
            "that node once no job "
            "needs it.");
}

TEST(DecideStatus, B17_MembersThatServeAndDoNotReachEachOtherAreNamed) {
  EXPECT_EQ(SaidOf([](Observed&, api::ImexReport& first) { first.unreachable = {1}; }),
            "True ImexPeersUnreachable: All 2/2 members are ready. IMEX has no connection from "
            "node-0 to node-1. Pods there share no memory. For administrators: check that daemon "
            "pods reach each other "
            "on TCP ports 50000 and 50005.");
}

TEST(DecideStatus, REV3_N4_ImexThatDoesNotSayWhomItReachesIsNamed) {
  EXPECT_EQ(SaidOf([](Observed&, api::ImexReport& first) {
              first.peers_known = false;
              first.peers_unanswered = true;
            }),
            "True ImexPeersUnknown: All 2/2 members are ready. IMEX does not say which peers it "
            "reaches: node-0. It hangs on at least one node of their clique, and pods there may "
            "share no memory. For administrators: when no job needs them, delete the daemon "
            "pods of the clique.");
}

TEST(DecideStatus, WhatADaemonSaysOfWhoIsNoMemberOrItselfIsNothing) {
  EXPECT_EQ(SaidOf([](Observed&, api::ImexReport& first) { first.unreachable = {0, 7, 9999}; }),
            "True AllMembersReady: All 2/2 members are ready.");
}

TEST(DecideStatus, B47_DaemonThatStaysUpOverAnImexOfTheHostIsNamed) {
  EXPECT_EQ(SaidOf([](Observed& observed, api::ImexReport& first) {
              observed.children.daemon_pods[0].ready = false;
              first.in_use = true;
            }),
            "False ImexOnHost: IMEX runs on the host already: node-0; 1/2 members are ready. For "
            "administrators: disable the service (systemctl disable --now nvidia-imex).");
}

TEST(DecideStatus, B49_NodeThatDoesNotServeAndWhoseFabricHasAnErrorIsNamedWithIt) {
  EXPECT_EQ(SaidOf([](Observed& observed, api::ImexReport& first) {
              observed.children.daemon_pods[0].ready = false;
              first.in_use = true;
              observed.fabric_errors["node-0"] = "gpu-3";
            }),
            "False FabricError: Not ready, and the NVLink fabric has an error: node-0 (gpu-3); 1/2 "
            "members are ready. For administrators: see nvidia-smi -q | grep -A4 Fabric on that "
            "node, and its fabric "
            "manager; a reboot of the node may help.");
}

TEST(DecideStatus, B49_NodeThatServesAndWhoseFabricHasAnErrorIsNamedAndServes) {
  EXPECT_EQ(SaidOf([](Observed& observed, api::ImexReport& first) {
              first.index = 5;
              observed.fabric_errors["node-1"] = "gpu-3";
              observed.fabric_errors["node-7"] = "no member";
            }),
            "True FabricError: All 2/2 members are ready. The NVLink fabric has an error: node-1 "
            "(gpu-3). New pods get no channel there, and running pods may lose the memory that "
            "they share. For administrators: see nvidia-smi -q | grep -A4 Fabric on that node. "
            "IMEX runs with another "
            "index than its peers know: node-0 (as 5, not 0). For administrators: delete the "
            "daemon pod of that node "
            "once no job needs it.");
}

TEST(DecideStatus, ImexThatWaitsForItsQuorumIsNamedAndNothingIsToBeRestarted) {
  for (const char* state : {"WAITING_FOR_RECOVERY", "WAITING_FOR_PEERS"}) {
    EXPECT_EQ(SaidOf([state](Observed& observed, api::ImexReport& first) {
                observed.children.daemon_pods[0].ready = false;
                first.state = state;
              }),
              std::string("False ImexWaitsForQuorum: IMEX waits for its peers: node-0 (") + state +
                  "); 1/2 members are ready. It becomes ready when the peers that imported from it "
                  "are back. Do not restart anything.");
  }
}

TEST(DecideStatus, B11_EntryWithAnotherAddressThanItsPodIsNamedWithBoth) {
  const std::string help =
      "; 1/2 members are ready. The daemon there has not written its address into its clique. For "
      "administrators: see "
      "its log, or delete its pod.";
  ExpectMembers({
      {"of the pod before", [](Observed& o) { o.children.cliques[0].daemons[1].ip = "10.9.9.9"; },
       "False", "ImexAddressDiffers",
       "Peers look for IMEX at another address: node-1 (10.9.9.9, and its daemon pod has "
       "10.0.0.2)" +
           help},
      {"none", [](Observed& o) { o.children.cliques[0].daemons[1].ip.clear(); }, "False",
       "ImexAddressDiffers",
       "Peers look for IMEX at another address: node-1 (no address, and its daemon pod has "
       "10.0.0.2)" +
           help},
      {"that of its pod, which has not written yet that it is ready",
       [](Observed& o) { o.children.cliques[0].daemons[1].ready = false; }, "False",
       "MembersNotReady", "Not ready: node-1; 1/2 members are ready." + HelpOn("node-1")},
      {"of a pod that has just started",
       [](Observed& o) {
         o.children.daemon_pods[1].ip = "10.9.9.9";
         o.children.daemon_pods[1].ready = false;
       },
       "False", "MembersNotReady", "Not ready: node-1; 1/2 members are ready." + HelpOn("node-1")},
  });
}

TEST(DecideStatus, ReportMakesNobodyReadyOrNot) {
  EXPECT_EQ(SaidOf([](Observed&, api::ImexReport& first) { first.state = "ENDED"; }),
            "True AllMembersReady: All 2/2 members are ready.");
  const std::string said = SaidOf(
      [](Observed& observed, api::ImexReport&) { observed.children.daemon_pods[0].ready = false; });
  EXPECT_EQ(said.substr(0, said.find(':')), "False MembersNotReady");
}

// ---- Members that start or leave.

// node-1 has been in that phase for `age`.
void Pass(Observed& o, MemberPhase::Is is, seconds age) {
  o.memory.phases["node-1"] = {.is = is, .since = Now().monotonic - age};
}

std::string SaidInPhase(MemberPhase::Is is, seconds age, const Change& change,
                        std::string_view type = "MembersReady") {
  const DomainStatus status = StatusAfter([&](Observed& o) {
    o.children.daemon_pods[1].ready = false;
    Pass(o, is, age);
    change(o);
  });
  const kube::Condition* condition = status.Find(type);
  return condition->status + " " + condition->reason + ": " + condition->message;
}

TEST(DecideStatus, REV3_W4_MemberWhoseDaemonStarts_IsNoFault_For30Seconds) {
  using enum MemberPhase::Is;
  const auto said = [](seconds age, const Change& change) {
    return SaidInPhase(kStarting, age, change);
  };
  const auto nothing = [](Observed&) {};
  const std::string starts =
      "False MembersStarting: Starting: node-1; 1/2 members are ready. Pods "
      "there start when their daemon is ready.";
  EXPECT_EQ(said(seconds(3), nothing), starts);
  EXPECT_EQ(SaidInPhase(kStarting, seconds(3), nothing, "Ready"), starts);
  EXPECT_EQ(said(seconds(3), [](Observed& o) { Cordon(o, "node-1"); }), starts);
  EXPECT_EQ(said(seconds(3), [](Observed& o) { Taint(o, "node-1", {"nvidia.com/gpu"}); }), starts)
      << "which nodes with GPUs mostly carry";
  EXPECT_EQ(said(seconds(3),
                 [](Observed& o) {
                   api::DaemonPod& pod = o.children.daemon_pods[1];
                   pod.controller_writes = true;
                   pod.imex = {.state = "WAITING_FOR_PEERS"};
                 }),
            starts);
  EXPECT_EQ(said(seconds(30), nothing).substr(0, 23), "False MembersNotReady: ");
}

TEST(DecideStatus, REV3_W4_MemberThatCannotStart_IsNamedAtOnce) {
  const auto reason = [](const Change& change) {
    const std::string said = SaidInPhase(MemberPhase::Is::kStarting, seconds(3), change);
    return said.substr(6, said.find(':') - 6);
  };
  EXPECT_EQ(reason([](Observed& o) { o.children.daemon_pods[1].trouble = "ErrImagePull"; }),
            "MembersNotReady");
  EXPECT_EQ(reason([](Observed& o) { o.fabric_errors["node-1"] = "gpu-3"; }), "FabricError");
  EXPECT_EQ(reason([](Observed& o) { o.rebooted = {"node-1"}; }), "NodeRebooted");
  EXPECT_EQ(reason([](Observed& o) { o.memory.rebooted_before = {"node-1"}; }), "NodeRebooted");
  EXPECT_EQ(reason([](Observed& o) { o.nodes["node-1"].ready = false; }), "NodeLost");
  EXPECT_EQ(reason([](Observed& o) {
              api::DaemonPod& pod = o.children.daemon_pods[1];
              pod.controller_writes = true;
              pod.imex = {.in_use = true};
            }),
            "ImexOnHost");
}

TEST(DecideStatus, REV3_W4_MemberWhosePodsHaveEnded_IsNoFault_For30Seconds) {
  using enum MemberPhase::Is;
  const auto nothing = [](Observed&) {};
  const std::string leaves =
      "False MembersLeaving: Leaving: node-1; 1/2 members are ready. Their "
      "daemons stop. This is normal once the pods there have ended.";
  EXPECT_EQ(SaidInPhase(kLeaving, seconds(10), nothing), leaves);
  EXPECT_EQ(SaidInPhase(kLeaving, seconds(10), nothing, "Ready"), leaves);
  EXPECT_EQ(SaidInPhase(kLeaving, seconds(10), [](Observed& o) { Cordon(o, "node-1"); }), leaves);
  EXPECT_EQ(SaidInPhase(kLeaving, seconds(30), nothing).substr(0, 23), "False MembersNotReady: ");
}

TEST(DecideStatus, REV3_W4_MemberWhoseDaemonEnds_IsNoFault_For2Seconds) {
  const auto reason = [](milliseconds ends_for, const Change& change) {
    const std::string said = SaidInPhase(MemberPhase::Is::kServing, seconds(60), [&](Observed& o) {
      o.children.daemon_pods[1].meta.deleting = true;
      o.memory.phases["node-1"].ends_since = Now().monotonic - ends_for;
      change(o);
    });
    return said.substr(6, said.find(':') - 6);
  };
  const auto nothing = [](Observed&) {};
  const auto cordon = [](Observed& o) { Cordon(o, "node-1"); };
  EXPECT_EQ(reason(milliseconds(1'999), nothing), "MembersLeaving");
  EXPECT_EQ(reason(milliseconds(1'999), cordon), "MembersLeaving");
  EXPECT_EQ(reason(seconds(2), nothing), "MembersNotReady");
  EXPECT_EQ(reason(seconds(2), cordon), "NodeDrained");
}

TEST(DecideStatus, REV3_W4_MemberThatStarts_IsToldBeforeOneThatLeaves_AndAFaultBeforeBoth) {
  const auto said = [](const Change& change) {
    return SaidInPhase(MemberPhase::Is::kStarting, seconds(3), [&](Observed& o) {
      o.children.daemon_pods[0].ready = false;
      o.memory.phases["node-0"] = {.is = MemberPhase::Is::kLeaving, .since = Now().monotonic};
      change(o);
    });
  };
  EXPECT_EQ(said([](Observed&) {}).substr(0, 23), "False MembersStarting: ");
  EXPECT_EQ(said([](Observed& o) { o.memory.phases.erase("node-0"); }).substr(0, 23),
            "False MembersNotReady: ");
}

TEST(DecideStatus, REV3_W6_NodeThatWasDeleted_NamesThePodsThatRanThere) {
  ExpectMembers({
      {"one, whose pod is known", [](Observed& o) { o.nodes.erase("node-1"); }, "False", "NodeLost",
       "Lost: node-1 (does not exist); 1/2 members are ready. Delete the pods that ran there: "
       "pods/train-1."},
      {"one without a pod",
       [](Observed& o) {
         o.nodes.erase("node-1");
         o.children.claims[1].consumers.clear();
       },
       "False", "NodeLost", "Lost: node-1 (does not exist); 1/2 members are ready."},
      {"one without a pod, which exists",
       [](Observed& o) {
         o.nodes["node-1"].ready = false;
         o.children.claims[1].consumers.clear();
       },
       "False", "NodeLost",
       "Lost: node-1 (not ready); 1/2 members are ready. Bring the node back, or delete the pods "
       "there."},
      {"both, of which one is back soon",
       [](Observed& o) {
         o.nodes.erase("node-1");
         o.nodes["node-0"].ready = false;
       },
       "False", "NodeLost",
       "Lost: node-0 (not ready), node-1 (does not exist); 0/2 members are ready. Bring the node "
       "back, or "
       "delete the pods there: pods/train-0, pods/train-1."},
  });
}

TEST(DecideStatus, NodeThatIsCordonedOrTaintedWhileItsMemberServesIsNoTrouble) {
  const DomainStatus status = StatusAfter([](Observed& o) {
    o.nodes["node-0"].unschedulable = true;
    o.nodes["node-1"].taints = {"example.com/repair"};
  });
  EXPECT_EQ(status.Find("Ready")->status, "True");
}

TEST(DecideStatus, B37_DaemonsOfAnOlderTemplateAreNamedAndTakeNothingFromReadiness) {
  const DomainStatus status =
      StatusAfter([](Observed& o) { o.children.daemon_sets[0].template_hash = "new"; });
  EXPECT_EQ(fixtures::ReasonOf(status, "Provisioned"), "Outdated");
  EXPECT_NE(MessageOf(status, "Provisioned").find("daemon-node-0, daemon-node-1"),
            std::string::npos);
  EXPECT_EQ(status.Find("Ready")->status, "True");
}

TEST(DecideStatus, NothingIsMadeBeforeTheDomainIsAccepted) {
  const DomainStatus status = StatusAfter([](Observed& o) { o.domain->has_spec = false; });
  EXPECT_EQ(fixtures::ReasonOf(status, "Provisioned"), "NotAccepted");
  EXPECT_EQ(status.Find("Provisioned")->status, "False");
}

TEST(DecideStatus, REV4_1_WhereNothingPlacesPodsTheDomainSaysSo) {
  struct Row {
    const char* what;
    PlacementPolicy placement;
    const char* label;
    const char* reason;
    const char* says;
  };
  for (const Row& row : {
           Row{"unknown", PlacementPolicy::kUnknown, "clique", "Accepted", "has what it needs."},
           Row{"installed", PlacementPolicy::kInstalled, "clique", "Accepted",
               "has what it needs."},
           Row{"missing", PlacementPolicy::kMissing, "", "Accepted",
               "has what it needs. Nothing keeps the domain's pods in one clique: "
               "MutatingAdmissionPolicyBinding cdom-placement does not exist. For administrators: "
               "apply cdom-placement.yaml, or manifests/placement."},
           Row{"missing, any", PlacementPolicy::kMissing, "any", "Accepted", "has what it needs."},
           Row{"missing, exclusive", PlacementPolicy::kMissing, "exclusive-clique",
               "PlacementMissing",
               "Label cdom.dev/placement has no effect. Nothing keeps the domain's pods in one "
               "clique: MutatingAdmissionPolicyBinding cdom-placement does not exist. For "
               "administrators: apply cdom-placement.yaml, or manifests/placement."},
           Row{"preferred missing", PlacementPolicy::kPreferredMissing, "", "Accepted",
               "The domain's pods do not prefer one clique: MutatingAdmissionPolicyBinding "
               "cdom-placement-preferred does not exist. For administrators: apply "
               "cdom-placement.yaml, or manifests/placement."},
           Row{"preferred missing, clique", PlacementPolicy::kPreferredMissing, "clique",
               "Accepted", "has what it needs."},
           Row{"not served, clique", PlacementPolicy::kNotServed, "clique", "Accepted",
               "Nothing keeps the domain's pods in one clique, unless they have an affinity of "
               "their own: Kubernetes has MutatingAdmissionPolicies from 1.36 on, or from 1.34 on "
               "behind a feature gate."},
       }) {
    SCOPED_TRACE(row.what);
    const DomainStatus status = StatusAfter([&](Observed& o) {
      o.domain->placement = row.label;
      o.facts.cluster.placement = row.placement;
    });
    EXPECT_EQ(status.Find("Accepted")->status, "True");
    EXPECT_EQ(fixtures::ReasonOf(status, "Accepted"), row.reason);
    EXPECT_TRUE(MessageOf(status, "Accepted").ends_with(row.says)) << MessageOf(status, "Accepted");
    // The row shows it.
    const bool is_told = row.reason == std::string("PlacementMissing");
    EXPECT_EQ(fixtures::ReasonOf(status, "Ready"), is_told ? row.reason : "AllMembersReady");
    EXPECT_EQ(status.Find("Ready")->status, "True");
  }
}

TEST(DecideStatus, G12_PlacementThatNobodyKnowsIsSaidAndAsksForNothing) {
  const DomainStatus status = StatusAfter([](Observed& o) {
    Spread(o);
    o.domain->placement = "rack";
  });
  EXPECT_EQ(status.Find("Accepted")->status, "True");
  EXPECT_EQ(fixtures::ReasonOf(status, "Accepted"), "AnnotationInvalid");
  EXPECT_EQ(MessageOf(status, "Accepted"),
            "Label cdom.dev/placement is ignored: use clique, exclusive-clique or any.");
  EXPECT_EQ(fixtures::ReasonOf(status, "Ready"), "SpansCliques");
  EXPECT_EQ(fixtures::ReasonOf(status, "MemoryShared"), "SpansCliques");
}

// The row of `kubectl get` has Ready's reason, and nothing of Accepted.
TEST(DecideStatus, ReadySaysWhatIsIgnoredOrPausedUnlessMembersNeedMore) {
  struct Row {
    const char* what;
    void (*change)(Observed& observed);
    const char* says;
  };
  for (const Row& row : {
           Row{"an annotation is ignored", [](Observed& o) { o.domain->deletion_grace = "soon"; },
               "True AnnotationInvalid"},
           Row{"the domain is paused", [](Observed& o) { o.domain->paused = "true"; },
               "True Paused"},
           Row{"and nobody uses it",
               [](Observed& o) {
                 o.domain->placement = "rack";
                 o.children.cliques.clear();
                 o.children.daemon_pods.clear();
                 o.children.claims.clear();
                 o.children.labelled_nodes.clear();
               },
               "True AnnotationInvalid"},
           Row{"a member is about to go",
               [](Observed& o) {
                 o.domain->deletion_grace = "soon";
                 Cordon(o, "node-0");
               },
               "True NodeLeaving"},
           Row{"changes of children are not seen",
               [](Observed& o) { o.facts.views.problems[Kind::kDaemonSet] = "503"; },
               "True AllMembersReady"},
       }) {
    const DomainStatus status = StatusAfter(row.change);
    const kube::Condition ready = *status.Find("Ready");
    EXPECT_EQ(ready.status + " " + ready.reason, row.says) << row.what << ": " << ready.message;
    const bool is_told = ready.reason == fixtures::ReasonOf(status, "Accepted");
    EXPECT_EQ(ready.message.ends_with(MessageOf(status, "Accepted")), is_told) << row.what;
  }
}

TEST(DecideStatus, AnnotationThatGoesUnheededIsSaidAndHarmsNothing) {
  const DomainStatus status = StatusAfter([](Observed& o) { o.domain->deletion_grace = "soon"; });
  EXPECT_EQ(status.Find("Accepted")->status, "True");
  EXPECT_EQ(fixtures::ReasonOf(status, "Accepted"), "AnnotationInvalid");
  EXPECT_EQ(status.Find("Ready")->status, "True");
}

TEST(DecideStatus, B52_DaemonThatDoesNotStartIsNamedBeforeItsNodeJoins) {
  const DomainStatus status = StatusAfter([](Observed& o) {
    RemoveMembers(o);
    api::DaemonPod pod = fixtures::MakePod("node-0", 0);
    pod.ready = false;
    pod.clique.reset();
    pod.trouble = "ImagePullBackOff: no such image";
    o.children.daemon_pods = {pod};
  });
  EXPECT_EQ(fixtures::ReasonOf(status, "Ready"), "MembersNotReady");
  EXPECT_NE(MessageOf(status, "Ready").find("node-0 (ImagePullBackOff: no such image)"),
            std::string::npos)
      << MessageOf(status, "Ready");
}

// Says why its daemon does not run, on a node that may be a member or not.
api::DaemonPod TroubledPod(const std::string& node) {
  api::DaemonPod pod = fixtures::MakePod(node, 0);
  pod.ready = false;
  pod.clique.reset();
  pod.trouble = "Unschedulable: no room";
  return pod;
}

TEST(DecideStatus, B52_DaemonThatHasNoNodeYetIsNamedByItsPodAlone) {
  const DomainStatus status = StatusAfter([](Observed& o) {
    RemoveMembers(o);
    o.children.daemon_pods = {TroubledPod("node-0")};
    o.children.daemon_pods[0].node.clear();
  });
  EXPECT_NE(MessageOf(status, "Ready").find(": daemon-node-0 (Unschedulable: no room)"),
            std::string::npos)
      << MessageOf(status, "Ready");
}

TEST(DecideStatus, TroubleOfADaemonThatEndsIsNoNews) {
  const DomainStatus before = StatusAfter([](Observed& o) {
    RemoveMembers(o);
    o.children.daemon_pods = {TroubledPod("node-0")};
    o.children.daemon_pods[0].meta.deleting = true;
  });
  EXPECT_EQ(MessageOf(before, "Ready").find("no room"), std::string::npos);
  const DomainStatus member = StatusAfter([](Observed& o) {
    o.children.daemon_pods[1].trouble = "CrashLoopBackOff: in use";
    o.children.daemon_pods[1].meta.deleting = true;
  });
  EXPECT_EQ(fixtures::ReasonOf(member, "Ready"), "MembersNotReady");
  EXPECT_EQ(MessageOf(member, "Ready").find("in use"), std::string::npos);
}

TEST(DecideStatus, P5_NodeThatAnotherHoldsIsSaidBeforeAnyNodeHasJoined) {
  const DomainStatus status = StatusAfter([](Observed& o) {
    RemoveMembers(o);
    o.nodes["node-1"].domain = fixtures::kOtherUid;
    o.others.domains = {{fixtures::kOtherUid, "team-a/other"}};
  });
  EXPECT_EQ(status.Find("Ready")->status, "False");
  EXPECT_EQ(fixtures::ReasonOf(status, "Ready"), "NodeHeldByAnotherDomain");
  EXPECT_NE(MessageOf(status, "Ready").find("node-1 (by team-a/other)"), std::string::npos);
}

TEST(DecideStatus, B7_FullCliqueIsSaidAndTheNodeNamed) {
  const Observed observed = Converged();
  Membership membership = PlanMembership(observed, Now());
  membership.without_index = {"node-18 in clique " + kCliqueId};
  const DomainStatus status = StatusOf(observed, {}, membership);
  EXPECT_EQ(fixtures::ReasonOf(status, "Ready"), "CliqueFull");
  EXPECT_NE(MessageOf(status, "Ready").find("node-18"), std::string::npos);
  EXPECT_NE(MessageOf(status, "Ready").find("holds 18 nodes"), std::string::npos);
}

TEST(DecideStatus, P3_P18_NumNodesIsTheLeastThatIsWaitedFor) {
  for (const std::int64_t number : {0, 1, 2, 3}) {
    SCOPED_TRACE(number);
    const DomainStatus status = StatusAfter([&](Observed& o) { o.domain->num_nodes = number; });
    const bool is_enough = number <= 2;  // Two have joined.
    EXPECT_EQ(status.status, is_enough ? "Ready" : "NotReady");
    for (const char* type : {"MembersReady", "Ready"}) {
      EXPECT_EQ(status.Find(type)->status, is_enough ? "True" : "False");
      EXPECT_EQ(fixtures::ReasonOf(status, type),
                is_enough ? "AllMembersReady" : "WaitingForMembers");
    }
  }
}

TEST(DecideStatus, B19_GlobalStatusFollowsTheContractAndTheConditionTheTruth) {
  const DomainStatus empty = StatusAfter(LeaveUnused);
  EXPECT_EQ(empty.status, "Ready") << "numNodes 0, no nodes";
  EXPECT_EQ(empty.Find("MembersReady")->status, "Unknown");
  EXPECT_EQ(empty.Find("Ready")->status, "True");
  const DomainStatus waiting = StatusAfter([](Observed& o) {
    LeaveUnused(o);
    o.domain->num_nodes = 1;
  });
  EXPECT_EQ(waiting.status, "NotReady");
}

TEST(DecideStatus, P14_MembersAreCountedByClique) {
  Observed observed = Converged();
  Membership membership = PlanMembership(observed, Now());
  membership.members = {{.node = "a", .clique = "", .ready = true},
                        {.node = "b", .clique = kCliqueId, .index = 0, .ready = true},
                        {.node = "c", .clique = kOtherCliqueId, .index = 0},
                        {.node = "d", .clique = kOtherCliqueId, .index = 1, .ready = true}};
  observed.children.claims.clear();
  observed.children.labelled_nodes.clear();
  for (const char* node : {"a", "b", "c", "d"}) {
    observed.nodes[node] = fixtures::MakeNode(node);
    observed.children.labelled_nodes.push_back(observed.nodes[node]);
  }
  const DomainStatus status = StatusOf(observed, {}, membership);
  EXPECT_EQ(status.members, "3/4");
  EXPECT_EQ(status.cliques, (std::vector<api::CliqueSummary>{
                                {"", 1, 1}, {kCliqueId, 1, 1}, {kOtherCliqueId, 2, 1}}));
}

TEST(DecideStatus, P8_ManyNamesAreCutShort) {
  const DomainStatus status = StatusAfter([](Observed& o) {
    for (int i = 2; i < 9; ++i) {
      o.children.cliques[0].daemons.push_back(
          fixtures::MakeMember("node-" + std::to_string(i), i, false));
      o.nodes["node-" + std::to_string(i)] = fixtures::MakeNode("node-" + std::to_string(i));
      o.children.labelled_nodes.push_back(o.nodes["node-" + std::to_string(i)]);
    }
    fixtures::AddMissingClaims(o);
  });
  EXPECT_NE(MessageOf(status, "Ready")
                .find("Not ready: node-2, node-3, node-4, node-5, node-6 and 2 more; 2/9"),
            std::string::npos)
      << MessageOf(status, "Ready");
}

TEST(DecideStatus, S18_ClaimInAnotherNamespaceIsNotAUseOfTheDomain) {
  const DomainStatus status = StatusAfter([](Observed& o) {
    for (api::ResourceClaim& claim : o.children.claims) claim.meta.key.ns = "team-b";
  });
  EXPECT_EQ(status.Find("InUse")->status, "False");
  EXPECT_EQ(MessageOf(status, "InUse").find("train-0"), std::string::npos);
}

TEST(DecideStatus, UnusedDomainSaysSo) {
  const DomainStatus status =
      StatusAfter([](Observed& o) { fixtures::EndWorkload(o.children.claims); });
  EXPECT_EQ(status.Find("InUse")->status, "False");
  EXPECT_EQ(fixtures::ReasonOf(status, "InUse"), "NoClaims");
}

TEST(DecideStatus, TransitionTimeMovesWithTheStatusAndNotWithTheMessage) {
  const DomainStatus moved = StatusAfter([](Observed& o) { o.nodes["node-1"].ready = false; });
  EXPECT_EQ(moved.Find("Ready")->last_transition_time, "2026-01-01T12:00:00Z");
  EXPECT_EQ(moved.Find("InUse")->last_transition_time, "2026-01-01T11:20:00Z");
  const DomainStatus same = StatusAfter([](Observed& o) {
    fixtures::ConditionOf(o.domain->status, "Ready").message = "stale";
    fixtures::ConditionOf(o.domain->status, "Ready").reason = "Stale";
  });
  EXPECT_EQ(same.Find("Ready")->last_transition_time, "2026-01-01T11:30:00Z");
}

TEST(DecideStatus, ConditionsOfOthersStay) {
  const kube::Condition theirs = {.type = "example.com/Audited",
                                  .status = "True",
                                  .reason = "Fine",
                                  .last_transition_time = "2026-01-01T00:00:00Z"};
  const DomainStatus status =
      StatusAfter([&](Observed& o) { o.domain->status.conditions.push_back(theirs); });
  ASSERT_EQ(status.conditions.size(), 7U);
  EXPECT_EQ(*status.Find("example.com/Audited"), theirs);
}

TEST(DecideStatus, S10_GenerationIsTheOneThatWasLookedAt) {
  const DomainStatus status = StatusAfter([](Observed& o) { o.domain->meta.generation = 7; });
  EXPECT_EQ(status.observed_generation, 7);
  for (const kube::Condition& condition : status.conditions) {
    EXPECT_EQ(condition.observed_generation, 7);
  }
}

TEST(DecideStatus, B59_CrdThatDropsOurFieldsGetsThoseOfTheReferenceAlone) {
  const DomainStatus status =
      StatusAfter([](Observed& o) { o.facts.cluster.status_is_pruned = true; });
  EXPECT_EQ(status, (DomainStatus{.status = "Ready", .nodes = fixtures::MakeStatus().nodes}));
}

TEST(DecideDeletionStatus, B59_CrdThatDropsConditionsGetsNone) {
  Observed observed = fixtures::Deleting();
  observed.facts.cluster.status_is_pruned = true;
  const DomainStatus status = StatusOf(observed, DeletionWait{.blockers = {"pods/a"}});
  EXPECT_EQ(status.status, "NotReady");
  EXPECT_TRUE(status.conditions.empty());
}

TEST(DecideDeletionStatus, DomainThatIsDeletedIsNotReadyWhateverItsMembersAre) {
  const Observed observed = fixtures::Deleting();
  const Membership membership = PlanMembership(observed, Now());
  const DomainStatus calm = StatusOf(observed, DeletionWait{}, membership);
  EXPECT_EQ(calm.status, "NotReady");
  EXPECT_EQ(fixtures::ReasonOf(calm, "Ready"), "Deleting");
  EXPECT_EQ(calm.nodes.size(), 2U);

  const DomainStatus blocked =
      StatusOf(observed,
               DeletionWait{.deadline = Now().wall + std::chrono::hours(13),
                            .blockers = {"pods/a", "pods/b"}},
               membership);
  EXPECT_EQ(
      MessageOf(blocked, "Ready"),
      "Deletion waits for pods/a, pods/b. Delete these pods, or wait: after 2026-01-02 01:00:00 "
      "UTC their daemons are removed under them.");

  Observed failing = observed;
  fixtures::Fail(failing, Concern::kChildren,
                 {.reason = "Forbidden", .message = "delete DaemonSet: 403"});
  const DomainStatus failed = StatusOf(failing, DeletionWait{}, membership);
  EXPECT_EQ(fixtures::ReasonOf(failed, "Ready"), "DeletionBlocked");
  EXPECT_EQ(MessageOf(failed, "Ready"), "delete DaemonSet: 403");

  Observed unprovided = observed;
  fixtures::Fail(unprovided, Concern::kChildren,
                 {.reason = "TemplateNameTaken", .message = "Create this domain again"});
  EXPECT_EQ(fixtures::ReasonOf(StatusOf(unprovided, DeletionWait{}, membership), "Ready"),
            "Deleting");
}

// ---- When it is written.

using Rest = RequeueAfter;

std::optional<WriteStatus> Decide(const Observed& observed, const DomainStatus& status,
                                  Rest& rest) {
  return DecideStatusWrite(observed, status, Now(), rest);
}

TEST(DecideStatusWrite, B18_Q2_NothingNewIsNotWritten) {
  Rest rest;
  EXPECT_FALSE(Decide(Converged(), fixtures::MakeStatus(), rest));
  EXPECT_FALSE(rest);
}

TEST(DecideStatusWrite, Q2_FieldsThatTheCrdDropsOrKeepsAreNoNewsWhereWeDoNotWriteThem) {
  Observed observed = Converged();
  observed.facts.cluster.status_is_pruned = true;
  Rest rest;
  EXPECT_FALSE(Decide(observed, StatusOf(observed), rest)) << "left by another version of the CRD";
  observed.domain->status.nodes[1].ready = false;
  EXPECT_TRUE(Decide(observed, StatusOf(observed), rest));
  observed.domain->status = fixtures::MakeStatus();
  observed.domain->num_nodes = 3;
  EXPECT_TRUE(Decide(observed, StatusOf(observed), rest)) << "the nodes are as they were";
}

TEST(DecideStatusWrite, P8_Q3_FirstChangeIsWrittenAtOnceAndTheNextAfterTheWindow) {
  DomainStatus news = fixtures::MakeStatus();
  fixtures::ConditionOf(news, "InUse").message = "new";
  Observed observed = Converged();
  struct Row {
    std::optional<milliseconds> written_before;
    bool writes;
    Rest rest;
  };
  const std::vector<Row> rows = {
      {std::nullopt, true, {}},
      {milliseconds(0), false, milliseconds(500)},
      {milliseconds(499), false, milliseconds(1)},
      {milliseconds(500), true, {}},
  };
  for (const Row& row : rows) {
    observed.memory.status_written.reset();
    if (row.written_before) observed.memory.status_written = Now().monotonic - *row.written_before;
    Rest rest;
    EXPECT_EQ(Decide(observed, news, rest).has_value(), row.writes);
    EXPECT_EQ(rest, row.rest);
  }
}

TEST(DecideStatusWrite, EarlierTimerOfTheTwoWins) {
  DomainStatus news = fixtures::MakeStatus();
  fixtures::ConditionOf(news, "InUse").message = "new";
  Observed observed = Converged();
  observed.memory.status_written = Now().monotonic - milliseconds(100);
  for (const auto& [had, rest] : {std::pair{milliseconds(50), milliseconds(50)},
                                  std::pair{milliseconds(60'000), milliseconds(400)}}) {
    Rest timer = had;
    EXPECT_FALSE(Decide(observed, news, timer));
    EXPECT_EQ(timer, rest);
  }
}

TEST(DecideStatusWrite, S1_ReadinessThatIsTakenAwayIsWrittenAtOnce) {
  struct Row {
    const char* what;
    std::function<void(DomainStatus&)> change;
    bool at_once;
  };
  const std::vector<Row> rows = {
      {"the whole", [](DomainStatus& s) { s.status = "NotReady"; }, true},
      {"a member", [](DomainStatus& s) { s.nodes[1].ready = false; }, true},
      {"a member that left", [](DomainStatus& s) { s.nodes.pop_back(); }, true},
      {"a member that came",
       [](DomainStatus& s) { s.nodes.push_back(fixtures::MakeMember("node-2", 2)); }, false},
      {"a message", [](DomainStatus& s) { fixtures::ConditionOf(s, "InUse").message = "new"; },
       false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    Observed observed = Converged();
    observed.memory.status_written = Now().monotonic - milliseconds(102);
    DomainStatus status = fixtures::MakeStatus();
    row.change(status);
    Rest rest;
    EXPECT_EQ(Decide(observed, status, rest).has_value(), row.at_once);
  }
  // A member that was not ready is nobody's loss.
  Observed observed = Converged();
  observed.memory.status_written = Now().monotonic - milliseconds(102);
  observed.domain->status.status = "NotReady";
  observed.domain->status.nodes[1].ready = false;
  DomainStatus status = observed.domain->status;
  status.nodes.pop_back();
  Rest rest;
  EXPECT_FALSE(Decide(observed, status, rest));
}

TEST(DecideStatusWrite, C10_LossesOfALargeDomainFollowOneAnotherAtAPaceThatItsSizeAllows) {
  Observed observed = Converged();
  for (int i = 2; i < 1000; ++i) {
    observed.domain->status.nodes.push_back(fixtures::MakeMember("n-" + std::to_string(i), i));
  }
  DomainStatus status = observed.domain->status;
  status.nodes[7].ready = false;
  observed.memory.status_written = Now().monotonic - milliseconds(1099);
  Rest rest;
  EXPECT_FALSE(Decide(observed, status, rest));
  EXPECT_EQ(rest, milliseconds(1));
  observed.memory.status_written = Now().monotonic - milliseconds(1100);
  EXPECT_TRUE(Decide(observed, status, rest));
}

// ---- Who is expected to take part.

TEST(DecideStatus, K1_NodeWithAChannelWhoseDaemonIsPendingIsNotLeftOutOfReady) {
  for (const bool is_labelled : {true, false}) {
    const DomainStatus status = StatusAfter([&](Observed& o) {
      o.children.claims.push_back(fixtures::MakeChannelClaim("node-2", "train-2"));
      o.nodes["node-2"] = fixtures::MakeNode("node-2", is_labelled ? fixtures::kUid : "");
      if (is_labelled) o.children.labelled_nodes.push_back(o.nodes["node-2"]);
    });
    EXPECT_EQ(status.status, "NotReady");
    EXPECT_EQ(status.members, "2/3");
    EXPECT_EQ(status.nodes.size(), 2U) << "what the reference shows are members alone";
    for (const char* type : {"MembersReady", "Ready"}) {
      EXPECT_EQ(status.Find(type)->status, "False");
      EXPECT_NE(MessageOf(status, type).find("node-2 (no daemon yet)"), std::string::npos);
    }
  }
}

TEST(DecideStatus, K1_MemberThatLeavesTakesNothingFromReadiness) {
  const DomainStatus status = StatusAfter([](Observed& o) {  // Its pod has ended well.
    std::erase_if(o.children.claims, [](const api::ResourceClaim& claim) {
      return claim.has_channel && claim.node == "node-1";
    });
    o.children.labelled_nodes.pop_back();
    o.nodes["node-1"].domain.clear();
    o.children.daemon_pods[1].ready = false;
  });
  EXPECT_EQ(status.status, "Ready");
  EXPECT_EQ(status.members, "1/1");
  EXPECT_EQ(status.Find("Ready")->status, "True");
}

TEST(DecideStatus, K1_NobodyIsTakenForLeavingWhereClaimsOrNodesAreNotRead) {
  for (const bool claims : {true, false}) {
    const DomainStatus status = StatusAfter([&](Observed& o) {
      if (claims) {
        o.facts.views.claims_are_read = false;
        o.children.claims.clear();
      } else {
        o.facts.views.freshness[Kind::kNode] = Freshness::kUnknown;
      }
      o.children.labelled_nodes.clear();
    });
    EXPECT_EQ(status.members, "2/2");
  }
}

TEST(DecideStatus, K1_U2_WhilePodsWaitReadySaysWhy) {
  const auto wait = [](Observed& o) {
    o.children.claims.push_back(fixtures::MakeWaitingClaim("train-2"));
  };
  const DomainStatus with_members = StatusAfter(wait);
  EXPECT_EQ(with_members.Find("Ready")->status, "False");
  EXPECT_EQ(fixtures::ReasonOf(with_members, "Ready"), "PodsWaiting");
  const DomainStatus without = StatusAfter([&](Observed& o) { LeaveUnused(o), wait(o); });
  EXPECT_EQ(without.Find("Ready")->status, "False");
  EXPECT_EQ(fixtures::ReasonOf(without, "Ready"), "PodsWaiting");
  EXPECT_NE(MessageOf(without, "Ready").find("pods/train-2"), std::string::npos);
}

// ---- What cannot be read.

TEST(DecideStatus, C4_ProvisionedDomainStaysAsItIsWhileAKindIsNotRead) {
  const DomainStatus status = StatusAfter([](Observed& o) {
    o.facts.views.problem_reason = "PermissionMissing";
    o.facts.views.problem = "Grant list on daemonsets.";
    o.children.daemon_sets.clear();
  });
  EXPECT_EQ(status.status, "Ready");
  for (const char* type : {"Accepted", "Provisioned", "Ready"}) {
    EXPECT_EQ(status.Find(type)->status, "True") << type;
  }
  EXPECT_EQ(fixtures::ReasonOf(status, "Accepted"), "PermissionMissing");
  EXPECT_NE(MessageOf(status, "Accepted").find("Grant list on daemonsets."), std::string::npos);
}

TEST(DecideStatus, REV4_K10_ChildrenThatAreNotReadAreTold) {
  for (const Kind kind : {Kind::kDaemonSet, Kind::kClaimTemplate}) {
    const DomainStatus status =
        StatusAfter([&](Observed& o) { o.facts.views.problems[kind] = "503"; });
    EXPECT_EQ(fixtures::ReasonOf(status, "Accepted"), "ChildrenNotRead");
    EXPECT_TRUE(MessageOf(status, "Accepted").ends_with("503"));
    EXPECT_EQ(status.Find("Ready")->status, "True");
  }
}

TEST(DecideStatus, REV4_K9_NewDomainIsUnknownWhileChildrenWereNeverRead) {
  for (const char* reason : {"ChildrenNotRead", "PermissionMissing"}) {
    const DomainStatus status = StatusAfter([&](Observed& o) {
      o.domain->status = {};
      o.children = {};
      o.facts.views.problem_reason = reason;
      o.facts.views.problem = "500";
    });
    const bool is_unread = std::string(reason) == "ChildrenNotRead";
    for (const char* type : {"Accepted", "Provisioned"}) {
      EXPECT_EQ(status.Find(type)->status, is_unread ? "Unknown" : "False") << type << reason;
    }
  }
}

TEST(DecideStatus, REV4_K10_ClaimsThatAreNotReadAreTold) {
  const auto unread = [](bool are_read) {
    return StatusAfter([&](Observed& o) {
      o.facts.views.problems[Kind::kClaim] = "503";
      o.facts.views.claims_are_read = are_read;
    });
  };
  EXPECT_EQ(fixtures::ReasonOf(unread(true), "MembersReady"), "ClaimsNotRead");
  EXPECT_EQ(MessageOf(unread(false), "MembersReady").find("503"), std::string::npos)
      << "a node joins by its label";
}

TEST(DecideStatus, REV4_K8_CliquesThatAreNotReadOrNotServedAreTold) {
  const auto unread = [](bool are_served) {
    return MessageOf(StatusAfter([&](Observed& o) {
                       o.facts.views.problems[Kind::kClique] = "404";
                       o.facts.views.cliques_are_served = are_served;
                     }),
                     "MembersReady");
  };
  EXPECT_NE(unread(true).find("Cliques cannot be read"), std::string::npos);
  EXPECT_NE(unread(false).find("Cliques are not served"), std::string::npos);
}

TEST(DecideStatus, REV4_K3_DaemonsThatNoDaemonSetOwnsAreNamedWhileTheyRun) {
  const auto says = [](const Change& change) {
    return MessageOf(StatusAfter([&](Observed& o) {
                       api::DaemonPod& pod = o.children.daemon_pods[1];
                       pod.meta.owners.clear();
                       pod.meta.key.name = fixtures::kDaemonName + "-x";
                       change(o);
                     }),
                     "MembersReady")
               .find("No DaemonSet of the domain owns the daemons on node-1") != std::string::npos;
  };
  EXPECT_TRUE(says([](Observed&) {}));
  EXPECT_FALSE(says([](Observed& o) { o.children.daemon_pods[1].meta.key.name = "copy"; }));
  EXPECT_FALSE(says([](Observed& o) { o.children.daemon_pods[1].node.clear(); }));
  EXPECT_FALSE(says([](Observed& o) { fixtures::Delete(o.children.daemon_pods[1].meta, {}); }));
}

TEST(DecideStatus, REV4_K3_DaemonThatAnotherDaemonSetAdoptedIsNamed) {
  const auto message = [](const std::string& owner) {
    return MessageOf(StatusAfter([&](Observed& o) {
                       api::DaemonPod& pod = o.children.daemon_pods[1];
                       pod.meta.key.name = fixtures::kDaemonName + "-x";
                       pod.meta.owners[0].name = owner;
                       pod.meta.owners[0].uid = "not in the cache";
                     }),
                     "MembersReady");
  };
  EXPECT_NE(message("another").find("No DaemonSet of the domain owns the daemons on node-1"),
            std::string::npos);
  EXPECT_EQ(message(fixtures::kDaemonName).find("No DaemonSet"), std::string::npos)
      << "the cache may lag";
}

TEST(DecideStatus, REV4_K11_NodeWithoutAPodAndOneWhosePodFailsHaveACommandEach) {
  Observed observed = Converged();
  observed.children.daemon_pods[0].ready = false;
  observed.children.daemon_pods[0].trouble = "CrashLoopBackOff";
  observed.nodes["node-2"] = fixtures::MakeNode("node-2");
  observed.children.labelled_nodes.push_back(observed.nodes["node-2"]);
  observed.children.claims.push_back(fixtures::MakeChannelClaim("node-2", "train-2"));
  observed.memory.phases["node-2"] = {.since = fixtures::Now().monotonic - std::chrono::minutes(1)};
  observed.memory.creation_trouble = "exceeded quota: none";
  const std::string says = MessageOf(StatusOf(observed), "MembersReady");
  EXPECT_NE(says.find("Daemon pods for node-2 are not created: exceeded quota: none."),
            std::string::npos)
      << says;
  EXPECT_NE(says.find("describe daemonsets"), std::string::npos) << says;
  EXPECT_NE(says.find("--field-selector spec.nodeName=node-0"), std::string::npos) << says;
}

TEST(DecideStatus, REV4_K12_DaemonSetThatLostItsAnnotationIsKnownByItsPodsOrTemplate) {
  const auto says = [](const Change& change) {
    return MessageOf(StatusAfter([&](Observed& o) {
                       for (auto& set : o.children.daemon_sets) set.template_hash.clear();
                       for (auto& pod : o.children.daemon_pods) pod.template_hash.clear();
                       for (auto& one : o.children.templates) one.template_hash.clear();
                       change(o);
                     }),
                     "Provisioned")
               .find("has lost its annotation") != std::string::npos;
  };
  EXPECT_FALSE(says([](Observed&) {})) << "NVIDIA's controller made it";
  EXPECT_TRUE(says([](Observed& o) { o.children.daemon_pods[0].template_hash = "h"; }));
  EXPECT_FALSE(says([](Observed& o) {
    o.children.daemon_pods[0].template_hash = "h";
    o.children.daemon_pods[0].meta.owners.clear();
  }));
  for (const bool is_daemons : {true, false}) {
    EXPECT_EQ(says([&](Observed& o) {
                for (auto& one : o.children.templates) {
                  if ((one.target == "Daemon") == is_daemons) one.template_hash = "h";
                }
              }),
              is_daemons);
  }
  const auto with_annotation = [](Observed& o) {
    o.children.daemon_sets[0].template_hash = "h";
    for (auto& pod : o.children.daemon_pods) pod.template_hash = "h";
  };
  EXPECT_FALSE(says(with_annotation));
  EXPECT_FALSE(says([&](Observed& o) {
    with_annotation(o);
    api::DaemonSet other = o.children.daemon_sets[0];
    other.domain = fixtures::kOtherUid;
    other.template_hash.clear();
    o.children.daemon_sets.push_back(other);
  }));
}

TEST(DecideStatus, C3_NodesThatWereNeverReadTakeNobodysReadinessAndThatIsSaid) {
  const DomainStatus status = StatusAfter([](Observed& o) {
    o.nodes.clear();
    o.children.labelled_nodes.clear();
    o.facts.views.freshness[Kind::kNode] = Freshness::kUnknown;
    o.facts.views.problems[Kind::kNode] = "grant list on nodes";
  });
  EXPECT_EQ(status.status, "Ready");
  EXPECT_EQ(fixtures::ReasonOf(status, "MembersReady"), "NodesNotRead");
  EXPECT_NE(MessageOf(status, "MembersReady").find("grant list on nodes"), std::string::npos);
}

TEST(DecideStatus, C3_MemberThatIsNotReadyIsNamedAlsoWhereNodesAreNotRead) {
  const DomainStatus status = StatusAfter([](Observed& o) {
    o.nodes.clear();
    o.facts.views.freshness[Kind::kNode] = Freshness::kUnknown;
    o.children.daemon_pods[1].ready = false;
  });
  EXPECT_EQ(fixtures::ReasonOf(status, "MembersReady"), "MembersNotReady");
  EXPECT_NE(MessageOf(status, "MembersReady").find("Not ready: node-1"), std::string::npos);
}

TEST(DecideStatus, C5_RollThatHasStoppedIsSaidWhereDaemonsAreOutdated) {
  const auto stop = [](Observed& o) {
    o.facts.cluster.rollout_stopped = "The daemon on node-77 fails.";
  };
  const DomainStatus status = StatusAfter([&](Observed& o) {
    stop(o);
    o.children.daemon_sets[0].template_hash = "new";
  });
  EXPECT_EQ(fixtures::ReasonOf(status, "Provisioned"), "RollStopped");
  EXPECT_NE(MessageOf(status, "Provisioned").find("node-77"), std::string::npos);
  EXPECT_EQ(status.Find("Ready")->status, "True");
  EXPECT_EQ(fixtures::ReasonOf(StatusAfter(stop), "Provisioned"), "ChildrenExist");
}

TEST(DecideStatus, C20_WhoMayNotDeletePodsSaysThatDaemonsAreReplacedByHand) {
  const DomainStatus status = StatusAfter([](Observed& o) {
    o.children.daemon_sets[0].template_hash = "new";
    o.facts.cluster.missing_permissions[{.verb = "delete", .resource = "pods"}] = {};
  });
  EXPECT_EQ(fixtures::ReasonOf(status, "Provisioned"), "Outdated");
  EXPECT_NE(MessageOf(status, "Provisioned").find("may not delete pods"), std::string::npos);
}

TEST(DecideStatus, C5_DomainThatAllowsItIsToldThatItsDaemonsAreReplaced) {
  const DomainStatus status = StatusAfter([](Observed& o) {
    o.children.daemon_sets[0].template_hash = "new";
    o.domain->daemon_roll = "Always";
  });
  EXPECT_NE(MessageOf(status, "Provisioned").find("replaced one by one"), std::string::npos);
}

TEST(DecideStatus, P5_NodeThatAnotherHoldsIsSaidAlsoWhileItsDaemonServes) {
  const DomainStatus status =
      StatusAfter([](Observed& o) { o.nodes["node-1"].domain = fixtures::kOtherUid; });
  EXPECT_EQ(fixtures::ReasonOf(status, "Ready"), "NodeHeldByAnotherDomain");
}

TEST(DecideStatus, B52_DaemonOnANodeThatNobodyExpectsIsNamedByPodAndNode) {
  for (const bool goes : {false, true}) {
    const DomainStatus status = StatusAfter([&](Observed& o) {
      LeaveUnused(o);
      o.children.daemon_pods = {TroubledPod("node-7")};
      o.children.daemon_pods[0].meta.deleting = goes;
    });
    const bool is_named =
        MessageOf(status, "MembersReady")
            .find("daemon-node-7 on node-7 (Unschedulable: no room)") != std::string::npos;
    EXPECT_NE(is_named, goes);
  }
}

TEST(DecideStatus, C12_WhoUsesTheDomainIsUnknownWhileClaimsAreNotRead) {
  const DomainStatus status = StatusAfter([](Observed& o) {
    o.facts.views.claims_are_read = false;
    o.facts.views.problem_reason = "PermissionMissing";
    o.children.claims.clear();
  });
  EXPECT_EQ(status.Find("InUse")->status, "Unknown");
}

TEST(DecideStatus, C20_WhoMayNotReadClaimsSaysSoOfUseAlone) {
  const DomainStatus status = StatusAfter([](Observed& o) {
    o.facts.views.claims_are_read = o.facts.views.claims_are_granted = false;
    o.facts.views.problems[Kind::kClaim] = "Grant list on resourceclaims.";
    o.children.claims.clear();
  });
  EXPECT_EQ(fixtures::ReasonOf(status, "InUse"), "PermissionMissing");
  EXPECT_NE(MessageOf(status, "InUse").find("Grant list"), std::string::npos);
  EXPECT_NE(MessageOf(status, "InUse").find("each node with its label counts as a member"),
            std::string::npos)
      << "X2: membership is the node's word then";
  EXPECT_EQ(status.Find("Ready")->status, "True");
}

TEST(DecideStatus, L1_DomainWithoutItsTemplateIsNotReadyForNvidiasToolsEither) {
  const auto lose = [](Observed& o) {
    std::erase_if(o.children.templates, [](const auto& one) { return one.target == "Workload"; });
  };
  EXPECT_EQ(StatusAfter(lose).status, "NotReady");
  const DomainStatus unseen = StatusAfter([&](Observed& o) {
    lose(o);
    o.facts.views.problem = "Grant list on resourceclaimtemplates.";
    o.facts.views.problem_reason = "PermissionMissing";
  });
  EXPECT_EQ(unseen.status, "Ready") << "what is not read need not be missing";
}

TEST(DecideStatusWrite, B3_WriteIsLockedToTheVersionThatWasLookedAt) {
  DomainStatus news = fixtures::MakeStatus();
  news.members = "1/2";
  Rest rest;
  const auto write = Decide(Converged(), news, rest);
  ASSERT_TRUE(write);
  EXPECT_EQ(write->object, Converged().domain->meta);
  EXPECT_EQ(write->status, news);
}

TEST(DecideStatus, B47_ImexThatRunsOnTheHostIsSaidWithWhatToDo) {
  const std::string messages = "CrashLoopBackOff: Failed to allocate Imex: NV_ERR_IN_USE";
  const auto stops = [](const DomainStatus& status) {
    return MessageOf(status, "Ready").find("systemctl disable --now nvidia-imex") !=
           std::string::npos;
  };
  EXPECT_TRUE(stops(StatusAfter([&](Observed& o) {
    o.children.daemon_pods[1].ready = false;
    o.children.daemon_pods[1].trouble = messages;
  })));
  EXPECT_FALSE(stops(StatusAfter([&](Observed& o) {
    o.children.daemon_pods[1].ready = false;
    o.children.daemon_pods[1].trouble = "CrashLoopBackOff: no CDI device";
  })));
  EXPECT_TRUE(stops(StatusAfter([&](Observed& o) {
    o.domain->status.nodes.clear();
    o.children.cliques.clear();
    o.children.daemon_pods[0].ready = false;
    o.children.daemon_pods[0].trouble = messages;
  })));
}

TEST(DecideStatus, FailureMatters_OnlyWhereAChildThatIsNeededIsMissing) {
  const Failure refused = {.reason = "Forbidden", .message = "no"};
  for (const Concern concern : {Concern::kFinalizer, Concern::kChildren, Concern::kMembership,
                                Concern::kLabels, Concern::kRollout, Concern::kReads}) {
    Observed observed = Converged();
    fixtures::Fail(observed, concern, refused);
    EXPECT_EQ(StatusOf(observed).status, "Ready");
    EXPECT_TRUE(MessageOf(StatusOf(observed), "Provisioned").ends_with(" Not done yet: no"));
    observed.children.templates.pop_back();
    const bool makes = concern == Concern::kFinalizer || concern == Concern::kChildren;
    EXPECT_EQ(fixtures::ReasonOf(StatusOf(observed), "Provisioned"),
              makes ? "Forbidden" : "ChildrenMissing");
    observed.memory.retries.at(fixtures::kAct).is_wanted = false;
    EXPECT_EQ(fixtures::ReasonOf(StatusOf(observed), "Provisioned"), "ChildrenMissing");
  }
  Observed twice = Converged();
  fixtures::Fail(twice, Concern::kLabels, refused);
  twice.memory.retries[{.type = 1}] = {.concern = Concern::kLabels,
                                       .failure = std::make_shared<Failure>(refused)};
  twice.memory.retries[{.type = 2}] = {.concern = Concern::kLabels};
  EXPECT_TRUE(MessageOf(StatusOf(twice), "Provisioned").ends_with(" Not done yet: no"));
}

TEST(DecideStatus, REV3_F3_ChildThatAnOldViewLacksIsNotMissing) {
  Observed observed = Converged();
  observed.children.templates.pop_back();
  observed.facts.views.children_are_current = false;
  EXPECT_EQ(StatusOf(observed).status, "Ready");
  EXPECT_EQ(fixtures::ReasonOf(StatusOf(observed), "Provisioned"), "ChildrenExist");
  observed.facts.views.children_are_current = true;
  observed.lacks_own_child = true;
  EXPECT_EQ(fixtures::ReasonOf(StatusOf(observed), "Provisioned"), "ChildrenExist");
  observed.children = Converged().children;
  EXPECT_EQ(fixtures::ReasonOf(StatusOf(observed), "Provisioned"), "ChildrenExist");
  observed.domain->status = {};  // It never was provisioned.
  observed.children.templates.pop_back();
  EXPECT_EQ(fixtures::ReasonOf(StatusOf(observed), "Provisioned"), "ChildrenMissing");
}

TEST(DecideStatus, REV3_F3_DaemonsThatAreNotReadAreToldBesideWhatIsWrong) {
  Observed observed = Converged();
  observed.facts.views.problems[Kind::kDaemonPod] = "503";
  EXPECT_EQ(StatusOf(observed).status, "Ready");
  EXPECT_EQ(fixtures::ReasonOf(StatusOf(observed), "MembersReady"), "DaemonsNotRead");
  observed.children.daemon_pods[0].ready = false;
  EXPECT_EQ(fixtures::ReasonOf(StatusOf(observed), "MembersReady"), "MembersNotReady");
  EXPECT_NE(MessageOf(StatusOf(observed), "MembersReady").find("Daemon pods cannot be"),
            std::string::npos);
}

TEST(DecideStatus, REV3_F3_NodesThatAreNotReadAreToldBesideWhatIsWrong) {
  Observed observed = Converged();
  observed.facts.views.freshness[Kind::kNode] = Freshness::kStale;
  observed.facts.views.problems[Kind::kNode] = "503";
  EXPECT_EQ(fixtures::ReasonOf(StatusOf(observed), "MembersReady"), "NodesNotRead");
  observed.children.daemon_pods[0].ready = false;
  EXPECT_EQ(fixtures::ReasonOf(StatusOf(observed), "MembersReady"), "MembersNotReady");
  EXPECT_NE(MessageOf(StatusOf(observed), "MembersReady").find("Nodes cannot be read"),
            std::string::npos);
}

TEST(DecideStatus, REV3_X2_NodeThatOnlyItsLabelGivesToTheDomainKeepsItFromNothing) {
  Observed observed = Converged();
  observed.nodes["node-9"] = fixtures::MakeNode("node-9");
  observed.children.labelled_nodes.push_back(observed.nodes["node-9"]);
  EXPECT_EQ(StatusOf(observed).status, "Ready");
  const std::vector<Change> views_that_are_behind = {
      [](Observed& o) { o.facts.views.claims_are_current = false; },
      [](Observed& o) { o.facts.views.freshness[Kind::kClaim] = Freshness::kStale; }};
  for (const Change& change : views_that_are_behind) {
    Observed behind = observed;
    change(behind);
    behind.domain->status.status = "Ready";
    EXPECT_EQ(StatusOf(behind).status, "Ready") << "what an old view lacks is not known";
    behind.domain->status.status = "NotReady";
    EXPECT_EQ(StatusOf(behind).status, "NotReady") << "and makes nobody ready";
  }
  observed.children.claims.push_back(fixtures::MakeChannelClaim("node-9", "train-9"));
  EXPECT_EQ(StatusOf(observed).status, "NotReady") << "a pod is there, and nobody serves it";
}

// The plugin takes the label off once no pod there has a channel; its host may be silent by then.
TEST(DecideStatus, WhereClaimsMayNotBeReadAMemberLeavesWithItsLabel) {
  Observed observed = fixtures::WithoutClaims(Converged());
  observed.nodes.at("node-1").ready = false;
  observed.children.daemon_pods[1].ready = false;
  observed.nodes.at("node-1").domain.clear();
  std::erase_if(observed.children.labelled_nodes,
                [](const api::Node& node) { return node.meta.key.name == "node-1"; });
  EXPECT_EQ(StatusOf(observed).status, "Ready");
  EXPECT_EQ(StatusOf(observed).members, "1/1");
  observed.facts.views.freshness[Kind::kNode] = Freshness::kStale;
  EXPECT_EQ(StatusOf(observed).members, "1/2") << "an old view says nothing";
}

TEST(DecideStatus, REV3_X2_DaemonThatServesWithoutAPodOfTheDomainIsTold) {
  Observed observed = Converged();
  observed.children.daemon_pods.push_back(fixtures::MakePod("node-9", 9));
  observed.children.labelled_nodes.push_back(fixtures::MakeNode("node-9"));
  const auto now = fixtures::Now().monotonic;
  observed.memory.idle_since["node-9"] = now - std::chrono::seconds(9);
  EXPECT_EQ(fixtures::ReasonOf(StatusOf(observed), "MembersReady"), "AllMembersReady");
  observed.memory.idle_since["node-9"] = now - std::chrono::seconds(10);
  EXPECT_EQ(fixtures::ReasonOf(StatusOf(observed), "MembersReady"), "MemberWithoutClaim");
  EXPECT_EQ(
      MessageOf(StatusOf(observed), "MembersReady"),
      "All 2/2 members are ready. Not counted, because no pod of the domain has a channel there: "
      "node-9. For administrators: find out who labels these nodes.");
  Observed with_worse = observed;
  with_worse.children.daemon_pods[0].ready = false;
  EXPECT_EQ(fixtures::ReasonOf(StatusOf(with_worse), "MembersReady"), "MembersNotReady");
  const std::vector<Change> innocent = {
      [](Observed& o) { o.children.daemon_pods.back().ready = false; },
      [](Observed& o) { o.domain->status.nodes.push_back(fixtures::MakeMember("node-9", 2)); },
      [](Observed& o) { o.memory.idle_since.clear(); },
      [](Observed& o) { o.memory.phases["node-9"].is = MemberPhase::Is::kLeaving; },
      [](Observed& o) { o.facts.views.freshness[Kind::kClaim] = Freshness::kStale; },
      [](Observed& o) { o = fixtures::WithoutClaims(o); }};
  for (const Change& change : innocent) {
    Observed changed = observed;
    change(changed);
    EXPECT_NE(fixtures::ReasonOf(StatusOf(changed), "MembersReady"), "MemberWithoutClaim");
  }
}

}  // namespace
}  // namespace compute_domain
