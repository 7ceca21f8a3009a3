#include <gtest/gtest.h>

#include "node/imex/names.h"

namespace imex {
namespace {

TEST(DnsName, HasFourDigitsAsTheReferencesDaemonsHave) {
  EXPECT_EQ(DnsName(0), "compute-domain-daemon-0000");
  EXPECT_EQ(DnsName(17), "compute-domain-daemon-0017");
  EXPECT_EQ(DnsName(9999), "compute-domain-daemon-9999");
}

TEST(IndexOf, ReadsWhatDnsNameWrites) {
  for (const int index : {0, 9, 10, 999, 9999}) EXPECT_EQ(IndexOf(DnsName(index)), index);
}

TEST(IndexOf, TakesNoOtherName) {
  for (const char* name :
       {"", "compute-domain-daemon-", "compute-domain-daemon-1", "compute-domain-daemon-00001",
        "compute-domain-daemon-00x1", "compute-domain-daemon--001", "compute-domain-daemon-+001",
        "xcompute-domain-daemon-0001", "computedomain-daemon-0001"}) {
    EXPECT_EQ(IndexOf(name), std::nullopt) << name;
  }
}

TEST(RenderNodes, NamesEveryIndexOnALineOfItsOwnWhoeverIsThere) {
  EXPECT_EQ(RenderNodes(3),
            "compute-domain-daemon-0000\ncompute-domain-daemon-0001\ncompute-domain-daemon-0002\n");
}

}  // namespace
}  // namespace imex
