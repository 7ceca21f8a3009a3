#include "controller/compute_domain/status/events.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "controller/api/names.h"
#include "controller/compute_domain/plan/next_memory.h"
#include "controller/compute_domain/rules/membership/membership.h"
#include "controller/compute_domain/status/status.h"
#include "test/fixtures/observed.h"
#include "test/fixtures/plan.h"

namespace compute_domain {
namespace {

using fixtures::Converged;
using fixtures::Deleting;
using fixtures::kDriverNs;
using fixtures::kOtherUid;
using fixtures::kUid;
using fixtures::kUserNs;
using fixtures::Now;
using Texts = std::vector<std::string>;

// "Warning NodeLost of ComputeDomain team-a/train", for each.
Texts Summaries(const std::vector<kube::Event>& events) {
  Texts texts;
  for (const kube::Event& event : events) {
    texts.push_back(std::string(event.type == kube::EventType::kWarning ? "Warning " : "Normal ") +
                    event.reason + " of " + event.regarding.kind + " " +
                    kube::ToString(event.regarding.key));
  }
  return texts;
}

// Gives its conditions MembersReady and Ready this status and reason.
void SetConditions(api::DomainStatus& status, const std::string& value, const std::string& reason) {
  for (kube::Condition& condition : status.conditions) {
    if (condition.type != "MembersReady" && condition.type != "Ready") continue;
    condition.status = value;
    condition.reason = reason;
    condition.message = "Because of " + reason + ".";
  }
}

// What the write tells that says this of the domain.
std::vector<kube::Event> Told(const Observed& observed, const std::string& status,
                              const std::string& reason) {
  api::DomainStatus written = observed.domain->status;
  SetConditions(written, status, reason);
  return EventsOf(WriteStatus{.object = observed.domain->meta, .status = written}, observed);
}

// The domain as it is after a write that said this.
Observed After(const std::string& status, const std::string& reason) {
  Observed observed = Converged();
  SetConditions(observed.domain->status, status, reason);
  return observed;
}

TEST(EventsOfGates, UnsupportedGate_IsAWarning_OnTheControllersPod) {
  const auto events = EventsOf({{.name = "Later", .value = true},
                                {.name = "A", .cost = "b is not served", .remedy = "Remove it"}},
                               {.ns = "cdom-system", .name = "cdom-controller-0"});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].type, kube::EventType::kWarning);
  EXPECT_EQ(events[0].reason, "FeatureGateNotSupported");
  EXPECT_EQ(events[0].note, "Feature gate A=false is not supported: b is not served. Remove it.");
  EXPECT_EQ(events[0].regarding.kind, "Pod");
  EXPECT_EQ(events[0].regarding.key,
            (kube::ObjectKey{.ns = "cdom-system", .name = "cdom-controller-0"}));
}

TEST(EventsOfStatus, LossOfANodeIsAWarningWithTheConditionsWords) {
  const std::vector<kube::Event> events = Told(Converged(), "False", "NodeLost");
  ASSERT_EQ(Summaries(events), (Texts{"Warning NodeLost of ComputeDomain team-a/train"}));
  EXPECT_EQ(events[0].note, "Because of NodeLost.");
  EXPECT_EQ(events[0].action, "Reconciling");
  EXPECT_EQ(events[0].regarding.api_version, "resource.nvidia.com/v1beta1");
  EXPECT_EQ(events[0].regarding.uid, kUid);
}

TEST(EventsOfStatus, RealStatusOfALostNodeTellsIt) {
  Observed observed = Converged();
  observed.nodes["node-1"].ready = false;
  const api::DomainStatus status = fixtures::StatusOf(observed);
  EXPECT_EQ(
      Summaries(EventsOf(WriteStatus{.object = observed.domain->meta, .status = status}, observed)),
      (Texts{"Warning NodeLost of ComputeDomain team-a/train"}));
}

