#include "node/driver/proc_masks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace driver {
namespace {

TEST(ProcMasks, AreTheMountsBelowTheDriversFolderTheLastOneFirst) {
  const std::string mountinfo =
      "22 1 0:21 / /proc rw,nosuid - proc proc rw\n"
      "40 22 0:50 / /proc/driver/nvidia ro - tmpfs tmpfs rw\n"
      "41 22 0:51 / /proc/driver/nvidia/version ro master:1 - tmpfs tmpfs rw\n"
      "42 41 0:52 / /proc/driver/nvidia/gpus/a\\040b\\134 ro - tmpfs tmpfs rw\n"
      "43 22 0:53 / /proc/driver/nvidia-nvswitch/devices ro - tmpfs tmpfs rw\n"
      "44 22 0:53 / \n";
  EXPECT_EQ(ProcMasks(mountinfo), (std::vector<std::string>{"/proc/driver/nvidia/gpus/a b\\",
                                                            "/proc/driver/nvidia/version"}));
  EXPECT_TRUE(ProcMasks("").empty());
}

TEST(ProcMasks, LackTheMountOverTheDriversParameters) {
  EXPECT_EQ(ProcMasks("41 22 0:51 / /proc/driver/nvidia/params ro - tmpfs tmpfs rw\n"
                      "42 22 0:52 / /proc/driver/nvidia/params.old ro - tmpfs tmpfs rw\n"),
            std::vector<std::string>{"/proc/driver/nvidia/params.old"});
}

}  // namespace
}  // namespace driver
