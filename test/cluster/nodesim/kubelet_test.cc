#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/cluster/nodesim/test_world.h"

namespace nodesim {
namespace {

using Log = std::vector<std::string>;
using Stage = PodRun::Stage;
using std::chrono::seconds;

// A node that is set up and has nothing to do.
class Kubelet : public testing::Test {
 protected:
  Kubelet() {
    world_.AddDomain("default");
    world_.Settle();
    world_.log.clear();
  }

  PodRun& Run(const std::string& pod) {
    for (auto& [uid, run] : world_.state.pods) {
      if (run.key.name == pod) return run;
    }
    ADD_FAILURE() << "no run of " << pod;
    static PodRun none;
    return none;
  }

  TestWorld world_;
};

TEST_F(Kubelet, PodWithoutClaimsRunsAndBecomesReadyAfterTheDelay) {
  world_.AddPod("p");
  world_.Settle();
  EXPECT_EQ(world_.GetPod("p").status, (PodStatus{.phase = "Running",
                                                  .pod_ip = "10.0.0.1",
                                                  .initialized = true,
                                                  .containers = Containers::kRunning}));
  world_.Run(world_.settings.ready_delay);
  EXPECT_TRUE(world_.GetPod("p").status.ready);
}

TEST_F(Kubelet, PodWhoseImageNoRegistryHasSaysSoNeverStartsAndGoesWhenItIsDeleted) {
  world_.AddDaemon("p", false).containers = {
      {.name = "main", .image = "registry.example.com/p:missing"}};
  world_.Settle();
  world_.Run(seconds(60));
  EXPECT_EQ(world_.GetPod("p").status,
            (PodStatus{
                .phase = "Pending", .initialized = true, .containers = Containers::kImageMissing}));
  world_.DeletePod("p");
  world_.Settle();
  EXPECT_TRUE(world_.state.claims.empty()) << "its claim was taken back";
}

TEST_F(Kubelet, PodOfTheHostsNetworkHasTheHostsAddress) {
  world_.AddPod("p").host_network = true;
  world_.Settle();
  EXPECT_EQ(world_.GetPod("p").status.pod_ip, world_.state.identity.host_ip);
}

TEST_F(Kubelet, PodWaitsForAClaimThatIsNotThere) {
  world_.AddWorkload("p");
  const Claim claim = world_.claims.at("p-claim");
  world_.claims.clear();
  world_.Settle();
  EXPECT_EQ(Run("p").waits_for, "claim p-claim is not there");

  Claim& made = world_.claims["p-claim"] = claim;
  made.allocated = false;
  world_.Settle();
  EXPECT_EQ(Run("p").waits_for, "claim p-claim is not allocated");

  made.allocated = true;
  made.reserved_for[0].uid = "another pod of this name";
  world_.Settle();
  EXPECT_EQ(Run("p").waits_for, "claim p-claim is not reserved for the pod");
  EXPECT_TRUE(world_.state.claims.empty()) << "nothing was prepared";
  EXPECT_EQ(world_.GetPod("p").status.phase, "Pending");
}

TEST_F(Kubelet, PodThatMayEndCompletesAfterItsDurationAndIsNotDeleted) {
  Pod& pod = world_.AddPod("p");
  pod.restart = Pod::Restart::kNever;
  world_.Run(world_.settings.job_duration - milliseconds(1));
  EXPECT_EQ(world_.GetPod("p").status.phase, "Running");
  world_.Run(milliseconds(1));
  EXPECT_EQ(world_.GetPod("p").status.phase, "Succeeded");
  EXPECT_FALSE(world_.GetPod("p").status.ready);
}

TEST_F(Kubelet, PodOfAJobHasADurationOfItsOwn) {
  world_.settings.pod_duration = std::chrono::seconds(2);
  Pod& job = world_.AddPod("j");
  job.restart = Pod::Restart::kNever;
  job.meta.owners = {{.api_version = "batch/v1", .kind = "Job", .name = "j", .controller = true}};
  world_.AddPod("p").restart = Pod::Restart::kNever;
  world_.Run(std::chrono::seconds(2));
  EXPECT_EQ(world_.GetPod("j").status.phase, "Running");
  EXPECT_EQ(world_.GetPod("p").status.phase, "Succeeded");
  world_.Run(world_.settings.job_duration - std::chrono::seconds(2));
  EXPECT_EQ(world_.GetPod("j").status.phase, "Succeeded");
}

TEST_F(Kubelet, AnnotationDecidesHowLongAndHowAPodEnds) {
  Pod& pod = world_.AddPod("p");
  pod.restart = Pod::Restart::kNever;
  pod.run_seconds = 0.5;
  pod.exit_code = 3;
  world_.Run(milliseconds(499));
  EXPECT_EQ(world_.GetPod("p").status.phase, "Running");
  world_.Run(milliseconds(1));
  EXPECT_EQ(world_.GetPod("p").status.phase, "Failed");
  EXPECT_EQ(world_.GetPod("p").status.exit_code, 3);
}

TEST_F(Kubelet, PodWithNegativeSecondsNeverEnds) {
  Pod& pod = world_.AddPod("p");
  pod.restart = Pod::Restart::kNever;
  pod.run_seconds = -1;
  world_.Run(std::chrono::hours(24));
  EXPECT_EQ(world_.GetPod("p").status.phase, "Running");
}

TEST_F(Kubelet, AnnotationThatChangesUnderAPodCountsFromThePodsStart) {
  Pod& pod = world_.AddPod("p");
  pod.restart = Pod::Restart::kNever;
  pod.run_seconds = -1;
  world_.Run(seconds(60));
  pod.run_seconds = 90;
  world_.Run(seconds(29));
  EXPECT_EQ(world_.GetPod("p").status.phase, "Running");
  world_.Run(seconds(1));
  EXPECT_EQ(world_.GetPod("p").status.phase, "Succeeded");
}

TEST_F(Kubelet, ContainerThatFailsIsStartedAgainWhereThePolicySaysSo) {
  Pod& pod = world_.AddPod("p");
  pod.restart = Pod::Restart::kOnFailure;
  pod.run_seconds = 1;
  pod.exit_code = 1;
  world_.Run(seconds(1));
  EXPECT_EQ(world_.GetPod("p").status.phase, "Running");
  EXPECT_EQ(world_.GetPod("p").status.restarts, 1);
  EXPECT_FALSE(world_.GetPod("p").status.ready);
}

TEST_F(Kubelet, DeletedPodStopsThenTellsItsEndThenGoes) {
  world_.AddPod("p");
  world_.Run(seconds(1));
  world_.log.clear();
  world_.DeletePod("p");
  world_.Settle();
  EXPECT_TRUE(world_.log.empty()) << "its containers take their time to stop";
  world_.Run(world_.settings.stop_delay);
  EXPECT_EQ(world_.log, (Log{"write status Failed of pod default/p", "delete pod default/p"}));
  EXPECT_TRUE(world_.pods.empty());
  EXPECT_TRUE(world_.state.pods.empty());
}

TEST_F(Kubelet, GracePeriodBoundsTheStopDelay) {
  world_.settings.stop_delay = seconds(60);
  world_.AddPod("p");
  world_.Run(seconds(1));
  world_.DeletePod("p", 2);
  world_.Run(milliseconds(1'999));
  EXPECT_EQ(world_.pods.size(), 1U);
  world_.Run(milliseconds(1));
  EXPECT_EQ(world_.pods.size(), 0U);
}

TEST_F(Kubelet, PodThatHadEndedIsOnlyDeleted) {
  Pod& pod = world_.AddPod("p");
  pod.restart = Pod::Restart::kNever;
  world_.Run(seconds(10));
  world_.log.clear();
  world_.DeletePod("p");
  world_.Settle();
  EXPECT_EQ(world_.log, (Log{"delete pod default/p"}));
}

TEST_F(Kubelet, PodThatEndedBeforeTheKubeletSawItIsOnlyDeleted) {
  world_.AddPod("p").status = {.phase = "Succeeded"};
  world_.Settle();
  EXPECT_TRUE(world_.log.empty());
  world_.DeletePod("p");
  world_.Settle();
  EXPECT_EQ(world_.log, (Log{"delete pod default/p"}));
}

TEST_F(Kubelet, PodThatWaitsForFinalizersIsNotDeletedAgain) {
  world_.AddPod("p");
  world_.Run(seconds(1));
  world_.DeletePod("p");
  // The server accepts the delete, and keeps the object with a grace period of 0.
  world_.fault = [&](const Action& action) -> std::optional<TestWorld::Fault> {
    if (!std::holds_alternative<DeletePod>(action)) return std::nullopt;
    world_.GetPod("p").grace_period = seconds(0);
    return TestWorld::Fault{.code = base::ErrorCode::kNotFound};
  };
  world_.log.clear();
  world_.Run(seconds(60));
  EXPECT_EQ(world_.log.size(), 2U) << "one status and one delete";
}

TEST_F(Kubelet, PodThatNeverStartedFailsWhenItIsDeleted) {
  world_.AddWorkload("p");
  world_.claims.clear();
  world_.Settle();
  world_.DeletePod("p");
  world_.Settle();
  EXPECT_EQ(world_.log.back(), "delete pod default/p");
  EXPECT_EQ(world_.log[world_.log.size() - 2], "write status Failed of pod default/p");
}

TEST_F(Kubelet, StatusThatAnotherChangedIsPutRight) {
  world_.AddPod("p");
  world_.Run(seconds(1));
  // As the node lifecycle controller does when it does not hear of the node.
  Pod& pod = world_.GetPod("p");
  pod.status.ready = false;
  pod.meta.resource_version = "900";
  world_.Settle();
  EXPECT_TRUE(world_.GetPod("p").status.ready);
}

TEST_F(Kubelet, NewPodOfTheSameNameIsAnotherPod) {
  world_.AddPod("p");
  world_.Run(seconds(1));
  world_.AddPod("p");
  world_.Run(seconds(1));
  EXPECT_EQ(world_.GetPod("p").status.pod_ip, "10.0.0.2");
  EXPECT_EQ(world_.state.pods.size(), 1U);
}

TEST_F(Kubelet, DeadNodeWritesNothing) {
  world_.AddWorkload("p");
  world_.state.alive = false;
  world_.Run(std::chrono::hours(1));
  EXPECT_TRUE(world_.log.empty());
}

TEST_F(Kubelet, OrphanGoesOnWithoutItsObjectUntilItIsReaped) {
  world_.AddPod("p");
  world_.Run(seconds(1));
  Run("p").orphan = true;
  world_.RemovePod("p");
  world_.log.clear();
  world_.Run(seconds(60));
  EXPECT_EQ(Run("p").stage, Stage::kRunning);
  ReapOrphans(world_.state);
  world_.Settle();
  EXPECT_TRUE(world_.state.pods.empty());
  EXPECT_TRUE(world_.log.empty()) << "there is no object left to write to";
}

// ---- Reboot

TEST_F(Kubelet, PodStartsAgainAfterARebootWithAnotherAddress) {
  world_.AddPod("p");
  world_.Run(seconds(1));
  Reboot(world_.state, "boot-2", WallTime());
  world_.Run(seconds(1));
  EXPECT_EQ(world_.GetPod("p").status, (PodStatus{.phase = "Running",
                                                  .pod_ip = "10.0.0.2",
                                                  .initialized = true,
                                                  .ready = true,
                                                  .containers = Containers::kRunning,
                                                  .restarts = 1}));
  EXPECT_EQ(world_.node->boot_id, "boot-2");
}

TEST_F(Kubelet, PodThatHadNotStartedCountsNoRestartAfterAReboot) {
  world_.AddWorkload("p");
  world_.claims.clear();
  world_.Settle();
  Reboot(world_.state, "boot-2", WallTime());
  world_.Settle();
  EXPECT_EQ(world_.GetPod("p").status.phase, "Pending");
  EXPECT_EQ(world_.GetPod("p").status.restarts, 0);
}

TEST_F(Kubelet, StatusIsWrittenOnceThoughTheWatchShowsItLate) {
  world_.AddPod("p");
  world_.Lag(TestWorld::Watch::kPod);
  world_.Turn();
  world_.Settle();
  EXPECT_EQ(world_.log, (Log{"write status Running of pod default/p"}));
}

TEST_F(Kubelet, PodThatMayNotRestartFailsInAReboot) {
  world_.AddPod("p").restart = Pod::Restart::kNever;
  world_.Run(seconds(1));
  Reboot(world_.state, "boot-2", WallTime());
  world_.Settle();
  EXPECT_EQ(world_.GetPod("p").status.phase, "Failed");
}

TEST_F(Kubelet, PodThatWasBeingDeletedGoesAfterAReboot) {
  world_.settings.stop_delay = seconds(20);
  world_.AddPod("p");
  world_.Run(seconds(1));
  world_.DeletePod("p");
  world_.Settle();
  Reboot(world_.state, "boot-2", WallTime());
  world_.Settle();
  EXPECT_TRUE(world_.pods.empty());
}

// ---- A simulator that starts where another ran before

TEST_F(Kubelet, PodThatRunsAlreadyIsAdoptedAsItIs) {
  world_.AddWorkload("p").run_seconds = -1;
  const PodStatus status = {.phase = "Running",
                            .pod_ip = "10.0.0.99",
                            .initialized = true,
                            .ready = true,
                            .containers = Containers::kRunning,
                            .restarts = 3};
  world_.GetPod("p").status = status;
  world_.node->domain = kDomainUid;
  world_.state.adopt = true;
  world_.Run(seconds(60));
  EXPECT_EQ(world_.GetPod("p").status, status);
  EXPECT_TRUE(world_.log.empty());
  EXPECT_TRUE(world_.state.claims.begin()->second.prepared);
}

TEST_F(Kubelet, AdoptedNodeKeepsItsBoot) {
  world_.node->boot_id = "boot-of-before";
  world_.state.adopt = true;
  world_.Settle();
  EXPECT_EQ(world_.state.boot_id, "boot-of-before");
}

}  // namespace
}  // namespace nodesim