TEST(EventsOfStatus, WriteWithoutANewReasonTellsNothing) {
  EXPECT_EQ(Summaries(Told(Converged(), "True", "AllMembersReady")), Texts());
  EXPECT_EQ(Summaries(Told(After("False", "NodeLost"), "False", "NodeLost")), Texts());
}

TEST(EventsOfStatus, DomainThatGetsReadySaysSo) {
  EXPECT_EQ(Summaries(Told(After("False", "NodeLost"), "True", "AllMembersReady")),
            (Texts{"Normal AllMembersReady of ComputeDomain team-a/train"}));
}

TEST(EventsOfStatus, UsualCourseOfADomainTellsNothing) {
  for (const char* reason : {"NoMembers", "WaitingForMembers", "Deleting"}) {
    EXPECT_EQ(Summaries(Told(Converged(), "False", reason)), Texts()) << reason;
  }
}

TEST(EventsOfStatus, P1_EachCauseThatNeedsSomebodyIsAWarning) {
  for (const char* reason :
       {"SpecMissing", "DRANotServed", "PermissionMissing", "Forbidden", "TemplateNameTaken",
        "ProvisioningFailed", "CliqueFull", "NodeLost", "MembersNotReady", "PluginMissing",
        "ImexAddressDiffers", "PodsStuckTerminating", "DeletionBlocked"}) {
    EXPECT_EQ(Summaries(Told(Converged(), "False", reason)),
              (Texts{std::string("Warning ") + reason + " of ComputeDomain team-a/train"}));
  }
}

TEST(EventsOfStatus, G10_G11_G12_WhatShouldBeKnownOfMembersThatServeIsAWarningOnce) {
  for (const char* reason :
       {"NodeLeaving", "ImexIndexDiffers", "ImexPeersUnreachable", "ImexPeersUnknown",
        "ImexRestartedUnderJob", "SpansCliques", "NoFabric"}) {
    EXPECT_EQ(Summaries(Told(Converged(), "True", reason)),
              (Texts{std::string("Warning ") + reason + " of ComputeDomain team-a/train"}));
    EXPECT_EQ(Summaries(Told(After("True", reason), "True", reason)), Texts());
  }
}

TEST(EventsOfStatus, REV3_W4_MembersThatStartOrLeave_AreNormal) {
  EXPECT_EQ(Summaries(Told(After("True", "Idle"), "False", "MembersStarting")),
            (Texts{"Normal MembersStarting of ComputeDomain team-a/train"}));
  EXPECT_EQ(Summaries(Told(Converged(), "False", "MembersLeaving")),
            (Texts{"Normal MembersLeaving of ComputeDomain team-a/train"}));
}

TEST(EventsOfStatus, REV3_W4_MembersThatStartForTooLong_AreAWarning) {
  EXPECT_EQ(Summaries(Told(After("False", "MembersStarting"), "False", "MembersNotReady")),
            (Texts{"Warning MembersNotReady of ComputeDomain team-a/train"}));
}

TEST(EventsOfStatus, ReasonThatNobodyListedIsNormal) {
  EXPECT_EQ(Summaries(Told(Converged(), "True", "SomethingNew")),
            (Texts{"Normal SomethingNew of ComputeDomain team-a/train"}));
}

TEST(EventsOfStatus, ReasonThatConditionsShareIsToldOnce) {
  Observed observed = Deleting();
  api::DomainStatus written = observed.domain->status;
  for (const char* type : {"Provisioned", "Ready", "DeletionBlocked"}) {
    std::erase_if(written.conditions, [&](const auto& one) { return one.type == type; });
    written.conditions.push_back({.type = type, .status = "False", .reason = "DeletionBlocked"});
  }
  const std::vector<kube::Event> events =
      EventsOf(WriteStatus{.object = observed.domain->meta, .status = written}, observed);
  ASSERT_EQ(Summaries(events), (Texts{"Warning DeletionBlocked of ComputeDomain team-a/train"}));
  EXPECT_EQ(events[0].action, "Deleting");
}

