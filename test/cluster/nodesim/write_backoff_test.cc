#include "test/cluster/nodesim/write_backoff.h"

#include <gtest/gtest.h>

#include "test/cluster/nodesim/seeded_random.h"

namespace nodesim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr WriteBackoff::TimePoint kNow{std::chrono::hours(1)};

TEST(WriteBackoff, FirstWriteWaitsForNothing) { EXPECT_TRUE(WriteBackoff().MayWrite(kNow, "")); }

TEST(WriteBackoff, NothingIsWrittenUntilTheWatchHasShownTheLastWrite) {
  WriteBackoff backoff;
  backoff.Succeeded(kNow, "12");
  EXPECT_FALSE(backoff.MayWrite(kNow, "9")) << "9 is older than 12, though not as text";
  EXPECT_FALSE(backoff.MayWrite(kNow, "")) << "it is not in the cache yet";
  EXPECT_TRUE(backoff.MayWrite(kNow, "12"));
  EXPECT_TRUE(backoff.MayWrite(kNow, "13"));
}

TEST(WriteBackoff, WriteThatNoWatchShowsIsRepeatedInTheEnd) {
  WriteBackoff backoff;
  backoff.Succeeded(kNow, "12");
  EXPECT_EQ(backoff.Next("9"), kNow + WriteBackoff::kPatience);
  EXPECT_TRUE(backoff.MayWrite(kNow + WriteBackoff::kPatience, "9"));
}

TEST(WriteBackoff, DelayDoublesWithEachFailureUpToItsMost) {
  SeededRandom random(1);
  WriteBackoff backoff;
  constexpr WriteBackoff::Policy kPolicy = {.first = milliseconds(100),
                                            .most = milliseconds(1'000)};
  for (const int expected : {100, 200, 400, 800, 1'000, 1'000}) {
    backoff.Failed(kNow, kPolicy, random);
    const auto delay = backoff.Next("") - kNow;
    EXPECT_GE(delay, milliseconds(expected) * 3 / 4);
    EXPECT_LE(delay, milliseconds(expected) * 5 / 4);
    EXPECT_FALSE(backoff.MayWrite(kNow, ""));
  }
  backoff.Succeeded(kNow, "");
  backoff.Failed(kNow, kPolicy, random);
  EXPECT_LE(backoff.Next(""), kNow + milliseconds(125)) << "a success makes the failures forgotten";
}

TEST(WriteBackoff, DeletedObjectIsLeftAloneForASecond) {
  WriteBackoff backoff;
  backoff.Deleted(kNow);
  EXPECT_FALSE(backoff.MayWrite(kNow, ""));
  EXPECT_TRUE(backoff.MayWrite(kNow + seconds(1), ""));
}

}  // namespace
}  // namespace nodesim
