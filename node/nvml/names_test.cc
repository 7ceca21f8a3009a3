#include "node/nvml/names.h"

#include <gtest/gtest.h>

#include "node/nvml/abi.h"

namespace nvml {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
constexpr std::uint64_t kH100 = 81559 * kMib;
constexpr std::uint64_t kA100 = 40960 * kMib;

// Numbers of NVIDIA's header.
constexpr unsigned kSlice1 = 0;
constexpr unsigned kSlice3 = 2;
constexpr unsigned kSlice7 = 4;
constexpr unsigned kSlice1WithMedia = 7;
constexpr unsigned kSlice1WithMoreMemory = 9;

TEST(NvmlNames, NumbersThatTheHeaderLacks_AreUnknown) {
  for (const unsigned number : {17U, 100U, 0xFFFFFFFFU}) {
    EXPECT_EQ(BrandName(number), "Unknown");
    EXPECT_EQ(ArchitectureName(number), "Unknown");
    EXPECT_EQ(AddressingModeName(number), "");
  }
}

TEST(NvmlNames, PciAddress_HasFourDigitsOfTheDomain) {
  EXPECT_EQ(PciAddressOf("00000000:65:00.0"), "0000:65:00.0");
  EXPECT_EQ(PciAddressOf("00000009:0A:1F.7"), "0009:0a:1f.7");
  EXPECT_EQ(PciAddressOf("0000:65:00.0"), "0000:65:00.0");
  // The kernel writes a greater domain, as of a VMD, with all of its digits.
  EXPECT_EQ(PciAddressOf("00010000:E1:00.0"), "10000:e1:00.0");
}

TEST(NvmlNames, PciAddress_OfAnotherForm_IsEmpty) {
  for (const char* text : {"", "0", ":65:00.0", "000:65:00.0", "000000000:65:00.0", "0000-65:00.0",
                           "0000:65-00.0", "0000:65:00-0", "0000:6g:00.0", "0000:65:00.g",
                           "../0:65:00.0", "0000:65:00.0 ", "-000:65:00.0", "0000:65:00.00"}) {
    EXPECT_EQ(PciAddressOf(text), "") << text;
  }
}

TEST(NvmlNames, MigProfile_IsNamedBySlicesAndMemory) {
  EXPECT_EQ(MigProfileName(kSlice1, 9856, kH100), "1g.10gb");
  EXPECT_EQ(MigProfileName(kSlice1WithMedia, 9856, kH100), "1g.10gb+me");
  EXPECT_EQ(MigProfileName(kSlice1WithMoreMemory, 20096, kH100), "1g.20gb");
  EXPECT_EQ(MigProfileName(kSlice3, 40192, kH100), "3g.40gb");
  EXPECT_EQ(MigProfileName(kSlice7, 80896, kH100), "7g.80gb");
  EXPECT_EQ(MigProfileName(kSlice1, 4864, kA100), "1g.5gb");
  EXPECT_EQ(MigProfileName(kSlice3, 19968, kA100), "3g.20gb");
}

TEST(NvmlNames, MigProfile_WithoutSense_HasNoName) {
  EXPECT_EQ(MigProfileName(abi::kGpuInstanceProfiles, 9856, kH100), "");
  EXPECT_EQ(MigProfileName(0xFFFFFFFF, 9856, kH100), "");
  EXPECT_EQ(MigProfileName(kSlice1, 9856, std::nullopt), "");
  EXPECT_EQ(MigProfileName(kSlice1, 9856, 0), "");
  EXPECT_EQ(MigProfileName(kSlice1, 9856, ~std::uint64_t{0}), "");
  EXPECT_EQ(MigProfileName(kSlice1, ~std::uint64_t{0}, kH100), "");
}

TEST(NvmlNames, EachProfile_HasSlicesOrIsUnknown) {
  for (unsigned number = 0; number < abi::kGpuInstanceProfiles; ++number) {
    EXPECT_GT(SlicesOfGpuInstance(number), 0U);
  }
  EXPECT_EQ(SlicesOfGpuInstance(abi::kGpuInstanceProfiles), 0U);
  for (unsigned number = 0; number < abi::kComputeInstanceProfiles; ++number) {
    EXPECT_GT(SlicesOfComputeInstance(number), 0U);
  }
  EXPECT_EQ(SlicesOfComputeInstance(abi::kComputeInstanceProfiles), 0U);
}

}  // namespace
}  // namespace nvml
