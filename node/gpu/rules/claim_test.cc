#include "node/gpu/rules/claim.h"

#include <gtest/gtest.h>

#include "node/gpu/rules/testing/node_and_claims.h"

namespace gpu {
namespace {

const std::string kVersion = R"("apiVersion":"resource.nvidia.com/v1beta1",)";
const std::string kGpuConfig = "{" + kVersion + R"("kind":"GpuConfig"})";
const std::string kMigConfig = "{" + kVersion + R"("kind":"MigDeviceConfig"})";

// Why a claim for gpu-0 with these parameters is refused. Empty if it is not.
std::string Wrong(const std::string& parameters, const std::string& request = "") {
  const auto claim = ClaimOf("a", {{"gpu-0"}}, ConfigJson(parameters, request));
  return claim.wanted ? "" : claim.wanted.error().message;
}

TEST(GpuClaim, DevicesOfThisDriver_AreWanted) {
  const ClaimToPrepare claim =
      dra::DecodeResourceClaim<Wanted>(
          R"({"metadata":{"name":"c","namespace":"ns","uid":"a"},"status":{"allocation":{"devices":{"results":[)"
          R"({"request":"x","driver":"nic.example.com","pool":"node-a","device":"eth0"},)"
          R"({"request":"y/large","driver":"gpu.nvidia.com","pool":"node-a","device":"gpu-1"},)" +
          JsonOf({.device = kMigName, .admin_access = true}) + R"(]}}}})")
          .value();
  ASSERT_TRUE(claim.wanted) << claim.wanted.error().message;
  ASSERT_EQ(claim.wanted->devices.size(), 2U);
  EXPECT_EQ(claim.wanted->devices[0].allocated,
            (dra::Allocated{.request = "y", .pool = "node-a", .device = "gpu-1"}));
  EXPECT_EQ(claim.wanted->devices[0].name, (DeviceName{.minor = 1}));
  EXPECT_TRUE(claim.wanted->devices[1].allocated.admin_access);
  EXPECT_TRUE(claim.wanted->devices[1].name.mig);
  EXPECT_TRUE(claim.wanted->IsOn("node-a"));
  EXPECT_FALSE(claim.wanted->IsOn("node-b"));
}

TEST(GpuClaim, DeviceOfAnotherPool_MakesItAClaimOfAnotherNode) {
  const auto claim = ClaimOf("a", {{"gpu-0"}, {.device = "gpu-1", .pool = "node-b"}});
  EXPECT_FALSE(claim.wanted->IsOn("node-a"));
  EXPECT_FALSE(claim.wanted->IsOn("node-b"));
}

TEST(GpuClaim, WithoutADevice_IsRefused) {
  EXPECT_EQ(ClaimOf("a", {}).wanted.error().message, "the claim holds no device of gpu.nvidia.com");
  EXPECT_EQ(ClaimOf("a", {{"gpu-vfio-0"}}).wanted.error().message, "no GPU is called gpu-vfio-0");
  EXPECT_FALSE(Wanted::Decode("{", dra::Decoding::kLenient));
}

TEST(GpuConfig, WithoutSharing_IsAccepted) {
  EXPECT_EQ(Wrong(kGpuConfig), "");
  EXPECT_EQ(Wrong(kGpuConfig, "r"), "");
  EXPECT_EQ(Wrong("{" + kVersion + R"("kind":"GpuConfig","sharing":null})"), "");
}

TEST(GpuConfig, OfAnotherDriver_IsIgnored) {
  const auto claim = ClaimOf(
      "a", {{"gpu-0"}},
      R"({"source":"FromClass","opaque":{"driver":"nic.example.com","parameters":{"kind":"X"}}})");
  EXPECT_TRUE(claim.wanted);
}

TEST(GpuConfig, ForTheOtherTypeOfDevice_IsRefusedIfItNamesTheRequest) {
  EXPECT_EQ(Wrong(kMigConfig), "") << "one for all is for those that it fits";
  EXPECT_EQ(Wrong(kMigConfig, "other"), "");
  EXPECT_EQ(Wrong(kMigConfig, "r"), "request r has a MigDeviceConfig, and was given gpu-0");
  const auto mig = ClaimOf("a", {{kMigName}}, ConfigJson(kGpuConfig, "r"));
  EXPECT_EQ(mig.wanted.error().message,
            "request r has a GpuConfig, and was given gpu-2-mig-1g10gb-19-3");
  EXPECT_TRUE(ClaimOf("a", {{kMigName}}, ConfigJson(kMigConfig, "r")).wanted);
}

TEST(GpuConfig, R11_SharingBesideAdminAccess_IsRefused) {
  const auto claim = ClaimOf("a", {{.device = "gpu-0", .admin_access = true}},
                             ConfigJson("{" + kVersion + R"("kind":"GpuConfig","sharing":{}})"));
  EXPECT_FALSE(claim.wanted);
}

TEST(GpuConfig, Sharing_IsRefusedWithARemedy) {
  const auto sharing = [](const std::string& kind, const std::string& value) {
    return "{" + kVersion + R"("kind":")" + kind + R"(","sharing":)" + value + "}";
  };
  const std::string remedy =
      " is not supported: remove the field `sharing`. Containers that name one request of a claim, "
      "and pods that name one claim, share its GPUs without it";
  EXPECT_EQ(Wrong(sharing("GpuConfig", R"({"strategy":"TimeSlicing"})")),
            "GpuConfig: sharing.strategy TimeSlicing" + remedy);
  EXPECT_EQ(Wrong(sharing("MigDeviceConfig", "{}")), "MigDeviceConfig: sharing" + remedy);
}

TEST(GpuConfig, OfAnUnknownForm_IsRefused) {
  EXPECT_EQ(Wrong("7"), "error decoding config parameters: they are no object");
  EXPECT_EQ(Wrong("{}"), R"(error decoding config parameters: no kind "" is registered)");
  EXPECT_EQ(Wrong(R"({"apiVersion":"resource.nvidia.com/v1","kind":"GpuConfig"})"),
            "error decoding config parameters: no version \"resource.nvidia.com/v1\" of kind "
            "GpuConfig is registered");
  EXPECT_EQ(Wrong("{" + kVersion + R"("kind":"GpuConfig","more":1})"),
            "error decoding config parameters: strict decoding error: unknown field \"more\"");
  EXPECT_EQ(Wrong("{" + kVersion + R"("kind":"VfioDeviceConfig"})"),
            "VfioDeviceConfig: this driver passes no GPU through to virtual machines");
  EXPECT_EQ(ClaimOf("a", {{"gpu-0"}}, R"({"source":"x","opaque":{}})").wanted.error().message,
            R"(configuration with an unknown source: "x")");
}

// What the checkpoint has may be of another driver.
TEST(GpuConfig, ToUnprepare_FieldsDoNotMatter) {
  const auto claim = ClaimOf(
      "a", {{"gpu-0"}},
      ConfigJson("{" + kVersion + R"("kind":"GpuConfig","more":1,"sharing":{"strategy":"MPS"}})"));
  EXPECT_FALSE(claim.wanted);
  ASSERT_TRUE(claim.status.wanted());
  EXPECT_EQ(claim.status.wanted()->devices.size(), 1U);
}

}  // namespace
}  // namespace gpu