TEST(EventsOfStatus, FirstStatusOfADomainThatWaitsForPodsTellsNothing) {
  Observed observed = Converged();
  const api::DomainStatus written = After("Unknown", "NoMembers").domain->status;
  observed.domain->status = {};
  EXPECT_EQ(Summaries(EventsOf(WriteStatus{.status = written}, observed)), Texts());
}

// team-a/second names the template that is another domain's.
Observed Second(const std::string& holder_ns, const kube::OwnerReference& holder) {
  Observed observed = Converged();
  NameHolder taken = {.meta = fixtures::Meta(holder_ns, "wanted", "template"), .domain = kOtherUid};
  taken.meta.owners = {holder};
  observed.evidence.names[{Kind::kClaimTemplate, {.ns = holder_ns, .name = "wanted"}}] =
      Found(taken);
  return observed;
}

kube::OwnerReference FirstAsOwner() {
  kube::OwnerReference owner = fixtures::DomainAsOwner(kOtherUid);
  owner.name = "first";
  return owner;
}

TEST(EventsOfStatus, B39_DomainThatHasTheTemplateHearsWhoWantsIt) {
  const std::vector<kube::Event> events =
      Told(Second(kUserNs, FirstAsOwner()), "False", "TemplateNameTaken");
  ASSERT_EQ(Summaries(events), (Texts{"Warning TemplateNameTaken of ComputeDomain team-a/train",
                                      "Warning TemplateNameWanted of ComputeDomain team-a/first"}));
  EXPECT_EQ(events[1].regarding.uid, kOtherUid);
  EXPECT_NE(events[1].note.find("team-a/train names ResourceClaimTemplate wanted"),
            std::string::npos)
      << events[1].note;
  ASSERT_TRUE(events[1].related);
  EXPECT_EQ(events[1].related->uid, kUid);
}

TEST(EventsOfStatus, B39_TemplateOfNoDomainHearsWhoWantsItsName) {
  kube::OwnerReference somebody = FirstAsOwner();
  somebody.kind = "Job";
  Observed of_a_job = Second(kUserNs, somebody);
  Observed of_nobody = of_a_job;
  of_nobody.evidence.names.begin()->second.holder.meta.owners.clear();
  for (const Observed& observed : {of_a_job, of_nobody}) {
    const std::vector<kube::Event> events = Told(observed, "False", "TemplateNameTaken");
    ASSERT_EQ(Summaries(events),
              (Texts{"Warning TemplateNameTaken of ComputeDomain team-a/train",
                     "Warning TemplateNameWanted of ResourceClaimTemplate team-a/wanted"}));
    EXPECT_EQ(events[1].regarding.uid, "template");
    EXPECT_NE(events[1].note.find("Delete it"), std::string::npos) << events[1].note;
  }
}

TEST(EventsOfStatus, DomainIsNotToldThatItWantsItsOwnTemplate) {
  const Observed observed = Second(kUserNs, fixtures::DomainAsOwner());
  EXPECT_EQ(Told(observed, "False", "TemplateNameTaken").size(), 1U);
}

TEST(EventsOfStatus, S18_NothingOfADomainIsToldInAnotherNamespace) {
  for (const kube::Event& event :
       Told(Second("team-b", FirstAsOwner()), "False", "TemplateNameTaken")) {
    EXPECT_EQ(event.regarding.key.ns, kUserNs);
  }
}

Create MakeAgain() {
  return {.kind = Kind::kDaemonSet,
          .key = {.ns = kDriverNs, .name = "computedomain-daemon-x"},
          .object = json::Value::Object({{"kind", "DaemonSet"}})};
}

