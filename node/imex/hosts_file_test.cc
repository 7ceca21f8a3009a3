#include "node/imex/hosts_file.h"

#include <gtest/gtest.h>

namespace imex {
namespace {

const std::string kKubelets =
    "# Kubernetes-managed hosts file.\n"
    "127.0.0.1\tlocalhost\n"
    "::1\tlocalhost ip6-localhost\n"
    "\n"
    "10.0.0.7\tcomputedomain-daemon-0c3b-x2x4z\n";

const std::vector<HostsEntry> kTwo = {{.index = 0, .ip = "10.0.0.7"},
                                      {.index = 3, .ip = "fd00::9"}};

NodeNames Names(int count) { return {.prefix = "compute-domain-daemon-0a1b2c3d-", .count = count}; }

const std::string kBlock =
    "# IMEX daemons of this clique; compute-domain-daemon writes this\n"
    "10.0.0.7\tcompute-domain-daemon-0a1b2c3d-0000\n"
    "127.0.0.2\tcompute-domain-daemon-0a1b2c3d-0001\n"
    "127.0.0.2\tcompute-domain-daemon-0a1b2c3d-0002\n"
    "fd00::9\tcompute-domain-daemon-0a1b2c3d-0003\n"
    "# End of the IMEX daemons\n";

TEST(WithHosts, AppendsOneBlockAndKeepsEverybodyElsesLines) {
  EXPECT_EQ(WithHosts(kKubelets, kTwo, Names(4)), kKubelets + kBlock);
}

TEST(WithHosts, REV3_N2_IndexWithoutADaemonHasAnAddressOfThisMachine) {
  EXPECT_EQ(WithHosts("", {}, Names(1)),
            "# IMEX daemons of this clique; compute-domain-daemon writes this\n"
            "127.0.0.2\tcompute-domain-daemon-0a1b2c3d-0000\n"
            "# End of the IMEX daemons\n");
}

TEST(WithHosts, H11_DoesNotGrowHoweverOftenItIsWritten) {
  std::string text = kKubelets;
  for (int i = 0; i < 1000; ++i) {
    text =
        WithHosts(text, i % 2 == 0 ? kTwo : std::vector<HostsEntry>{{.index = 1, .ip = "10.0.0.8"}},
                  Names(4));
  }
  EXPECT_EQ(WithHosts(text, kTwo, Names(4)), kKubelets + kBlock);
}

TEST(WithHosts, TakesAwayEveryOtherLineThatNamesADaemonWhoeverWroteIt) {
  EXPECT_EQ(WithHosts("10.0.0.1\tcompute-domain-daemon-0003\n"
                      "10.0.0.1\tcompute-domain-daemon-4d3c2b1a-0003\n"
                      "  10.0.0.2 other compute-domain-daemon-0004 # a remark\n" +
                          kKubelets,
                      kTwo, Names(4)),
            kKubelets + kBlock);
}

TEST(WithHosts, KeepsLinesThatOnlyLookLikeOurs) {
  const std::string text =
      "# 10.0.0.1 compute-domain-daemon-0003\n"
      "10.0.0.1 compute-domain-daemon-3\n"
      "10.0.0.1 a # compute-domain-daemon-0003\n"
      "compute-domain-daemon-0003\n";
  EXPECT_EQ(WithHosts(text, {}, Names(0)), text);
}

TEST(WithHosts, FileThatWasTornInTheMiddleKeepsEverybodyElsesLinesAndGrowsNoFurther) {
  const std::string torn = kKubelets + kBlock.substr(0, kBlock.size() / 2) + "\n";
  EXPECT_EQ(WithHosts(torn, {}, Names(0)).substr(0, kKubelets.size()), kKubelets);
  EXPECT_EQ(WithHosts(WithHosts(torn, kTwo, Names(4)), kTwo, Names(4)),
            WithHosts(torn, kTwo, Names(4)));
}

TEST(WithHosts, WithoutAnIndexThereIsNoBlock) {
  EXPECT_EQ(WithHosts(kKubelets + kBlock, {}, Names(0)), kKubelets);
  EXPECT_EQ(WithHosts("", {}, Names(0)), "");
  EXPECT_EQ(WithHosts("127.0.0.1 localhost", {}, Names(0)), "127.0.0.1 localhost\n");
}

TEST(IsAddress, TakesAddressesAndNothingThatCouldBeMoreThanOne) {
  for (const char* good : {"10.0.0.1", "::1", "fd00:10:244::17", "::ffff:10.0.0.1"}) {
    EXPECT_TRUE(IsAddress(good)) << good;
  }
  for (const std::string& bad :
       {std::string(""), std::string("10.0.0"), std::string("10.0.0.1 a"), std::string("::1%eth0"),
        std::string("10.0.0.1\n10.0.0.2 a"), std::string("10.0.0.1\0a", 10), std::string("host")}) {
    EXPECT_FALSE(IsAddress(bad)) << bad;
  }
}

}  // namespace
}  // namespace imex
