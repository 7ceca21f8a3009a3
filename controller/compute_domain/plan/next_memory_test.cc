#include "controller/compute_domain/plan/next_memory.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "test/fixtures/next_memory.h"
#include "test/fixtures/observed.h"

namespace compute_domain {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using TimePoint = base::Clock::TimePoint;

TimePoint Time() { return fixtures::Now().monotonic; }
Instant At(seconds later = seconds(0)) {
  return {.monotonic = Time() + later, .wall = fixtures::Now().wall + later};
}

ActionId Named(const char* name) { return {.key = {.name = name}}; }

// ---- At the beginning of a pass.

TEST(NextMemory, IdleNode_IsRememberedSinceItWasFirstSeenIdle) {
  Observed observed = fixtures::Converged();
  observed.children.claims.clear();
  observed.memory.idle_since = {{"node-0", Time() - seconds(9)}, {"elsewhere", Time()}};
  EXPECT_EQ(
      NextMemory(observed, At()).idle_since,
      (std::map<std::string, TimePoint>{{"node-0", Time() - seconds(9)}, {"node-1", Time()}}));
  EXPECT_TRUE(NextMemory(fixtures::Converged(), At()).idle_since.empty()) << "all are in use";
}

TEST(NextMemory, DomainThatDoesNotExist_HasNeitherIdleNodesNorChildren) {
  Observed observed = fixtures::Converged();
  observed.children.claims.clear();
  observed.domain.reset();
  const Memory next = NextMemory(observed, At());
  EXPECT_TRUE(next.idle_since.empty());
  EXPECT_TRUE(next.children_seen.empty());
  EXPECT_TRUE(next.rendered.daemon_set.empty());
}

TEST(NextMemory, Deletion_IsRememberedSinceItWasFirstSeen) {
  EXPECT_FALSE(NextMemory(fixtures::Converged(), At()).deletion_seen);
  Observed deleting = fixtures::Deleting();
  EXPECT_EQ(NextMemory(deleting, At()).deletion_seen, Time());
  deleting.memory.deletion_seen = Time() - seconds(30);
  EXPECT_EQ(NextMemory(deleting, At()).deletion_seen, Time() - seconds(30));
}

TEST(NextMemory, ProofOfADeletion_IsKeptUntilTheDomainIsSeenNotDeleted) {
  Observed observed = fixtures::Deleting();
  observed.memory = NextMemory(observed.memory, DeletionProven(), Time());
  EXPECT_TRUE(NextMemory(observed, At()).deletion_is_proven);
  observed.domain = fixtures::MakeDomain();
  EXPECT_FALSE(NextMemory(observed, At()).deletion_is_proven) << "etcd was restored";
}

TEST(NextMemory, WriteOfAnotherController_IsSeenOnceThisProcessKnowsTheDomain) {
  Observed observed = fixtures::Converged();
  observed.domain->foreign_write = "2026-11-27T00:00:01Z";  // From before, as after a switch.
  UpdateMemory(observed, At());
  EXPECT_EQ(observed.memory.foreign_writes->seen, std::nullopt);
  UpdateMemory(observed, At(seconds(9)));
  EXPECT_EQ(observed.memory.foreign_writes->seen, std::nullopt);
  observed.domain->foreign_write = "2026-11-27T00:00:10Z";
  UpdateMemory(observed, At(seconds(10)));
  EXPECT_EQ(observed.memory.foreign_writes->seen, Time() + seconds(10));
  EXPECT_EQ(NextMemory(observed, At(seconds(20))).foreign_writes->seen, Time() + seconds(10));
}

TEST(NextMemory, DaemonThatIsDeleted_IsRememberedSinceItWasFirstSeenSo) {
  Observed observed = fixtures::Converged();
  EXPECT_TRUE(NextMemory(observed, At()).leaving_since.empty());
  fixtures::Delete(observed.children.daemon_pods[0].meta, {});
  const kube::Uid uid = observed.children.daemon_pods[0].meta.uid;
  UpdateMemory(observed, At());
  const std::map<std::string, TimePoint> once = {{uid, Time()}};
  EXPECT_EQ(NextMemory(observed, At(seconds(9))).leaving_since, once);
  observed.children.daemon_pods[0].terminal = true;
  EXPECT_TRUE(NextMemory(observed, At()).leaving_since.empty());
}

TEST(NextMemory, DaemonThatDoesNotServe_IsRememberedSinceItWasSeenToComeIfItWas) {
  using Unready = std::map<std::string, std::optional<TimePoint>>;
  Observed observed = fixtures::Converged();
  observed.children.daemon_pods[0].ready = false;
  const std::string older = observed.children.daemon_pods[0].meta.uid;
  const std::string newer = observed.children.daemon_pods[1].meta.uid;
  UpdateMemory(observed, At());
  EXPECT_EQ(observed.memory.unready_since, (Unready{{older, std::nullopt}}));
  observed.children.daemon_pods[1].ready = false;
  UpdateMemory(observed, At(seconds(1)));
  UpdateMemory(observed, At(seconds(2)));
  EXPECT_EQ(observed.memory.unready_since,
            (Unready{{older, std::nullopt}, {newer, Time() + seconds(1)}}));
  observed.children.daemon_pods[0].ready = true;
  observed.children.daemon_pods[1].meta.deleting = true;
  EXPECT_TRUE(NextMemory(observed, At()).unready_since.empty());
}

TEST(NextMemory, Children_AreRenderedOnceAndRememberedOnceSeen) {
  Observed observed = fixtures::Converged();
  const Memory next = NextMemory(observed, At());
  EXPECT_FALSE(next.rendered.daemon_set.empty());
  EXPECT_EQ(next.children_seen.size(), 3U);
  observed.children.daemon_sets.clear();
  observed.memory = next;
  observed.memory.rendered.daemon_set = "as before";
  EXPECT_EQ(NextMemory(observed, At()).rendered.daemon_set, "as before");
  EXPECT_EQ(NextMemory(observed, At()).children_seen.size(), 3U) << "it was seen";
}

TEST(NextMemory, CliqueAtRest_IsForgotten) {
  Observed observed = fixtures::Converged();
  observed.memory.clique_batching = {
      {"resting", {.last = Time() - seconds(1), .window = milliseconds(500)}},
      {"written", {.last = Time(), .window = milliseconds(500)}}};
  const auto next = NextMemory(observed, At()).clique_batching;
  EXPECT_FALSE(next.contains("resting"));
  EXPECT_TRUE(next.contains("written"));
}

// ---- After an action.

Memory After(const MemoryChange& change, Memory memory = {}) {
  return NextMemory(std::move(memory), change, Time());
}

TEST(NextMemory, Write_IsRememberedWithItsTime) {
  EXPECT_EQ(After(StatusWritten{}).status_written, Time());
  const Memory once = After(CliqueWritten{.clique = "c", .first_window = milliseconds(500)});
  EXPECT_EQ(once.clique_batching.at("c"),
            (CliqueBatching{.last = Time(), .window = milliseconds(500)}));
  const Memory twice = After(CliqueWritten{.clique = "c", .first_window = milliseconds(500)}, once);
  EXPECT_EQ(twice.clique_batching.at("c").window, milliseconds(2000));
}

TEST(NextMemory, Child_IsSeenOnceItIsMade) {
  EXPECT_EQ(After(ChildMade{.role = ChildRole::kDaemonSet}).children_seen,
            std::set<ChildRole>{ChildRole::kDaemonSet});
}

TEST(NextMemory, Replacement_IsRememberedUntilItFails) {
  const Memory begun =
      After(ReplacementBegan{.clique = "c", .node = "node-0", .replaced = "uid-0"});
  EXPECT_EQ(begun.replacements.at("c"),
            (Replacement{.node = "node-0", .replaced = "uid-0", .began = Time()}));
  EXPECT_TRUE(After(ReplacementFailed{.clique = "c"}, begun).replacements.empty());
}

TEST(NextMemory, LiveReadOfClaims_IsRememberedWithItsTime) {
  EXPECT_EQ(NextMemory(Memory(), ClaimsRead(), Time()).claims_read, Time());
}

TEST(NextMemory, RemovedLabel_IsRememberedUntilItIsRestoredOrNoClaimCame) {
  Memory removed = After(LabelRemoved{.node = "node-0"});
  removed = After(LabelRemoved{.node = "node-1"}, removed);
  EXPECT_EQ(After(LabelRestored{.node = "node-0"}, removed).labels_removed,
            std::set<std::string>{"node-1"});
  EXPECT_EQ(After(ClaimsRead{.nodes_in_use = {"node-0"}}, removed).labels_removed,
            std::set<std::string>{"node-0"});
}

TEST(NextMemory, MessagesAndEvents_ReplaceThoseOfBefore) {
  Memory before;
  before.scheduler_messages = {{"train-0", "old"}};
  before.event_reasons = {{"uid-0", "Old"}};
  before.creation_trouble = "old";
  const Memory read = After(SchedulerMessagesRead{.messages = {{"train-1", "no node"}}}, before);
  EXPECT_EQ(read.scheduler_messages, (std::map<std::string, std::string>{{"train-1", "no node"}}));
  EXPECT_EQ(read.scheduler_messages_read, Time());
  const Memory trouble = After(CreationTroubleRead{.trouble = "a quota"}, before);
  EXPECT_EQ(trouble.creation_trouble, "a quota");
  EXPECT_EQ(trouble.creation_trouble_read, Time());
  EXPECT_EQ(After(EventsSent{.reasons = {{"uid-1", "New"}}}, before).event_reasons,
            (std::map<kube::Uid, std::string>{{"uid-1", "New"}}));
}

TEST(NextMemory, REV4_K11_CauseOfAMissingPodIsForgottenOnceAllServe) {
  Observed observed = fixtures::Converged();
  UpdateMemory(observed, At());
  observed.memory.creation_trouble = "exceeded quota";
  observed.memory.creation_trouble_read = Time();
  const api::DaemonPod pod = observed.children.daemon_pods.back();
  observed.children.daemon_pods.pop_back();
  UpdateMemory(observed, At());
  EXPECT_EQ(observed.memory.creation_trouble, "exceeded quota");
  EXPECT_EQ(After(CreationTroubleRead{}, observed.memory).creation_trouble, "exceeded quota")
      << "the read failed";
  observed.children.daemon_pods.push_back(pod);
  UpdateMemory(observed, At());
  EXPECT_EQ(observed.memory.creation_trouble, "");
  EXPECT_FALSE(observed.memory.creation_trouble_read);
}

TEST(NextMemory, REV4_K8_ReadThatFailsForLongIsTold) {
  Memory memory;
  const ActionFailed failed = {
      .action = Named("list x"), .concern = Concern::kReads, .passing = "500 InternalError"};
  for (int i = 0; i < 11; ++i) memory = After(failed, memory);
  EXPECT_FALSE(memory.retries.at(Named("list x")).failure) << "5 s";
  memory = After(failed, memory);
  EXPECT_EQ(memory.retries.at(Named("list x")).failure->message, "500 InternalError");
}

TEST(NextMemory, ActionThatFails_WaitsTwiceAsLongEachTime) {
  Memory memory = After(ActionFailed{.action = Named("a"), .concern = Concern::kChildren});
  EXPECT_TRUE(memory.retries.at(Named("a")).is_first && memory.retries.at(Named("a")).is_wanted);
  EXPECT_EQ(memory.retries.at(Named("a")).until, Time() + milliseconds(5));
  memory = After(ActionFailed{.action = Named("a"), .spread = 1}, memory);
  EXPECT_FALSE(memory.retries.at(Named("a")).is_first);
  EXPECT_EQ(memory.retries.at(Named("a")).until, Time() + milliseconds(12))
      << "a fifth more, at the most";
  for (int i = 0; i < 20; ++i) memory = After(ActionFailed{.action = Named("a")}, memory);
  EXPECT_EQ(memory.retries.at(Named("a")).until, Time() + seconds(30));
  memory = After(ActionFailed{.action = Named("a"), .at_least = seconds(70)}, memory);
  EXPECT_EQ(memory.retries.at(Named("a")).until, Time() + seconds(70));
  EXPECT_TRUE(After(ActionDone{.action = Named("a")}, memory).retries.empty());
}

TEST(NextMemory, ActionThatConflictsWithChangesOfTheObject_WaitsASecondAtMost) {
  Memory memory;
  for (int i = 0; i < 20; ++i) {
    memory =
        After(ActionFailed{.action = Named("a"), .is_conflict = true, .version = std::to_string(i)},
              memory);
  }
  EXPECT_EQ(memory.retries.at(Named("a")).until, Time() + seconds(1));
}

// A webhook answers 409, whatever the cache shows.
TEST(NextMemory, REV4_K2_ActionThatConflictsWithNoChange_WaitsEverLongerAndIsTold) {
  Memory memory;
  for (int i = 0; i < 20; ++i) {
    memory = After(
        ActionFailed{.action = Named("a"), .is_conflict = true, .version = "7", .passing = "no"},
        memory);
    if (i == 8) {
      EXPECT_FALSE(memory.retries.at(Named("a")).failure);
    }
  }
  const Retry& retry = memory.retries.at(Named("a"));
  EXPECT_EQ(retry.until, Time() + seconds(30));
  EXPECT_EQ(retry.until_newer, Time() + seconds(1)) << "for a newer object";
  const Memory waits = After(ActionWaits{.action = Named("a"), .until = retry.until_newer}, memory);
  EXPECT_EQ(waits.retries.at(Named("a")).until, Time() + seconds(1)) << "it is there";
  ASSERT_TRUE(retry.failure);
  EXPECT_EQ(retry.failure->message, "no");
}

TEST(NextMemory, REV4_K2_ActionThatSucceedsAgainWithTheSameContentWaitsEverLonger) {
  Memory memory;
  const auto wait = [&](std::size_t content) {
    memory = After(ActionDone{.action = Named("a"), .content = content, .undone = "by x"}, memory);
    return memory.retries.at(Named("a")).until - Time();
  };
  for (milliseconds expected(5); expected < seconds(30); expected *= 2) {
    EXPECT_EQ(wait(1), expected);
    EXPECT_EQ(memory.retries.at(Named("a")).undone.empty(), expected < seconds(1))
        << expected.count();
  }
  EXPECT_EQ(wait(1), seconds(30));
  EXPECT_EQ(wait(2), milliseconds(5)) << "other content";
  EXPECT_EQ(wait(1), seconds(60)) << "ten times in a minute";
}

TEST(NextMemory, REV4_K2_ContentsOfAnActionAreForgottenFromTheOldestOn) {
  Memory memory;
  for (std::size_t content = 1; content <= kWrittenMax + 1; ++content) {
    memory = After(ActionDone{.action = Named("a"), .content = content}, memory);
  }
  const std::vector<Written>& written = memory.retries.at(Named("a")).written;
  ASSERT_EQ(written.size(), kWrittenMax);
  EXPECT_EQ(written.front().content, 2U);
}

TEST(NextMemory, ActionThatWaitsOrIsDone_KeepsItsTime) {
  Memory memory = After(ActionDone{.action = Named("a"), .content = 1});
  EXPECT_FALSE(memory.retries.at(Named("a")).is_wanted) << "it is not to be tried again";
  memory = After(ActionWaits{.action = Named("a")}, memory);
  EXPECT_TRUE(memory.retries.at(Named("a")).is_wanted);
  EXPECT_EQ(memory.retries.at(Named("a")).until, Time() + milliseconds(5));
}

TEST(NextMemory, Plan_WantsOnlyWhatItHasAndNamesThatAreTaken) {
  Memory memory = After(ActionFailed{.action = Named("a")});
  memory = After(ActionFailed{.action = Named("b"), .taken = NameTaken()}, memory);
  memory = After(ActionFailed{.action = Named("c"), .taken = NameTaken()}, memory);
  memory.retries.at(Named("c")).until = Time();
  memory = After(PlanMade{}, memory);
  EXPECT_FALSE(memory.retries.at(Named("a")).is_wanted);
  EXPECT_TRUE(memory.retries.at(Named("b")).is_wanted);
  EXPECT_FALSE(memory.retries.at(Named("c")).is_wanted) << "it is read again";
}

TEST(NextMemory, ActionThatDidNotFailForTwoMinutes_FailsForTheFirstTimeAgain) {
  Observed observed = fixtures::Converged();
  observed.memory.retries[Named("old")] = {.until = Time() - std::chrono::minutes(2)};
  observed.memory.retries[Named("new")] = {.until = Time() - seconds(119)};
  EXPECT_EQ(NextMemory(observed, At()).retries.size(), 1U);
}

TEST(NextMemory, NodeThatIsNotReady_IsLostForLongAfterFiveMinutes) {
  Observed observed = fixtures::Converged();
  observed.nodes["node-0"].ready = false;
  observed.nodes["node-1"].ready = false;
  observed.memory.lost_since = {{"node-0", Time() - std::chrono::minutes(5)},
                                {"node-1", Time() - std::chrono::minutes(4)}};
  const Memory next = NextMemory(observed, At());
  EXPECT_EQ(next.lost_for_long, std::set<std::string>{"node-0"});
  EXPECT_EQ(UntilLostForLong(next, Time()), milliseconds(60'000));
  observed.facts.views.freshness[Kind::kNode] = Freshness::kStale;
  EXPECT_TRUE(NextMemory(observed, At()).lost_since.empty()) << "nobody knows";
  EXPECT_FALSE(UntilLostForLong(Memory(), Time()));
}

// ---- Reboots that another process saw.

Observed Rebooted() {
  Observed observed = fixtures::Converged();
  for (api::Member& member : observed.domain->status.nodes) member.ready = false;
  fixtures::ConditionOf(observed.domain->status, "MembersReady").reason = "NodeRebooted";
  for (api::DaemonPod& pod : observed.children.daemon_pods) pod.ready = false;
  return observed;
}

TEST(NextMemory, T5_ProcessThatDidNotSeeAReboot_KnowsAllMembersOfIt_UntilTheyAreReady) {
  using Nodes = std::set<std::string>;
  Observed observed = Rebooted();
  UpdateMemory(observed, At());
  EXPECT_EQ(observed.memory.rebooted_before, (Nodes{"node-0", "node-1"}));
  observed.children.daemon_pods[0].ready = true;
  observed.children.daemon_pods[1].trouble = "CrashLoopBackOff";
  UpdateMemory(observed, At());
  EXPECT_EQ(observed.memory.rebooted_before, Nodes());
  // Not at a later look.
  observed.children = Rebooted().children;
  EXPECT_EQ(NextMemory(observed, At()).rebooted_before, Nodes());
}

TEST(NextMemory, T5_ReasonTellsNothing_OfMembersWhoseEntriesTheControllerWrites) {
  const Observed observed = fixtures::Marked(Rebooted());
  EXPECT_TRUE(NextMemory(observed, At()).rebooted_before.empty()) << "their clique names them";
}

TEST(NextMemory, T5_ReasonOfAnotherKind_TellsNoReboot) {
  Observed observed = Rebooted();
  fixtures::ConditionOf(observed.domain->status, "MembersReady").reason = "MembersNotReady";
  EXPECT_TRUE(NextMemory(observed, At()).rebooted_before.empty());
  observed = Rebooted();
  observed.domain->status.nodes[0].ready = true;
  EXPECT_EQ(NextMemory(observed, At()).rebooted_before, std::set<std::string>{"node-1"});
  observed.children.daemon_pods.clear();
  EXPECT_TRUE(NextMemory(observed, At()).rebooted_before.empty()) << "no daemon is there";
}

}  // namespace
}  // namespace compute_domain