TEST(EventsOfActions, B36_ChildThatWasThereBeforeIsToldAsRepaired) {
  Observed unused = Converged();
  fixtures::EndWorkload(unused.children.claims);
  const std::vector<kube::Event> events = EventsOf(MakeAgain(), unused);
  ASSERT_EQ(Summaries(events), (Texts{"Normal Repaired of ComputeDomain team-a/train"}));
  EXPECT_NE(events[0].note.find("DaemonSet cdom-system/computedomain-daemon-x"), std::string::npos);
  Create other = MakeAgain();
  other.kind = Kind::kClaimTemplate;
  EXPECT_EQ(Summaries(EventsOf(other, Converged())),
            (Texts{"Normal Repaired of ComputeDomain team-a/train"}))
      << "no daemon restarts for it";
}

TEST(EventsOfActions, K5_DaemonSetThatWasDeletedUnderAJobIsAWarningThatNamesTheJob) {
  for (const bool are_gone : {false, true}) {
    Observed observed = Converged();
    if (are_gone) observed.children.daemon_pods.clear();
    const std::vector<kube::Event> events = EventsOf(MakeAgain(), observed);
    ASSERT_EQ(Summaries(events),
              (Texts{"Warning DaemonsInterrupted of ComputeDomain team-a/train"}));
    const std::string& note = events[0].note;
    EXPECT_TRUE(note.starts_with("DaemonSet cdom-system/computedomain-daemon-x was deleted"))
        << note;
    EXPECT_NE(note.find("Every daemon of the domain restarts"), std::string::npos) << note;
    EXPECT_NE(note.find("pods/train-0 on node-0"), std::string::npos) << note;
  }
}

TEST(EventsOfActions, ChildThatTookItsTimeToGoIsToldAsRepairedToo) {
  Create other = MakeAgain();
  other.kind = Kind::kClaimTemplate;
  EXPECT_EQ(Summaries(EventsOf(other, After("False", "ChildrenTerminating"))),
            (Texts{"Normal Repaired of ComputeDomain team-a/train"}));
}

TEST(EventsOfActions, K5_DaemonsThatWereLeftBehindGoOnUnderTheNextDaemonSet) {
  Observed observed = Converged();
  for (api::DaemonPod& pod : observed.children.daemon_pods) pod.meta.owners.clear();
  EXPECT_EQ(Summaries(EventsOf(MakeAgain(), observed)),
            (Texts{"Normal Repaired of ComputeDomain team-a/train"}));
}

TEST(EventsOfActions, FirstChildrenOfADomainAreNoRepair) {
  Observed observed = Converged();
  observed.domain->status = {};
  EXPECT_EQ(Summaries(EventsOf(MakeAgain(), observed)), Texts());
  for (const char* reason : {"Forbidden", "TemplateNameTaken", "ProvisioningFailed"}) {
    EXPECT_EQ(Summaries(EventsOf(MakeAgain(), After("False", reason))), Texts()) << reason;
  }
}

const Delete kDeleteDaemonSet = {.kind = Kind::kDaemonSet,
                                 .key = {.ns = kDriverNs, .name = fixtures::kDaemonName},
                                 .uid = "daemon-set"};

TEST(EventsOfActions, B21_DaemonsRemovedFromUnderAWorkloadAreAWarningThatNamesIt) {
  const std::vector<kube::Event> events = EventsOf(kDeleteDaemonSet, Deleting());
  ASSERT_EQ(Summaries(events), (Texts{"Warning DeletionForced of ComputeDomain team-a/train"}));
  EXPECT_NE(events[0].note.find("pods/train-0 on node-0"), std::string::npos) << events[0].note;
}

TEST(EventsOfActions, DaemonsOfAnUnusedDomainGoWithoutAWord) {
  EXPECT_EQ(Summaries(EventsOf(kDeleteDaemonSet, fixtures::DeletingUnused())), Texts());
  EXPECT_EQ(Summaries(EventsOf(kDeleteDaemonSet, fixtures::Orphans())), Texts());
}

