#include "node/gpu/inventory/quantity.h"

#include <gtest/gtest.h>

namespace gpu {
namespace {

// As Kubernetes prints what it has read of resource.NewQuantity(n, resource.BinarySI).
TEST(Quantity, IsWrittenAsTheServerWritesIt) {
  EXPECT_EQ(QuantityOf(0), "0");
  EXPECT_EQ(QuantityOf(1), "1");
  EXPECT_EQ(QuantityOf(132), "132");
  EXPECT_EQ(QuantityOf(1000), "1k");
  EXPECT_EQ(QuantityOf(1023), "1023");
  EXPECT_EQ(QuantityOf(1024), "1Ki");
  EXPECT_EQ(QuantityOf(1025), "1025");
  EXPECT_EQ(QuantityOf(2000), "2k");
  EXPECT_EQ(QuantityOf(1001000), "1001k");
  EXPECT_EQ(QuantityOf(3125000), "3125k");
  EXPECT_EQ(QuantityOf(85520809984), "81559Mi");
  EXPECT_EQ(QuantityOf(42949672960), "40Gi");
  EXPECT_EQ(QuantityOf(85520809985), "85520809985");
  EXPECT_EQ(QuantityOf(std::uint64_t{1} << 60U), "1Ei");
  EXPECT_EQ(QuantityOf(std::uint64_t{1} << 63U), "8Ei");
}

TEST(SemanticVersion, HasThreeNumbersWithoutLeadingZeros) {
  EXPECT_EQ(SemanticVersionOf("580.95.05"), "580.95.5");
  EXPECT_EQ(SemanticVersionOf("570.158.01"), "570.158.1");
  EXPECT_EQ(SemanticVersionOf("13.0"), "13.0.0");
  EXPECT_EQ(SemanticVersionOf("9"), "9.0.0");
  EXPECT_EQ(SemanticVersionOf("1.2.3.4"), "1.2.3");
  EXPECT_EQ(SemanticVersionOf("580.95.05-grid"), "580.95.5");
}

TEST(SemanticVersion, OfOtherText_IsEmpty) {
  for (const char* text : {"", "x", ".1", "-1.2", "580.-1", "99999999999"}) {
    EXPECT_EQ(SemanticVersionOf(text), "") << text;
  }
}

}  // namespace
}  // namespace gpu
