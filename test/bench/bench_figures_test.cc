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

TEST(ToLine, HasDashesWithoutABudget) {
  EXPECT_EQ(ToLine({.id = "P2", .what = "w", .ours = "3 s", .figure = 3}),
            "P2\tw\t-\t3 s\t-\t3.00\t-\t-\t-\t-\t-\t-\t-");
}

Row WithEverything() {
  return {.id = "P7",
          .what = "w",
          .budget = Budget{.text = "b",
                           .gate = Gate::kAlways,
                           .value = 1234.4321,
                           .aim = 32,
                           .limit = 40.5,
                           .at_any_size = true},
          .yardstick = "y",
          .ours = "o",
          .figure = 1234.4,
          .ratio = 0.7999,
          .recorded = "r"};
}

TEST(ToLine, HasTheBudgetWithAllDigits) {
  EXPECT_EQ(ToLine(WithEverything()),
            "P7\tw\ty\to\t0.80\t1234\tr\tb\talways\t1234.4321\t32\t40.5\tany");
}

TEST(FromLine, GivesTheSameLineAgain) {
  Row strict = WithEverything();
  strict.budget->gate = Gate::kStrict;
  strict.budget->limit.reset();
  strict.budget->at_any_size = false;
  for (const Row& row : {WithEverything(), strict, Row{.id = "P2", .what = "w", .ours = "o"}}) {
    const auto read = FromLine(ToLine(row));
    ASSERT_TRUE(read) << ToLine(row);
    EXPECT_EQ(ToLine(*read), ToLine(row));
  }
}

TEST(FromLine, RefusesWhatIsNoRow) {
  const std::string fields = "P2\tw\t-\to\t-\t";
  for (const std::string& line :
       {std::string(), fields + "1", fields + "nan\t-\t-\t-\t-\t-\t-\t-",
        fields + "\t-\t-\t-\t-\t-\t-\t-", fields + "1\t-\tb\toften\t1\t1\t-\tany",
        fields + "1\t-\tb\tnever\tx\t1\t-\tany", fields + "1\t-\tb\tnever\t1\tinf\t-\tany"}) {
    EXPECT_FALSE(FromLine(line)) << line;
  }
}

TEST(Number, KeepsTheDigitsThatAreWorthReading) {
  EXPECT_EQ(Number(0.0421), "0.042");
  EXPECT_EQ(Number(3.14), "3.14");
  EXPECT_EQ(Number(31.4), "31.4");
  EXPECT_EQ(Number(314.4), "314");
}

}  // namespace
}  // namespace bench
