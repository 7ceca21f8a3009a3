#include "node/gpu/rules/checkpoint.h"

#include <gtest/gtest.h>

#include "node/gpu/rules/claim_devices.h"
#include "node/gpu/rules/testing/node_and_claims.h"
#include "test/fixtures/files.h"

namespace gpu {
namespace {

constexpr const char* kBoot = "6f1c2b5e-0f6a-4d53-9f1e-0c8f2a1b3c4d";
const std::string kStatus =
    R"({"allocation":{"devices":{"results":[{"request":"r","driver":"gpu.nvidia.com","pool":"node-a","device":"gpu-0"}]}},"reservedFor":[{"resource":"pods","name":"p","uid":"u"}]})";

// Returns the second view with its checksum, in an envelope with its own.
std::string Sealed(const std::string& claims) {
  const std::string rest =
      R"(,"preparedClaims":{)" + claims + R"(},"nodeBootID":")" + kBoot + "\"}";
  const std::string v1 = R"(,"v1":{}})";
  return R"({"checksum":)" + std::to_string(dra::Checksum(R"({"checksum":0)" + v1)) +
         v1.substr(0, v1.size() - 1) + R"(,"v2":{"checksum":)" +
         std::to_string(dra::Checksum(R"({"checksum":0)" + rest)) + rest + "}";
}

// A completed claim of NVIDIA's driver: it has no name.
std::string Completed(const std::string& uid, const std::string& groups) {
  return "\"" + uid + R"(":{"checkpointState":"PrepareCompleted","status":)" + kStatus +
         R"(,"preparedDevices":)" + groups + "}";
}

dra::Resumed<CheckpointClaim> Read(const std::string& text) {
  return dra::Resume<CheckpointClaim>(text, kBoot);
}

const std::string kGpu =
    R"({"gpu":{"info":{"uuid":"GPU-0"},"device":{"Requests":["r"],"PoolName":"node-a","DeviceName":"gpu-0","CDIDeviceIDs":["k8s.gpu.nvidia.com/claim=a-gpu-0"]}},"mig":null})";
const std::string kMig =
    R"({"gpu":null,"mig":{"concrete":{"parentMinor":2,"giId":9,"ciId":1,"migUUID":"MIG-3","parentUUID":"GPU-2","parentPCIBusID":"0000:02:00.0"},"device":{"Requests":["r"],"PoolName":"node-a","DeviceName":"gpu-2-mig-1g10gb-19-3","CDIDeviceIDs":["k8s.gpu.nvidia.com/claim=a-gpu-2-mig-1g10gb-19-3"]}}})";
// As NVIDIA's driver stored a MIG device before 25.12.
const std::string kOldMig =
    R"({"gpu":null,"mig":{"info":{"uuid":"MIG-3"},"device":{"Requests":["r"],"PoolName":"node-a","DeviceName":"gpu-2-mig-1g10gb-19-3","CDIDeviceIDs":["k8s.gpu.nvidia.com/claim=a-gpu-2-mig-1g10gb-19-3"]}}})";
const std::string kVfio =
    R"({"gpu":null,"mig":null,"vfio":{"info":{"uuid":"GPU-7","vfioEnabled":true},"device":{"Requests":["r"],"PoolName":"node-a","DeviceName":"gpu-vfio-0","CDIDeviceIDs":null,"Metadata":{"attributes":{"a":{"string":"b"}}}}}})";

// How claims are shared that are not.
const std::string kNotShared = R"({"mpsControlDaemonID":""})";

std::string GroupsOf(const std::string& devices, const std::string& config) {
  return R"([{"devices":[)" + devices + R"(],"configState":)" + config + "}]";
}

TEST(GpuCheckpoint, WhatNvidiasDriverWrites_IsWrittenAsItWas) {
  for (const std::string& groups :
       {GroupsOf(kGpu, kNotShared), GroupsOf(kMig, kNotShared), GroupsOf(kVfio, kNotShared),
        GroupsOf(kOldMig, kNotShared), GroupsOf(kGpu, "{}"),
        GroupsOf(kGpu + "," + kMig, R"({"mpsControlDaemonID":"","timeSliceApplied":true})"),
        GroupsOf(kGpu, R"({"mpsControlDaemonID":"a-1f3c9","mpsApplied":true})"),
        GroupsOf(
            R"({"gpu":{"info":{"uuid":"GPU-0"},"device":{"Requests":["r"],"PoolName":"node-a",)"
            R"("DeviceName":"gpu-0","CDIDeviceIDs":["x"],"ShareID":"s"}},"mig":null})",
            "{}")}) {
    const auto resumed = Read(Sealed(Completed("a", groups)));
    ASSERT_EQ(resumed.from, dra::Resumed<CheckpointClaim>::From::kThisBoot) << resumed.why;
    EXPECT_TRUE(resumed.damaged.empty());
    EXPECT_EQ(resumed.checkpoint.claims.at("a").state, ClaimState::kCompleted);
    const std::string text = Encode(resumed.checkpoint);
    EXPECT_NE(text.find("\"preparedDevices\":" + groups), std::string::npos) << text;
    EXPECT_TRUE(dra::CheckReadable(text, resumed.checkpoint));
  }
}

// NVIDIA's types of version 0.4.1 wrote the fixture, commit
// 764900e7833798a1528bd52a2af3e1b2d5f7a616. It has a GPU, a MIG device, and a claim that is
// started.
TEST(GpuCheckpoint, FileOfNvidiasTypes_IsWrittenAgainByteForByte) {
  const std::string text = fixtures::ReadFile("nvidia/gpu_checkpoint.json");
  const auto resumed = Read(text);
  ASSERT_EQ(resumed.from, dra::Resumed<CheckpointClaim>::From::kThisBoot) << resumed.why;
  EXPECT_TRUE(resumed.damaged.empty());
  EXPECT_EQ(resumed.checkpoint.claims.size(), 3U);
  EXPECT_EQ(Encode(resumed.checkpoint), text);
}

TEST(GpuCheckpoint, DevicesOfNvidiasDriver_AreRead) {
  const auto resumed = Read(Sealed(Completed("a", GroupsOf(kMig, kNotShared))));
  const CheckpointClaim& entry = resumed.checkpoint.claims.at("a");
  EXPECT_EQ(entry.status.text(), kStatus);
  EXPECT_EQ(entry.groups,
            std::vector{GroupOf(NodeA(), "a", ClaimOf("a", {{kMigName}}).wanted.value())});
  EXPECT_EQ(entry.name, "");
}

TEST(GpuCheckpoint, WhatThisDriverWrites_IsInNvidiasForm) {
  const ClaimToPrepare claim = ClaimOf("a", {{"gpu-0"}});
  Checkpoint checkpoint = {.boot_id = kBoot};
  checkpoint.claims["a"] = {.state = ClaimState::kCompleted,
                            .status = claim.status,
                            .groups = {GroupOf(NodeA(), "a", claim.wanted.value())},
                            .name = "c-a",
                            .ns = "ns"};
  const std::string text = Encode(checkpoint);
  EXPECT_NE(text.find("\"preparedDevices\":" + GroupsOf(kGpu, kNotShared) +
                      R"(,"name":"c-a","namespace":"ns")"),
            std::string::npos)
      << text;
  EXPECT_EQ(dra::DecodeCheckpoint<CheckpointClaim>(text), checkpoint);
}

TEST(GpuCheckpoint, StartedClaim_HasNoDevices) {
  Checkpoint checkpoint = {.boot_id = kBoot};
  checkpoint.claims["a"] = {.status = ClaimOf("a", {{"gpu-0"}}).status, .name = "c", .ns = "ns"};
  const std::string text = Encode(checkpoint);
  EXPECT_EQ(text.find("preparedDevices"), std::string::npos);
  EXPECT_EQ(dra::DecodeCheckpoint<CheckpointClaim>(text), checkpoint);
}

TEST(GpuCheckpoint, DeviceThatCannotBeRead_MakesItsClaimStarted) {
  const std::string fine = Completed("fine", GroupsOf(kGpu, "{}"));
  for (const auto& [groups, damage] : std::vector<std::pair<std::string, std::string>>{
           {GroupsOf(R"({"gpu":null,"mig":null})", "{}"),
            "a: a prepared device has no type that is known"},
           {GroupsOf(R"({"gpu":{"info":{},"device":{}}})", "{}"),
            "a: a prepared device has no name"}}) {
    const auto resumed = Read(Sealed(Completed("a", groups) + "," + fine));
    EXPECT_EQ(resumed.damaged, std::vector{damage});
    EXPECT_EQ(resumed.checkpoint.claims.at("a"), CheckpointClaim());
    EXPECT_EQ(resumed.checkpoint.claims.at("fine").groups.size(), 1U);
  }
}

TEST(GpuCheckpoint, StateThatIsUnknown_MakesItsClaimStarted) {
  const auto resumed =
      Read(Sealed(R"("a":{"checkpointState":"Later","status":{},"name":"c","namespace":"ns"})"));
  EXPECT_EQ(resumed.damaged, std::vector<std::string>{"a: its state is unknown"});
  EXPECT_EQ(resumed.checkpoint.claims.at("a"), (CheckpointClaim{.name = "c", .ns = "ns"}));
}

TEST(GpuCheckpoint, StatusThatCannotBeRead_LeavesTheDevices) {
  const std::string large =
      R"({"allocation":{"devices":{"results":[{"driver":"gpu.nvidia.com","device":")" +
      std::string(70'000, 'x') + R"("}]}}})";
  for (const std::string& status : {std::string(R"({"reservedFor":[nope]})"), large}) {
    const auto resumed =
        Read(Sealed(R"("a":{"checkpointState":"PrepareCompleted","status":)" + status +
                    R"(,"preparedDevices":)" + GroupsOf(kGpu, "{}") + "}"));
    EXPECT_EQ(resumed.damaged.size(), 1U);
    const CheckpointClaim& entry = resumed.checkpoint.claims.at("a");
    EXPECT_EQ(entry.state, ClaimState::kCompleted);
    EXPECT_EQ(entry.status, ClaimStatus());
    EXPECT_EQ(entry.groups.at(0).devices.at(0).name, "gpu-0");
  }
}

TEST(GpuCheckpoint, GroupWithoutAConfiguration_HasAnEmptyOne) {
  const auto resumed = Read(Sealed(Completed("a", R"([{"devices":[]},{}])")));
  EXPECT_EQ(resumed.checkpoint.claims.at("a").groups,
            (std::vector<PreparedGroup>{PreparedGroup(), PreparedGroup()}));
}

class HasDevicesTest : public testing::Test {
 protected:
  const PreparedGroup now_ =
      GroupOf(NodeA(), "a", ClaimOf("a", {{"gpu-0"}, {kMigName}}).wanted.value());
  CheckpointClaim claim_ = {.groups = {now_}};
};

// NVIDIA's driver stores a group for each configuration, in any order.
TEST_F(HasDevicesTest, GroupsOfNvidiasDriver_AreThoseDevices) {
  EXPECT_TRUE(HasDevices(claim_, now_));
  claim_.groups = {{.devices = {now_.devices[1]}},
                   {.devices = {now_.devices[0]}, .config_state = R"({"timeSliceApplied":true})"}};
  // Some versions lack the address of the GPU.
  claim_.groups[0].devices[0].info =
      R"({"parentMinor":2,"giId":9,"ciId":1,"migUUID":"MIG-3","parentUUID":"GPU-2"})";
  EXPECT_TRUE(HasDevices(claim_, now_));
}

TEST_F(HasDevicesTest, MigDeviceOfAnOldVersion_IsKnownByItsUuid) {
  PreparedDevice& mig = claim_.groups[0].devices[1];
  mig.is_old_mig = true;
  mig.info = R"({"uuid":"MIG-3"})";
  EXPECT_TRUE(HasDevices(claim_, now_));
  mig.info = R"({"uuid":"MIG-another"})";
  EXPECT_FALSE(HasDevices(claim_, now_));
}

TEST_F(HasDevicesTest, OtherOrFewerDevices_AreNot) {
  claim_.groups[0].devices.pop_back();
  EXPECT_FALSE(HasDevices(claim_, now_));
  claim_.groups = {now_};
  claim_.groups[0].devices[0].info = R"({"uuid":"GPU-another"})";
  EXPECT_FALSE(HasDevices(claim_, now_));
  claim_.groups = {now_};
  claim_.groups[0].devices[1].info = R"({"migUUID":"MIG-another"})";
  EXPECT_FALSE(HasDevices(claim_, now_));
  claim_.groups = {now_};
  claim_.groups[0].devices[0].share_id = "a share";
  EXPECT_FALSE(HasDevices(claim_, now_));
}

TEST_F(HasDevicesTest, ClaimWithAnMpsDaemon_HasMoreThanDevices) {
  claim_.groups[0].config_state = R"({"mpsControlDaemonID":"a-1f3c9"})";
  EXPECT_FALSE(HasDevices(claim_, now_));
}

TEST(MpsDaemonOf, IsInTheConfigurationOfAGroup) {
  CheckpointClaim claim;
  EXPECT_EQ(MpsDaemonOf(claim), "");
  claim.groups = {PreparedGroup(), {.config_state = R"({"mpsControlDaemonID":"a-1f3c9"})"}};
  EXPECT_EQ(MpsDaemonOf(claim), "a-1f3c9");
}

}  // namespace
}  // namespace gpu