TEST(EventsOfActions, B37_TemplateThatIsPutRightAndDaemonThatIsReplacedAreTold) {
  const Observed observed = Converged();
  EXPECT_EQ(
      Summaries(EventsOf(WritePodTemplate{.daemon_set = fixtures::MakeDaemonSet().meta}, observed)),
      (Texts{"Normal TemplateUpdated of ComputeDomain team-a/train"}));
  const auto events_of = [&](const char* pod) {
    return EventsOf(ReplaceDaemon{.key = {.ns = kDriverNs, .name = pod}, .uid = pod}, observed);
  };
  const std::vector<kube::Event> events = events_of("daemon-x");
  ASSERT_EQ(Summaries(events), (Texts{"Normal DaemonReplaced of ComputeDomain team-a/train"}));
  EXPECT_EQ(events_of("daemon-y")[0].note, events[0].note) << "they are one series";
}

TEST(EventsOfActions, B10_MembersThatWereRemovedAreNamed) {
  const Observed observed = Converged();
  WriteClique write = {.clique = observed.children.cliques[0]};
  write.clique.daemons = {fixtures::MakeMember("node-0", 0)};
  const std::vector<kube::Event> events = EventsOf(write, observed);
  ASSERT_EQ(Summaries(events), (Texts{"Normal MemberRemoved of ComputeDomain team-a/train"}));
  EXPECT_NE(events[0].note.find("node-1"), std::string::npos);
  EXPECT_EQ(events[0].note.find("node-0"), std::string::npos);
}

TEST(EventsOfActions, MemberThatJoinsIsNoEvent) {
  const Observed observed = Converged();
  WriteClique write = {.clique = observed.children.cliques[0]};
  write.clique.daemons.push_back(fixtures::MakeMember("node-2", 2));
  EXPECT_EQ(Summaries(EventsOf(write, observed)), Texts());
}

TEST(EventsOfActions, B24_LabelOfADomainThatIsGoneIsToldOnTheNode) {
  const std::vector<kube::Event> events =
      EventsOf(RemoveNodeLabel{.node = "node-1", .domain_uid = kUid}, fixtures::Orphans());
  ASSERT_EQ(Summaries(events), (Texts{"Normal StaleLabelRemoved of Node node-1"}));
  EXPECT_EQ(events[0].regarding.uid, "uid-of-node-1");
}

TEST(EventsOfActions, LabelThatADomainNoLongerNeedsIsToldOnTheDomain) {
  const std::vector<kube::Event> events =
      EventsOf(RemoveNodeLabel{.node = "node-1", .domain_uid = kUid}, Converged());
  ASSERT_EQ(Summaries(events), (Texts{"Normal StaleLabelRemoved of ComputeDomain team-a/train"}));
  ASSERT_TRUE(events[0].related);
  EXPECT_EQ(events[0].related->key.name, "node-1");
}

TEST(EventsOfActions, LabelsOfADomainThatIsDeletedGoWithoutAWord) {
  EXPECT_EQ(Summaries(EventsOf(RemoveNodeLabel{.node = "node-1", .domain_uid = kUid}, Deleting())),
            Texts());
}

TEST(EventsOfActions, B28_SecondDaemonSetThatIsRemovedIsTold) {
  EXPECT_EQ(Summaries(EventsOf(Delete{.kind = Kind::kDaemonSet, .key = {kDriverNs, "x2b4"}},
                               Converged())),
            (Texts{"Normal DuplicateRemoved of ComputeDomain team-a/train"}));
}

