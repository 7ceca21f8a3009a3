// abi.h against the numbers of NVIDIA's public header.
#include "node/nvml/abi.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#include "node/nvml/fabric.h"
#include "test/cluster/stubs/nvml/public_header.h"

namespace nvml {
namespace {

namespace header = nvml_header;

TEST(NvmlAbi, CodesAreThoseOfThePublicHeader) {
  EXPECT_EQ(abi::kSuccess, header::kSuccess);
  EXPECT_EQ(abi::kNotSupported, header::kErrorNotSupported);
  EXPECT_EQ(abi::kNoSuchFunction, header::kErrorFunctionNotFound);
  EXPECT_EQ(abi::kVersionMismatch, header::kErrorArgumentVersionMismatch);
  EXPECT_EQ(abi::kInitWithoutGpus, header::kInitFlagNoGpus);
  EXPECT_EQ(sizeof(int), header::kReturnSize);
  EXPECT_EQ(sizeof(abi::Device), header::kDeviceSize);
}

TEST(NvmlAbi, BuffersHoldTheLongestTexts) {
  EXPECT_GE(abi::kTextMax, header::kSystemDriverVersionBufferSize);
  EXPECT_GE(abi::kTextMax, header::kDeviceNameV2BufferSize);
}

TEST(NvmlAbi, FabricInfoHasTheLayoutOfThePublicHeader) {
  using Info = abi::FabricInfo;
  static_assert(std::is_standard_layout_v<Info>);
  EXPECT_EQ(sizeof(Info), header::FabricInfo1::kSize);
  EXPECT_EQ(offsetof(Info, cluster), header::FabricInfo1::kClusterUuid);
  EXPECT_EQ(offsetof(Info, status), header::FabricInfo1::kStatus);
  EXPECT_EQ(offsetof(Info, clique), header::FabricInfo1::kCliqueId);
  EXPECT_EQ(offsetof(Info, state), header::FabricInfo1::kState);
  EXPECT_EQ(sizeof(Info::cluster), header::kFabricUuidLen);
  EXPECT_EQ(sizeof(Info::status), header::kReturnSize);
  EXPECT_EQ(sizeof(Info::clique), sizeof(std::uint32_t));
  EXPECT_EQ(sizeof(Info::state), header::kFabricStateSize);
}

TEST(NvmlAbi, FabricInfo2HasTheLayoutAndVersionOfThePublicHeader) {
  using Info = abi::FabricInfo2;
  static_assert(std::is_standard_layout_v<Info>);
  EXPECT_EQ(abi::kFabricInfo2, header::FabricInfo2::kVersionTag);
  EXPECT_EQ(sizeof(Info), header::FabricInfo2::kSize);
  EXPECT_EQ(offsetof(Info, version), header::FabricInfo2::kVersion);
  EXPECT_EQ(offsetof(Info, cluster), header::FabricInfo2::kClusterUuid);
  EXPECT_EQ(offsetof(Info, status), header::FabricInfo2::kStatus);
  EXPECT_EQ(offsetof(Info, clique), header::FabricInfo2::kCliqueId);
  EXPECT_EQ(offsetof(Info, state), header::FabricInfo2::kState);
  EXPECT_EQ(offsetof(Info, health), header::FabricInfo2::kHealthMask);
  EXPECT_EQ(sizeof(Info::cluster), header::kFabricUuidLen);
  EXPECT_EQ(sizeof(Info::status), header::kReturnSize);
  EXPECT_EQ(sizeof(Info::state), header::kFabricStateSize);
  EXPECT_EQ(sizeof(Info::health), sizeof(std::uint32_t));
}

TEST(NvmlAbi, StatesAreThoseOfThePublicHeader) {
  EXPECT_EQ(static_cast<int>(Fabric::State::kNotSupported), header::kFabricStateNotSupported);
  EXPECT_EQ(static_cast<int>(Fabric::State::kNotStarted), header::kFabricStateNotStarted);
  EXPECT_EQ(static_cast<int>(Fabric::State::kInProgress), header::kFabricStateInProgress);
  EXPECT_EQ(static_cast<int>(Fabric::State::kCompleted), header::kFabricStateCompleted);
}

TEST(NvmlAbi, FieldsOfTheHealthMaskAreThoseOfThePublicHeader) {
  EXPECT_EQ(abi::kDegradedBandwidth, header::kShiftDegradedBw);
  EXPECT_EQ(abi::kRouteRecovery, header::kShiftRouteRecovery);
  EXPECT_EQ(abi::kRouteUnhealthy, header::kShiftRouteUnhealthy);
  EXPECT_EQ(abi::kAccessTimeoutRecovery, header::kShiftAccessTimeoutRecovery);
  EXPECT_EQ(abi::kConfiguration, header::kShiftIncorrectConfiguration);
  EXPECT_EQ(abi::kTrue, header::kFlagTrue);
  EXPECT_EQ(abi::kFlagMask, header::kWidthOfFlags);
  EXPECT_EQ(abi::kConfigurationMask, header::kWidthIncorrectConfiguration);
  EXPECT_EQ(abi::kConfigurationNone, header::kIncorrectConfigurationNone);
}

TEST(NvmlAbi, EachConfigurationErrorOfThePublicHeaderIsReported) {
  for (unsigned value = 0; value <= header::kIncorrectConfigurationLast; ++value) {
    const Fabric gpu = {.health = value << header::kShiftIncorrectConfiguration};
    const bool is_wrong = value > header::kIncorrectConfigurationNone;
    EXPECT_EQ(HealthTrouble({gpu}), is_wrong ? "GPU 0: incorrect configuration" : "") << value;
  }
}

}  // namespace
}  // namespace nvml
