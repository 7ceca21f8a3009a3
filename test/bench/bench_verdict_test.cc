#include <gtest/gtest.h>

#include "test/bench/verdict.h"

namespace bench {
namespace {

Row RowOf(double value, Gate gate, std::optional<double> limit = {}) {
  return {.id = "P7",
          .what = "memory",
          .budget =
              Budget{.text = "<= 32 MiB", .gate = gate, .value = value, .aim = 32, .limit = limit},
          .ours = Number(value) + " MiB",
          .figure = value};
}

TEST(Verdict, Row_WithoutBudget_OnlyInforms) {
  const Verdict verdict = Judge({.id = "P2", .figure = 1e9}, {.strict = true});
  EXPECT_EQ(verdict.text, "-");
  EXPECT_FALSE(verdict.fails);
}

TEST(Verdict, Count_UpToItsAim_Holds) {
  for (const double value : {0.0, 31.9, 32.0}) {
    const Verdict verdict = Judge(RowOf(value, Gate::kAlways), {});
    EXPECT_EQ(verdict.text, "holds") << value;
    EXPECT_FALSE(verdict.fails) << value;
  }
}

TEST(Verdict, Count_AboveItsAim_Fails) {
  const Verdict verdict = Judge(RowOf(32.1, Gate::kAlways), {});
  EXPECT_EQ(verdict.text, "does not hold: fails");
  EXPECT_TRUE(verdict.fails);
}

TEST(Verdict, Count_AboveAnAimOfZero_Fails) {
  Row row = RowOf(1, Gate::kAlways);
  row.budget->aim = 0;
  EXPECT_TRUE(Judge(row, {}).fails);
}

TEST(Verdict, MissedAim_FailsAboveItsLimit) {
  const Verdict within = Judge(RowOf(40, Gate::kAlways, 40), {});
  EXPECT_EQ(within.text, "does not hold, but its limit for now does");
  EXPECT_FALSE(within.fails);
  EXPECT_TRUE(Judge(RowOf(40.1, Gate::kAlways, 40), {}).fails);
  EXPECT_EQ(Judge(RowOf(31, Gate::kAlways, 40), {}).text, "holds");
}

TEST(Verdict, Seconds_NeverFail) {
  const Verdict verdict = Judge(RowOf(1000, Gate::kNever), {.strict = true});
  EXPECT_EQ(verdict.text, "does not hold");
  EXPECT_FALSE(verdict.fails);
}

TEST(Verdict, RatioOfSeconds_FailsOnlyIfStrict) {
  EXPECT_FALSE(Judge(RowOf(33, Gate::kStrict), {}).fails);
  EXPECT_TRUE(Judge(RowOf(33, Gate::kStrict), {.strict = true}).fails);
  EXPECT_FALSE(Judge(RowOf(32, Gate::kStrict), {.strict = true}).fails);
}

TEST(Verdict, SmallSizes_JudgeWhatHoldsAtAnySize) {
  Row row = RowOf(33, Gate::kAlways);
  EXPECT_EQ(Judge(row, {.small = true}).text, "not judged: the sizes are small");
  EXPECT_FALSE(Judge(row, {.small = true}).fails);
  row.budget->at_any_size = true;
  EXPECT_TRUE(Judge(row, {.small = true}).fails);
}

TEST(Verdict, AnotherController_NeverFails) {
  const Verdict verdict = Judge(RowOf(117, Gate::kAlways), {.strict = true, .ours = false});
  EXPECT_EQ(verdict.text, "does not hold");
  EXPECT_FALSE(verdict.fails);
}

TEST(TakeMedians, FiveMeasurements_LeaveTheMedian) {
  std::vector<Row> rows;
  for (const double value : {50.0, 1.0, 33.0, 90.0, 31.0}) {
    rows.push_back(RowOf(value, Gate::kStrict));
    rows.push_back({.id = "P2", .what = "writes", .figure = 3});
  }
  const std::vector<Row> medians = TakeMedians(rows);
  ASSERT_EQ(medians.size(), 2U);
  EXPECT_EQ(medians[0].figure, 33);
  EXPECT_EQ(medians[0].what, "memory (median of 5)");
  EXPECT_EQ(medians[1].id, "P2");
}

TEST(TakeMedians, OneMeasurement_StaysAsItIs) {
  const std::vector<Row> medians = TakeMedians({RowOf(33, Gate::kStrict)});
  ASSERT_EQ(medians.size(), 1U);
  EXPECT_EQ(medians[0].what, "memory");
}

TEST(MakeTable, OneRowThatFails_FailsTheTable) {
  const Row good = {.id = "P2", .what = "writes", .ours = "3", .figure = 3};
  EXPECT_FALSE(MakeTable({good, RowOf(39, Gate::kAlways, 40)}, {}).fails);
  const Table table = MakeTable({good, RowOf(41, Gate::kAlways, 40), good}, {});
  EXPECT_TRUE(table.fails);
  EXPECT_EQ(table.text.substr(table.text.find("FAIL")),
            "FAIL row P7: memory: 41.0 MiB, and its budget is <= 32 MiB, for now 40.0\n");
}

TEST(MakeTable, HasAlignedColumns) {
  EXPECT_EQ(MakeTable({RowOf(3, Gate::kAlways)}, {}).text,
            "row  what    budget     yardstick of this run  measured  ratio  verdict\n"
            "P7   memory  <= 32 MiB  -                      3.00 MiB  -      holds\n");
}

}  // namespace
}  // namespace bench
