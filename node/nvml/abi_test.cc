// abi.h against the numbers of NVIDIA's public header.
#include "node/nvml/abi.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#include "node/nvml/fabric.h"
#include "node/nvml/names.h"
#include "test/cluster/stubs/nvml/public_header.h"

namespace nvml {
namespace {

namespace header = nvml_header;

TEST(NvmlAbi, CodesAreThoseOfThePublicHeader) {
  EXPECT_EQ(abi::kSuccess, header::kSuccess);
  EXPECT_EQ(abi::kInvalidArgument, header::kErrorInvalidArgument);
  EXPECT_EQ(abi::kNotSupported, header::kErrorNotSupported);
  EXPECT_EQ(abi::kNotFound, header::kErrorNotFound);
  EXPECT_EQ(abi::kGpuIsLost, header::kErrorGpuIsLost);
  EXPECT_EQ(abi::kNoSuchFunction, header::kErrorFunctionNotFound);
  EXPECT_EQ(abi::kVersionMismatch, header::kErrorArgumentVersionMismatch);
  EXPECT_EQ(abi::kInitWithoutGpus, header::kInitFlagNoGpus);
  EXPECT_EQ(sizeof(int), header::kReturnSize);
  EXPECT_EQ(sizeof(abi::Device), header::kDeviceSize);
}

TEST(NvmlAbi, BuffersHoldTheLongestTexts) {
  EXPECT_GE(abi::kTextMax, header::kSystemDriverVersionBufferSize);
  EXPECT_GE(abi::kTextMax, header::kDeviceNameV2BufferSize);
  EXPECT_GE(abi::kTextMax, header::kDeviceUuidV2BufferSize);
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

TEST(NvmlAbi, DataOfADeviceHasTheLayoutOfThePublicHeader) {
  EXPECT_EQ(sizeof(abi::Memory), header::Memory::kSize);
  EXPECT_EQ(offsetof(abi::Memory, total), header::Memory::kTotal);
  EXPECT_EQ(offsetof(abi::Memory, free), header::Memory::kFree);
  EXPECT_EQ(offsetof(abi::Memory, used), header::Memory::kUsed);
  using Pci = header::PciInfo;
  EXPECT_EQ(sizeof(abi::PciInfo), Pci::kSize);
  EXPECT_EQ(offsetof(abi::PciInfo, bus_id_legacy), Pci::kBusIdLegacy);
  EXPECT_EQ(offsetof(abi::PciInfo, domain), Pci::kDomain);
  EXPECT_EQ(offsetof(abi::PciInfo, bus), Pci::kBus);
  EXPECT_EQ(offsetof(abi::PciInfo, device), Pci::kDevice);
  EXPECT_EQ(offsetof(abi::PciInfo, device_and_vendor), Pci::kPciDeviceId);
  EXPECT_EQ(offsetof(abi::PciInfo, subsystem), Pci::kPciSubSystemId);
  EXPECT_EQ(offsetof(abi::PciInfo, bus_id), Pci::kBusId);
  EXPECT_EQ(sizeof(abi::PciInfo::bus_id), Pci::kBusIdBufferSize);
  using Mode = header::AddressingMode1;
  EXPECT_EQ(abi::kAddressingMode1, Mode::kVersionTag);
  EXPECT_EQ(sizeof(abi::AddressingMode), Mode::kSize);
  EXPECT_EQ(offsetof(abi::AddressingMode, version), Mode::kVersion);
  EXPECT_EQ(offsetof(abi::AddressingMode, value), Mode::kValue);
}

TEST(NvmlAbi, GpuInstancesHaveTheLayoutOfThePublicHeader) {
  EXPECT_EQ(abi::kMigOn, header::kMigEnable);
  EXPECT_EQ(abi::kGpuInstanceProfiles, header::kGpuInstanceProfileCount);
  using Profile = abi::GpuInstanceProfile;
  using Header = header::GpuInstanceProfileInfo;
  EXPECT_EQ(sizeof(Profile), Header::kSize);
  EXPECT_EQ(offsetof(Profile, id), Header::kId);
  EXPECT_EQ(offsetof(Profile, is_p2p_supported), Header::kIsP2pSupported);
  EXPECT_EQ(offsetof(Profile, slices), Header::kSliceCount);
  EXPECT_EQ(offsetof(Profile, instances), Header::kInstanceCount);
  EXPECT_EQ(offsetof(Profile, multiprocessors), Header::kMultiprocessorCount);
  EXPECT_EQ(offsetof(Profile, copy_engines), Header::kCopyEngineCount);
  EXPECT_EQ(offsetof(Profile, decoders), Header::kDecoderCount);
  EXPECT_EQ(offsetof(Profile, encoders), Header::kEncoderCount);
  EXPECT_EQ(offsetof(Profile, jpeg_engines), Header::kJpegCount);
  EXPECT_EQ(offsetof(Profile, ofa_engines), Header::kOfaCount);
  EXPECT_EQ(offsetof(Profile, memory_mib), Header::kMemorySizeMb);
  using Info = abi::GpuInstanceInfo;
  EXPECT_EQ(sizeof(Info), header::GpuInstanceInfo::kSize);
  EXPECT_EQ(offsetof(Info, device), header::GpuInstanceInfo::kDevice);
  EXPECT_EQ(offsetof(Info, id), header::GpuInstanceInfo::kId);
  EXPECT_EQ(offsetof(Info, profile_id), header::GpuInstanceInfo::kProfileId);
  EXPECT_EQ(offsetof(Info, placement.start), header::GpuInstanceInfo::kPlacementStart);
  EXPECT_EQ(offsetof(Info, placement.size), header::GpuInstanceInfo::kPlacementSize);
}

TEST(NvmlAbi, ComputeInstancesHaveTheLayoutOfThePublicHeader) {
  EXPECT_EQ(abi::kComputeInstanceProfiles, header::kComputeInstanceProfileCount);
  EXPECT_EQ(abi::kSharedEngines, header::kComputeInstanceEngineProfileShared);
  using Profile = abi::ComputeInstanceProfile;
  EXPECT_EQ(sizeof(Profile), header::ComputeInstanceProfileInfo::kSize);
  EXPECT_EQ(offsetof(Profile, id), header::ComputeInstanceProfileInfo::kId);
  EXPECT_EQ(offsetof(Profile, slices), header::ComputeInstanceProfileInfo::kSliceCount);
  using Info = abi::ComputeInstanceInfo;
  EXPECT_EQ(sizeof(Info), header::ComputeInstanceInfo::kSize);
  EXPECT_EQ(offsetof(Info, device), header::ComputeInstanceInfo::kDevice);
  EXPECT_EQ(offsetof(Info, gpu_instance), header::ComputeInstanceInfo::kGpuInstance);
  EXPECT_EQ(offsetof(Info, id), header::ComputeInstanceInfo::kId);
  EXPECT_EQ(offsetof(Info, profile_id), header::ComputeInstanceInfo::kProfileId);
  EXPECT_EQ(offsetof(Info, placement.start), header::ComputeInstanceInfo::kPlacementStart);
  EXPECT_EQ(offsetof(Info, placement.size), header::ComputeInstanceInfo::kPlacementSize);
}

TEST(NvmlAbi, NamesBelongToTheNumbersOfThePublicHeader) {
  EXPECT_EQ(BrandName(header::kBrandTesla), "Tesla");
  EXPECT_EQ(BrandName(header::kBrandGeforce), "GeForce");
  EXPECT_EQ(BrandName(header::kBrandNvidiaRtx), "NvidiaRTX");
  EXPECT_EQ(BrandName(header::kBrandNvidia), "Nvidia");
  EXPECT_EQ(BrandName(header::kBrandTitanRtx), "TitanRTX");
  EXPECT_EQ(ArchitectureName(header::kArchTuring), "Turing");
  EXPECT_EQ(ArchitectureName(header::kArchAmpere), "Ampere");
  EXPECT_EQ(ArchitectureName(header::kArchAda), "Ada Lovelace");
  EXPECT_EQ(ArchitectureName(header::kArchHopper), "Hopper");
  EXPECT_EQ(ArchitectureName(header::kArchBlackwell), "Blackwell");
  EXPECT_EQ(ArchitectureName(header::kArchRubin), "Rubin");
  EXPECT_EQ(ArchitectureName(header::kArchUnknown), "Unknown");
  EXPECT_EQ(AddressingModeName(header::kAddressingModeNone), "None");
  EXPECT_EQ(AddressingModeName(header::kAddressingModeHmm), "HMM");
  EXPECT_EQ(AddressingModeName(header::kAddressingModeAts), "ATS");
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
