#include "node/plugin/preflight/proc_mounts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace plugin {
namespace {

TEST(MountsBelow, AreTheMountsBelowTheDriversFolderTheLastOneFirst) {
  const std::string mountinfo =
      "22 1 0:21 / /proc rw,nosuid - proc proc rw\n"
      "40 22 0:50 / /proc/driver/nvidia ro - tmpfs tmpfs rw\n"
      "41 22 0:51 / /proc/driver/nvidia/params ro master:1 - tmpfs tmpfs rw\n"
      "42 41 0:52 / /proc/driver/nvidia/gpus/a\\040b\\134 ro - tmpfs tmpfs rw\n"
      "43 22 0:53 / /proc/driver/nvidia-nvswitch/devices ro - tmpfs tmpfs rw\n"
      "44 22 0:53 / \n";
  EXPECT_EQ(
      MountsBelow(kDriverProc, mountinfo),
      (std::vector<std::string>{"/proc/driver/nvidia/gpus/a b\\", "/proc/driver/nvidia/params"}));
  EXPECT_TRUE(MountsBelow(kDriverProc, "").empty());
}

}  // namespace
}  // namespace plugin
