#include "node/gpu/rules/prepare.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "node/gpu/rules/testing/node_and_claims.h"

namespace gpu {
namespace {

using std::chrono::seconds;

const ClaimToPrepare kOne = ClaimOf("a", {{"gpu-0"}});

// A node, and what is known of one claim there.
class PrepareTest : public testing::Test {
 protected:
  ClaimStep Step(const ClaimToPrepare& claim) const {
    return Prepare(node_, claim.uid, &claim, checkpoint_, observed_);
  }
  ClaimStep StepUnread(const std::string& uid) const {
    return Prepare(node_, uid, nullptr, checkpoint_, observed_);
  }
  ClaimStep UnprepareStep(const std::string& uid) const {
    return Unprepare(uid, checkpoint_, observed_);
  }
  void SetSpec(const cdi::Spec& spec) {
    observed_.has_spec = true;
    observed_.spec = spec;
  }
  void Start(const ClaimToPrepare& claim) { checkpoint_.claims[claim.uid] = StartedClaim(claim); }
  // As an earlier prepare left it.
  void Complete(const ClaimToPrepare& claim) {
    Start(claim);
    CheckpointClaim& entry = checkpoint_.claims[claim.uid];
    entry.state = ClaimState::kCompleted;
    entry.groups = {GroupOf(node_, claim.uid, claim.wanted.value())};
  }
  cdi::Spec SpecOfClaim(const ClaimToPrepare& claim) const {
    return SpecOf(node_, claim.uid, claim.wanted.value());
  }

