#include "node/gpu/inventory/device_name.h"

#include <gtest/gtest.h>

namespace gpu {
namespace {

TEST(DeviceName, OfAGpu_HasItsMinor) {
  EXPECT_EQ(TextOf({.minor = 0}), "gpu-0");
  EXPECT_EQ(TextOf({.minor = 12}), "gpu-12");
  EXPECT_EQ(ParseDeviceName("gpu-12"), DeviceName{.minor = 12});
  EXPECT_EQ(ParseDeviceName("gpu-0"), DeviceName{.minor = 0});
}

TEST(DeviceName, OfAMigInstance_HasItsPlace) {
  const DeviceName name = {.minor = 0,
                           .mig = DeviceName::Mig{.profile = "1g24gb", .profile_id = 19}};
  EXPECT_EQ(TextOf(name), "gpu-0-mig-1g24gb-19-0");
  EXPECT_EQ(ParseDeviceName("gpu-0-mig-1g24gb-19-0"), name);
  const DeviceName media = {
      .minor = 10,
      .mig = DeviceName::Mig{.profile = "1g10gb-me", .profile_id = 20, .placement_start = 6}};
  EXPECT_EQ(TextOf(media), "gpu-10-mig-1g10gb-me-20-6");
  EXPECT_EQ(ParseDeviceName("gpu-10-mig-1g10gb-me-20-6"), media);
}

TEST(DeviceName, OfAnotherForm_IsNone) {
  for (const char* text : {"",
                           "gpu",
                           "gpu-",
                           "gpu--1",
                           "gpu-+1",
                           "gpu- 1",
                           "gpu-1 ",
                           "gpu-01",
                           "gpu-1-",
                           "gpu-1x",
                           "gpu-99999999999",
                           "GPU-1",
                           "gpu-1/..",
                           "gpu-vfio-0",
                           "channel-0",
                           "gpu-1-mig",
                           "gpu-1-mig-",
                           "gpu-1-mig-1g5gb",
                           "gpu-1-mig-1g5gb-19",
                           "gpu-1-mig-1g5gb-19-",
                           "gpu-1-mig-1g5gb-19-00",
                           "gpu-1-mig-1g5gb--19-0x",
                           "gpu-1-mig--19-0",
                           "gpu-1-mig-19-0",
                           "gpu-1-mig-1g.5gb-19-0",
                           "gpu-1-mig-1G-19-0",
                           "gpu-1-mig-a/b-19-0",
                           "gpu-1-MIG-a-19-0"}) {
    EXPECT_EQ(ParseDeviceName(text), std::nullopt) << text;
  }
  EXPECT_EQ(ParseDeviceName("gpu-1-mig-" + std::string(100, 'a') + "-19-0"), std::nullopt);
}

TEST(DeviceName, ProfileInIt_HasNoDots) {
  EXPECT_EQ(ProfileInName("1g.24gb"), "1g24gb");
  EXPECT_EQ(ProfileInName("1g.10gb+me"), "1g10gb-me");
  EXPECT_EQ(ProfileInName("1g.10gb+me.all"), "1g10gb-meall");
  EXPECT_EQ(ProfileInName("2g.20gb-me"), "2g20gb-me");
  EXPECT_EQ(ProfileInName("1G_a"), "1g-a");
  EXPECT_EQ(ProfileInName("+a+"), "a");
  EXPECT_EQ(ProfileInName(""), "");
  EXPECT_EQ(ProfileInName("+."), "");
}

}  // namespace
}  // namespace gpu
