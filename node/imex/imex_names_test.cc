#include <gtest/gtest.h>

#include "node/imex/names.h"

namespace imex {
namespace {

constexpr const char* kUid = "0c3b2d84-7a1f-4d1e-9d5a-1f2e3d4c5b6a";

TEST(DnsName, HasFourDigitsAsTheReferencesDaemonsHave) {
  EXPECT_EQ(DnsName(kSharedPrefix, 0), "compute-domain-daemon-0000");
  EXPECT_EQ(DnsName(kSharedPrefix, 17), "compute-domain-daemon-0017");
  EXPECT_EQ(DnsName(kSharedPrefix, 9999), "compute-domain-daemon-9999");
}

// Another hash would give daemons of two releases different names.
TEST(PrefixOf, REV4_Y1_HasAHashOfTheDomainThatNeverChanges) {
  EXPECT_EQ(PrefixOf(kUid), "compute-domain-daemon-398fc6df-");
  EXPECT_EQ(PrefixOf(""), "compute-domain-daemon-cbf29ce4-");
}

TEST(PrefixOf, REV4_Y1_DomainsHaveDifferentNodesFiles) {
  const NodeNames one = {.prefix = PrefixOf(kUid)};
  const NodeNames other = {.prefix = PrefixOf("0c3b2d84-7a1f-4d1e-9d5a-1f2e3d4c5b6b")};
  EXPECT_NE(RenderNodes(one), RenderNodes(other));
}

TEST(IsDnsName, KnowsTheNamesOfBothForms) {
  for (const std::string& prefix : {std::string(kSharedPrefix), PrefixOf(kUid)}) {
    for (const int index : {0, 9, 10, 999, 9999}) EXPECT_TRUE(IsDnsName(DnsName(prefix, index)));
  }
}

TEST(IsDnsName, TakesNoOtherName) {
  for (const char* name :
       {"", "compute-domain-daemon-", "compute-domain-daemon-1", "compute-domain-daemon-00001",
        "compute-domain-daemon-00x1", "compute-domain-daemon--001", "compute-domain-daemon-+001",
        "xcompute-domain-daemon-0001", "computedomain-daemon-0001",
        "compute-domain-daemon-0a1b2c3-0001", "compute-domain-daemon-0a1b2c3d-001",
        "compute-domain-daemon-0A1B2C3D-0001", "compute-domain-daemon--0001",
        "compute-domain-daemon-0a1b2c3d-0001-0001"}) {
    EXPECT_FALSE(IsDnsName(name)) << name;
  }
}

TEST(RenderNodes, NamesEveryIndexOnALineOfItsOwnWhoeverIsThere) {
  EXPECT_EQ(RenderNodes({.prefix = "n-", .count = 3}), "n-0000\nn-0001\nn-0002\n");
}

}  // namespace
}  // namespace imex