  GpuNode node_ = NodeA();
  Checkpoint checkpoint_ = {.boot_id = "boot"};
  NodeObservation observed_ = {};
};

std::string WaitedFor(const ClaimStep& step) {
  const auto* wait = std::get_if<dra::WaitForChange>(&step);
  return wait != nullptr ? wait->reason : "no wait, but step " + std::to_string(step.index());
}
// The error of an answer. `is_permanent` is what the answer must say of it.
std::string Refused(const ClaimStep& step, bool is_permanent = false) {
  const auto* answer = std::get_if<AnswerKubelet>(&step);
  if (answer == nullptr) return "no answer, but step " + std::to_string(step.index());
  EXPECT_EQ(answer->is_permanent, is_permanent);
  EXPECT_TRUE(answer->groups.empty());
  return answer->error;
}
bool Succeeds(const ClaimStep& step) {
  const auto* answer = std::get_if<AnswerKubelet>(&step);
  return answer != nullptr && answer->error.empty();
}

TEST_F(PrepareTest, Claim_IsPreparedInThisOrder) {
  EXPECT_TRUE(std::holds_alternative<dra::FetchClaim>(StepUnread("a")));
  EXPECT_TRUE(std::holds_alternative<dra::CheckpointStarted>(Step(kOne)));
  Start(kOne);
  const ClaimStep write = Step(kOne);
  ASSERT_TRUE(std::holds_alternative<dra::WriteSpec>(write));
  EXPECT_EQ(std::get<dra::WriteSpec>(write).spec, SpecOfClaim(kOne));
  SetSpec(SpecOfClaim(kOne));
  const ClaimStep completed = Step(kOne);
  ASSERT_TRUE(std::holds_alternative<CheckpointCompleted>(completed));
  EXPECT_EQ(std::get<CheckpointCompleted>(completed).group,
            GroupOf(node_, "a", kOne.wanted.value()));
  Complete(kOne);
  const ClaimStep answer = Step(kOne);
  ASSERT_TRUE(Succeeds(answer));
  EXPECT_EQ(std::get<AnswerKubelet>(answer).groups, checkpoint_.claims["a"].groups);
}

TEST_F(PrepareTest, StartedClaim_WithAnUnreadableSpec_WritesItAgain) {
  Start(kOne);
  observed_.has_spec = true;
  EXPECT_TRUE(std::holds_alternative<dra::WriteSpec>(Step(kOne)));
}

// The claim was allocated again between two calls.
TEST_F(PrepareTest, StartedClaim_WithOtherDevices_StartsAgain) {
  Start(kOne);
  SetSpec(SpecOfClaim(kOne));
  const ClaimToPrepare other = ClaimOf("a", {{"gpu-1"}});
  EXPECT_TRUE(std::holds_alternative<dra::CheckpointStarted>(Step(other)));
  Start(other);
  EXPECT_TRUE(std::holds_alternative<dra::WriteSpec>(Step(other)));
}

TEST_F(PrepareTest, R7_PreparedClaim_IsAnsweredWithoutDriverAndApiServer) {
  Complete(kOne);
  observed_.no_host = "the driver is not loaded";
  observed_.has_spec = true;
  const ClaimStep step = StepUnread("a");
  ASSERT_TRUE(Succeeds(step));
  EXPECT_EQ(std::get<AnswerKubelet>(step).groups.size(), 1U);
}

TEST_F(PrepareTest, R7_PreparedClaim_IsUnpreparedWithoutDriver) {
  Complete(kOne);
  observed_.no_host = "the driver is not loaded";
  observed_.has_spec = true;
  EXPECT_TRUE(std::holds_alternative<dra::RemoveSpec>(UnprepareStep("a")));
  observed_.has_spec = false;
  EXPECT_TRUE(std::holds_alternative<RemoveFromCheckpoint>(UnprepareStep("a")));
  checkpoint_.claims.clear();
  EXPECT_TRUE(Succeeds(UnprepareStep("a")));
}

TEST_F(PrepareTest, R7_NewClaim_WaitsForTheDriver) {
  observed_.no_host = "the driver is not loaded";
  EXPECT_EQ(WaitedFor(Step(kOne)), "the driver is not loaded");
}

TEST_F(PrepareTest, Wait_IsAnsweredAfter40Seconds) {
  observed_.no_host = "the driver is not loaded";
  observed_.now = observed_.since + seconds(39);
  const ClaimStep step = Step(kOne);
  ASSERT_TRUE(std::holds_alternative<dra::WaitForChange>(step));
  EXPECT_EQ(std::get<dra::WaitForChange>(step).until, observed_.since + seconds(40));
  observed_.now = observed_.since + seconds(40);
  EXPECT_EQ(Refused(Step(kOne)), "the driver is not loaded");
}

TEST_F(PrepareTest, CheckpointBeingRebuilt_DecidesNothing) {
  Complete(kOne);
  observed_.has_spec = true;
  observed_.rebuilding = "it is torn";
  EXPECT_EQ(WaitedFor(StepUnread("a")), "it is torn");
  EXPECT_EQ(WaitedFor(UnprepareStep("a")), "it is torn");
}

TEST_F(PrepareTest, WithdrawnCall_ChangesNothing) {
  Complete(kOne);
  observed_.is_withdrawn = true;
  observed_.has_spec = true;
  EXPECT_EQ(Refused(Step(kOne)), "the kubelet has cancelled the call");
  EXPECT_EQ(Refused(UnprepareStep("a")), "the kubelet has cancelled the call");
  Start(kOne);
  EXPECT_EQ(Refused(Step(kOne)), "the kubelet has cancelled the call");
}

TEST_F(PrepareTest, InstanceWithAYoungerOne_GoesOnWithNoClaim) {
  observed_.has_younger = true;
  EXPECT_EQ(Refused(Step(kOne)), "a newer instance of the plugin serves now");
  Start(kOne);
  EXPECT_EQ(Refused(Step(kOne)), "a newer instance of the plugin serves now");
}

TEST_F(PrepareTest, ClaimThatIsNeverPrepared_IsRefusedForGood) {
  ClaimToPrepare claim = kOne;
  claim.is_allocated = false;
  EXPECT_EQ(Refused(Step(claim), true), "the claim is not allocated");
  EXPECT_EQ(Refused(Step(ClaimOf("a", {{"gpu-x"}})), true), "no GPU is called gpu-x");
  const ClaimToPrepare elsewhere = ClaimOf("a", {{"gpu-0"}, {.device = "gpu-1", .pool = "node-b"}});
  EXPECT_EQ(Refused(Step(elsewhere), true), "the claim was allocated on another node");
  observed_.no_host = "the driver is not loaded";
  EXPECT_EQ(Refused(Step(elsewhere), true), "the claim was allocated on another node")
      << "whatever the driver does";
}

TEST_F(PrepareTest, R6_ClaimForALostGpu_WaitsAndSaysWhatIsLost) {
  node_.inventory.devices.erase(node_.inventory.devices.begin());
  node_.inventory.unpublished = {{.device = "GPU 0", .why = "cannot be read: GPU is lost"}};
  EXPECT_EQ(WaitedFor(Step(kOne)),
            "node node-a has no device gpu-0 now; GPU 0 cannot be read: GPU is lost");
  EXPECT_TRUE(std::holds_alternative<dra::CheckpointStarted>(Step(ClaimOf("b", {{"gpu-1"}}))))
      << "others go on";
}

TEST_F(PrepareTest, DeviceOfAnotherClaim_IsAwaited) {
  Complete(kOne);
  const ClaimToPrepare next = ClaimOf("b", {{"gpu-1"}, {"gpu-0"}});
  EXPECT_EQ(WaitedFor(Step(next)), "gpu-0 is held by claim ns/c-a");
  checkpoint_.claims["a"].name.clear();  // NVIDIA's driver prepared it.
  EXPECT_EQ(WaitedFor(Step(next)), "gpu-0 is held by claim with UID a");
  checkpoint_.claims["a"].state = ClaimState::kStarted;
  EXPECT_TRUE(std::holds_alternative<dra::CheckpointStarted>(Step(next)))
      << "a claim that was only started was never answered";
}

TEST_F(PrepareTest, DeviceOfTheSameNameInAnotherPool_IsAnother) {
  Complete(kOne);
  checkpoint_.claims["a"].groups[0].devices[0].pool = "node-b";
  EXPECT_TRUE(std::holds_alternative<dra::CheckpointStarted>(Step(ClaimOf("b", {{"gpu-0"}}))));
}

TEST_F(PrepareTest, DeviceOfAClaimWithADamagedStatus_IsHeld) {
  Complete(kOne);
  checkpoint_.claims["a"].status = {};
  EXPECT_EQ(WaitedFor(Step(ClaimOf("b", {{"gpu-0"}}))), "gpu-0 is held by claim ns/c-a");
}

TEST_F(PrepareTest, R11_AdministratorsClaim_UsesAHeldDevice) {
  Complete(kOne);
  const ClaimToPrepare admin = ClaimOf("b", {{.device = "gpu-0", .admin_access = true}});
  EXPECT_TRUE(std::holds_alternative<dra::CheckpointStarted>(Step(admin)));
}

TEST_F(PrepareTest, R11_AdministratorsClaim_HoldsNoDevice) {
  Complete(ClaimOf(
      "b", {{.device = "gpu-1", .admin_access = true}, {.device = "gpu-0", .admin_access = true}}));
  EXPECT_TRUE(std::holds_alternative<dra::CheckpointStarted>(Step(kOne)));
}

TEST_F(PrepareTest, R11_ClaimThatAlsoLooksOnItsOwnDevice_HoldsIt) {
  for (const bool is_admin_first : {true, false}) {
    Complete(ClaimOf("b", {{.device = "gpu-0", .request = "x", .admin_access = is_admin_first},
                           {.device = "gpu-0", .request = "y", .admin_access = !is_admin_first}}));
    EXPECT_EQ(WaitedFor(Step(kOne)), "gpu-0 is held by claim ns/c-b");
  }
}

TEST_F(PrepareTest, R2_DeviceTwiceInAClaim_IsPreparedOnce) {
  const ClaimToPrepare claim =
      ClaimOf("a", {{.device = "gpu-0", .request = "x"},
                    {.device = "gpu-0", .request = "y", .admin_access = true}});
  Start(claim);
  const ClaimStep write = Step(claim);
  ASSERT_TRUE(std::holds_alternative<dra::WriteSpec>(write));
  EXPECT_EQ(std::get<dra::WriteSpec>(write).spec.devices.size(), 1U);
  SetSpec(std::get<dra::WriteSpec>(write).spec);
  const ClaimStep completed = Step(claim);
  ASSERT_TRUE(std::holds_alternative<CheckpointCompleted>(completed));
  const auto& devices = std::get<CheckpointCompleted>(completed).group.devices;
  ASSERT_EQ(devices.size(), 2U) << "the kubelet needs each request";
  EXPECT_EQ(devices[0].cdi_ids, devices[1].cdi_ids);
}

TEST_F(PrepareTest, FullCheckpoint_KeepsNewClaimsWaiting) {
  const std::string large = R"({"x":")" + std::string(60'000, 'x') + R"("})";
  const ClaimToPrepare other = ClaimOf("b", {{"gpu-1"}}, ConfigJson(large));
  const auto fill = [&](const ClaimToPrepare& claim) {
    while (dra::HasRoomFor(claim.status, checkpoint_)) {
      checkpoint_.claims["b" + std::to_string(checkpoint_.claims.size())] = StartedClaim(claim);
    }
  };
  fill(other);
  EXPECT_TRUE(std::holds_alternative<dra::CheckpointStarted>(Step(kOne)));
  fill(kOne);
  EXPECT_TRUE(WaitedFor(Step(kOne)).starts_with("the checkpoint is full: claims of node node-a"));
  Start(kOne);
  EXPECT_TRUE(std::holds_alternative<dra::WriteSpec>(Step(kOne))) << "it is in there";
}

TEST_F(PrepareTest, LostSpecOfAPreparedClaim_IsWrittenAgain) {
  Complete(kOne);
  EXPECT_TRUE(std::holds_alternative<dra::FetchClaim>(StepUnread("a")));
  for (const bool is_restore : {true, false}) {
    observed_.is_restore = is_restore;
    const ClaimStep step = Step(kOne);
    ASSERT_TRUE(std::holds_alternative<dra::WriteSpec>(step));
    EXPECT_EQ(std::get<dra::WriteSpec>(step).spec, SpecOfClaim(kOne));
  }
}

TEST_F(PrepareTest, LostSpec_OfAClaimOfNvidiasDriver_IsWrittenAgain) {
  const ClaimToPrepare claim = ClaimOf("a", {{"gpu-0"}, {kMigName}});
  Complete(claim);
  auto& groups = checkpoint_.claims["a"].groups;
  groups = {{.devices = {groups[0].devices[1]}}, {.devices = {groups[0].devices[0]}}};
  const ClaimStep step = Step(claim);
  ASSERT_TRUE(std::holds_alternative<dra::WriteSpec>(step));
  EXPECT_EQ(std::get<dra::WriteSpec>(step).spec, SpecOfClaim(claim));
}

TEST_F(PrepareTest, LostSpec_OfAClaimThatWasUnprepared_IsNotWritten) {
  observed_.is_restore = true;
  EXPECT_TRUE(Succeeds(Step(kOne)));
  Start(kOne);
  EXPECT_TRUE(Succeeds(Step(kOne)));
}

TEST_F(PrepareTest, LostSpec_OfAnotherGpuOfThatName_IsNotWritten) {
  Complete(kOne);
  node_.inventory.devices[0].gpu.uuid = "GPU-another";
  EXPECT_EQ(WaitedFor(Step(kOne)),
            "the CDI file of this claim was lost, and the node has other devices now");
  node_.inventory.devices.erase(node_.inventory.devices.begin());
  EXPECT_EQ(WaitedFor(Step(kOne)), "node node-a has no device gpu-0 now");
  observed_.no_host = "the driver is not loaded";
  EXPECT_EQ(WaitedFor(Step(kOne)), "the driver is not loaded");
}

TEST_F(PrepareTest, LostSpec_OfAClaimWithSharingOfNvidiasDriver_IsRefused) {
  Complete(kOne);
  const std::string sharing =
      R"({"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfig","sharing":{"strategy":"MPS"}})";
  const std::string error = Refused(Step(ClaimOf("a", {{"gpu-0"}}, ConfigJson(sharing))));
  EXPECT_TRUE(error.starts_with("the CDI file of this claim was lost, and GpuConfig: sharing"))
      << error;
}

}  // namespace
}  // namespace gpu