TEST(EventsOfActions, B37_LabelsThatArePutBackAreToldAndAnOwnerIsNot) {
  WriteIdentity write = {.object = fixtures::MakeDaemonSet().meta};
  for (const auto& [kind, name] : {std::pair{Kind::kDaemonSet, "DaemonSet"},
                                   {Kind::kClaimTemplate, "ResourceClaimTemplate"},
                                   {Kind::kClique, "ComputeDomainClique"}}) {
    write.kind = kind;
    const std::vector<kube::Event> events = EventsOf(write, Converged());
    ASSERT_EQ(Summaries(events), (Texts{"Normal Repaired of ComputeDomain team-a/train"}));
    EXPECT_TRUE(events[0].note.starts_with(std::string(name) + " cdom-system/")) << events[0].note;
  }
  write.owners = json::Value::Array();
  EXPECT_EQ(Summaries(EventsOf(write, Converged())), Texts());
}

// train-2 and train-3 wait for a channel, and the scheduler has none for them.
Observed Short() {
  Observed observed = Converged();
  for (const char* pod : {"train-2", "train-3"}) {
    api::ResourceClaim claim = fixtures::MakeChannelClaim("", pod);
    claim.consumers.clear();
    claim.meta.owners = {{.api_version = "v1",
                          .kind = "Pod",
                          .name = pod,
                          .uid = std::string("uid-of-") + pod,
                          .controller = true}};
    observed.children.claims.push_back(claim);
    observed.memory.scheduler_messages[pod] = "Unschedulable: cannot allocate all claims";
  }
  return observed;
}

// And remembers that they were sent.
std::vector<kube::Event> Send(Observed& observed) {
  PendingPodEvents found = EventsForPendingPods(observed);
  observed.memory = NextMemory(std::move(observed.memory), found.sent, Now().monotonic);
  return std::move(found.events);
}

TEST(TellWaitingPods, B29_EachPodHearsOfEachCauseOnce) {
  Observed observed = Short();
  const std::vector<kube::Event> events = Send(observed);
  EXPECT_EQ(Summaries(events), (Texts{"Normal NoChannelFree of Pod team-a/train-2",
                                      "Normal NoChannelFree of Pod team-a/train-3"}));
  EXPECT_EQ(events.at(0).regarding.uid, "uid-of-train-2") << "kubectl describe looks for it";
  EXPECT_EQ(events[0].regarding.api_version, "v1");
  EXPECT_NE(events[0].note.find("ComputeDomain team-a/train"), std::string::npos);
  EXPECT_EQ(events[0].related->uid, kUid);
  EXPECT_EQ(Summaries(Send(observed)), Texts());

  api::ResourceClaim stray = fixtures::MakeChannelClaim("node-3", "b");
  stray.channel_domain.clear();
  NodeSurvey survey = {.claims = {stray}};
  for (const auto& claim : observed.children.claims) {
    if (claim.node.empty()) survey.pods.push_back(claim.meta.owners.front());
  }
  observed.others.surveys = {survey};
  const std::vector<kube::Event> strays = Send(observed);
  EXPECT_EQ(Summaries(strays),
            (Texts{"Warning ChannelHeldByUnrelatedClaim of Pod team-a/train-2",
                   "Warning ChannelHeldByUnrelatedClaim of Pod team-a/train-3"}));
  EXPECT_NE(strays.at(0).note.find("team-a/b-channel"), std::string::npos) << strays[0].note;

  observed.nobody_publishes = true;
  observed.facts.views.freshness[Kind::kResourceSlice] = Freshness::kFresh;
  EXPECT_EQ(Summaries(Send(observed)), (Texts{"Warning NoPlugin of Pod team-a/train-2",
                                              "Warning NoPlugin of Pod team-a/train-3"}));
}

TEST(TellWaitingPods, PodThatWaitsForSomethingElseHearsNothingAndIsForgotten) {
  Observed observed = Short();
  EXPECT_EQ(Send(observed).size(), 2U);
  observed.memory.scheduler_messages = {{"train-2", "Unschedulable: 3 Insufficient cpu"}};
  EXPECT_EQ(Summaries(Send(observed)), Texts());
  EXPECT_TRUE(observed.memory.event_reasons.empty());
}

}  // namespace
}  // namespace compute_domain
