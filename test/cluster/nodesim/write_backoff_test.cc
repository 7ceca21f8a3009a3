#include "test/cluster/nodesim/pace.h"

#include <gtest/gtest.h>

#include "test/cluster/nodesim/seeded_random.h"

namespace nodesim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Pace::TimePoint kNow{std::chrono::hours(1)};

TEST(Pace, FirstWriteWaitsForNothing) { EXPECT_TRUE(Pace().MayWrite(kNow, "")); }

TEST(Pace, NothingIsWrittenUntilTheWatchHasShownTheLastWrite) {
  Pace pace;
  pace.Succeeded(kNow, "12");
  EXPECT_FALSE(pace.MayWrite(kNow, "9")) << "9 is older than 12, though not as text";
  EXPECT_FALSE(pace.MayWrite(kNow, "")) << "it is not in the cache yet";
  EXPECT_TRUE(pace.MayWrite(kNow, "12"));
  EXPECT_TRUE(pace.MayWrite(kNow, "13"));
}

TEST(Pace, WriteThatNoWatchShowsIsRepeatedInTheEnd) {
  Pace pace;
  pace.Succeeded(kNow, "12");
  EXPECT_EQ(pace.Next("9"), kNow + Pace::kPatience);
  EXPECT_TRUE(pace.MayWrite(kNow + Pace::kPatience, "9"));
}

TEST(Pace, DelayDoublesWithEachFailureUpToItsMost) {
  SeededRandom random(1);
  Pace pace;
  constexpr Pace::BackOff kBackOff = {.first = milliseconds(100), .most = milliseconds(1'000)};
  for (const int expected : {100, 200, 400, 800, 1'000, 1'000}) {
    pace.Failed(kNow, kBackOff, random);
    const auto delay = pace.Next("") - kNow;
    EXPECT_GE(delay, milliseconds(expected) * 3 / 4);
    EXPECT_LE(delay, milliseconds(expected) * 5 / 4);
    EXPECT_FALSE(pace.MayWrite(kNow, ""));
  }
  pace.Succeeded(kNow, "");
  pace.Failed(kNow, kBackOff, random);
  EXPECT_LE(pace.Next(""), kNow + milliseconds(125)) << "a success makes the failures forgotten";
}

TEST(Pace, DeletedObjectIsLeftAloneForASecond) {
  Pace pace;
  pace.Deleted(kNow);
  EXPECT_FALSE(pace.MayWrite(kNow, ""));
  EXPECT_TRUE(pace.MayWrite(kNow + seconds(1), ""));
}

}  // namespace
}  // namespace nodesim
