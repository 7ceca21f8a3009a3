#include <gtest/gtest.h>

#include "test/bench/figures.h"

namespace bench {
namespace {

TEST(Percentile, IsTheSmallestValueThatTheShareDoesNotExceed) {
  const std::vector<double> values = {4, 1, 3, 2};
  EXPECT_EQ(Percentile(values, 0.5), 2);
  EXPECT_EQ(Percentile(values, 0.75), 3);
  EXPECT_EQ(Percentile(values, 0.99), 4);
  EXPECT_EQ(Percentile(values, 0), 1);
}

TEST(Percentile, NinetyNineOfAHundredLeavesOutOneOutlierAndNoMore) {
  std::vector<double> values(100, 1.0);
  values[17] = 50;
  EXPECT_EQ(Percentile(values, 0.99), 1);
  values[63] = 40;
  EXPECT_EQ(Percentile(values, 0.99), 40);
}

TEST(ToLine, SaysNeitherHoldsNorFailsWithoutABudget) {
  EXPECT_EQ(ToLine({.id = "P2", .what = "w", .ours = "3 s", .figure = 3}),
            "P2\tw\t-\t-\t3 s\t-\t-\t3.00");
}

TEST(ToLine, SaysWhetherTheBudgetHolds) {
  const Row row = {.id = "P1",
                   .what = "w",
                   .budget = "b",
                   .yardstick = "y",
                   .ours = "o",
                   .figure = 1234.4,
                   .ratio = 0.7999,
                   .holds = false};
  EXPECT_EQ(ToLine(row), "P1\tw\tb\ty\to\t0.80\tdoes not hold\t1234");
}

TEST(Number, KeepsTheDigitsThatAreWorthReading) {
  EXPECT_EQ(Number(0.0421), "0.042");
  EXPECT_EQ(Number(3.14), "3.14");
  EXPECT_EQ(Number(31.4), "31.4");
  EXPECT_EQ(Number(314.4), "314");
}

}  // namespace
}  // namespace bench
