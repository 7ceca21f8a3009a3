#include "pkg/kube/workqueue/work_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "pkg/kube/testing/fakes.h"

namespace kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Key = std::optional<std::string>;
using TimePoint = WorkQueue::TimePoint;

constexpr TimePoint kStart{std::chrono::hours(1)};

// No key is ready, delayed or held.
bool IsIdle(const WorkQueue& queue) {
  return queue.depth() + queue.StatsAt(kStart).in_progress == 0 && !queue.NextDue();
}

class WorkQueueTest : public testing::Test {
 protected:
  FixedRandom low_{FixedRandom::Side::kLow};
  FixedRandom high_{FixedRandom::Side::kHigh};
  WorkQueue queue_{low_};
};

TEST_F(WorkQueueTest, KeysComeOutInTheOrderTheyWereAdded) {
  for (const char* key : {"b", "a", "c"}) queue_.Add(key, kStart);
  EXPECT_EQ(queue_.Get(kStart), "b");
  EXPECT_EQ(queue_.Get(kStart), "a");
  EXPECT_EQ(queue_.Get(kStart), "c");
  EXPECT_EQ(queue_.Get(kStart), std::nullopt);
}

TEST_F(WorkQueueTest, WQ1_KeyAddedTwiceIsHandedOutOnce) {
  queue_.Add("a", kStart);
  queue_.Add("a", kStart);
  EXPECT_EQ(queue_.depth(), 1U);
  EXPECT_EQ(queue_.Get(kStart), "a");
  EXPECT_EQ(queue_.Get(kStart), std::nullopt);
}

TEST_F(WorkQueueTest, WQ1_KeyIsNeverHeldByTwoWorkers) {
  queue_.Add("a", kStart);
  EXPECT_EQ(queue_.Get(kStart), "a");
  queue_.Add("a", kStart);
  EXPECT_EQ(queue_.Get(kStart), std::nullopt);
  EXPECT_EQ(queue_.StatsAt(kStart).in_progress, 1U);
}

TEST_F(WorkQueueTest, WQ1_ChangeThatArrivesWhileAWorkerHoldsTheKeyIsNotLost) {
  queue_.Add("a", kStart);
  EXPECT_EQ(queue_.Get(kStart), "a");
  queue_.Add("a", kStart);
  queue_.Add("a", kStart);
  queue_.Done("a", kStart);
  EXPECT_EQ(queue_.Get(kStart), "a");
  queue_.Done("a", kStart);
  EXPECT_EQ(queue_.Get(kStart), std::nullopt);
  EXPECT_TRUE(IsIdle(queue_));
}

TEST_F(WorkQueueTest, WQ2_DelayedKeyComesOutWhenItIsDueAndNotBefore) {
  queue_.AddAt("a", kStart + seconds(5), kStart);
  EXPECT_EQ(queue_.NextDue(), kStart + seconds(5));
  EXPECT_FALSE(IsIdle(queue_));
  EXPECT_EQ(queue_.Get(kStart + milliseconds(4999)), std::nullopt);
  EXPECT_EQ(queue_.Get(kStart + seconds(5)), "a");
  EXPECT_EQ(queue_.NextDue(), std::nullopt);
}

TEST_F(WorkQueueTest, WQ2_EarlierTimeWins) {
  queue_.AddAt("a", kStart + seconds(5), kStart);
  queue_.AddAt("a", kStart + seconds(9), kStart);
  EXPECT_EQ(queue_.NextDue(), kStart + seconds(5));
  queue_.AddAt("a", kStart + seconds(2), kStart);
  EXPECT_EQ(queue_.NextDue(), kStart + seconds(2));
  EXPECT_EQ(queue_.Get(kStart + seconds(2)), "a");
  queue_.Done("a", kStart + seconds(2));
  EXPECT_EQ(queue_.Get(kStart + seconds(20)), std::nullopt);  // Not once more for the later times.
}

TEST_F(WorkQueueTest, WQ2_DelayEndsWhenTheKeyIsAddedNow) {
  queue_.AddAt("a", kStart + seconds(5), kStart);
  queue_.Add("a", kStart);
  EXPECT_EQ(queue_.NextDue(), std::nullopt);
  EXPECT_EQ(queue_.Get(kStart), "a");
  queue_.Done("a", kStart);
  EXPECT_EQ(queue_.Get(kStart + seconds(5)), std::nullopt);
}

TEST_F(WorkQueueTest, WQ2_DelayOfAKeyThatIsReadyIsIgnored) {
  queue_.Add("a", kStart);
  queue_.AddAt("a", kStart + seconds(5), kStart);
  EXPECT_EQ(queue_.NextDue(), std::nullopt);
}

TEST_F(WorkQueueTest, TimeInThePastMeansNow) {
  queue_.AddAt("a", kStart - seconds(1), kStart);
  EXPECT_EQ(queue_.Get(kStart), "a");
}

TEST_F(WorkQueueTest, DelayThatEndsWhileAWorkerHoldsTheKeyMakesItReadyAfterDone) {
  queue_.Add("a", kStart);
  EXPECT_EQ(queue_.Get(kStart), "a");
  queue_.AddAt("a", kStart + seconds(1), kStart);
  EXPECT_EQ(queue_.Get(kStart + seconds(2)), std::nullopt);
  queue_.Done("a", kStart + seconds(2));
  EXPECT_EQ(queue_.depth(), 1U);
  EXPECT_EQ(queue_.Get(kStart + seconds(2)), "a");
  queue_.Done("a", kStart + seconds(2));
  EXPECT_TRUE(IsIdle(queue_));
}

TEST_F(WorkQueueTest, DelayThatEndsAtTheMomentOfDoneIsOneEntry) {
  queue_.Add("a", kStart);
  EXPECT_EQ(queue_.Get(kStart), "a");
  queue_.AddAt("a", kStart + seconds(1), kStart);
  queue_.Done("a", kStart + seconds(1));
  EXPECT_EQ(queue_.depth(), 1U);
}

TEST_F(WorkQueueTest, KeyThatWasDueEarlierComesFirst) {
  queue_.AddAt("late", kStart + seconds(2), kStart);
  queue_.AddAt("early", kStart + seconds(1), kStart);
  queue_.Add("now", kStart + seconds(3));
  EXPECT_EQ(queue_.Get(kStart + seconds(3)), "early");
  EXPECT_EQ(queue_.Get(kStart + seconds(3)), "late");
  EXPECT_EQ(queue_.Get(kStart + seconds(3)), "now");
}

// How long the key waits after one more failure.
milliseconds Fail(WorkQueue& queue, seconds at_least = {}) {
  queue.AddAfterFailure("a", kStart, at_least);
  const TimePoint due = queue.NextDue().value_or(kStart);
  EXPECT_EQ(queue.Get(due), "a");
  queue.Done("a", due);
  return std::chrono::duration_cast<milliseconds>(due - kStart);
}

TEST_F(WorkQueueTest, WQ3_EachFailureInARowDoublesTheWaitUpToABound) {
  for (const int expected : {5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10'240, 20'480}) {
    EXPECT_EQ(Fail(queue_), milliseconds(expected));
  }
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(Fail(queue_), seconds(30));
}

TEST_F(WorkQueueTest, WQ3_SuccessForgetsTheFailures) {
  for (int i = 0; i < 8; ++i) (void)Fail(queue_);
  queue_.Forget("a");
  EXPECT_EQ(Fail(queue_), milliseconds(5));
}

TEST_F(WorkQueueTest, WQ3_JitterAddsUpToAFifth) {
  WorkQueue queue(high_, {.first = milliseconds(1000), .most = milliseconds(8000), .jitter = 0.2});
  EXPECT_EQ(Fail(queue), milliseconds(1199));
  EXPECT_EQ(Fail(queue), milliseconds(2399));
  for (int i = 0; i < 9; ++i) (void)Fail(queue);
  EXPECT_EQ(Fail(queue), milliseconds(9599));
}

TEST_F(WorkQueueTest, WQ3_ChangeEndsTheWaitAfterFailures) {
  for (int i = 0; i < 20; ++i) (void)Fail(queue_);
  queue_.AddAfterFailure("a", kStart);
  EXPECT_EQ(queue_.Get(kStart + seconds(29)), std::nullopt);
  queue_.Add("a", kStart + seconds(29));
  EXPECT_EQ(queue_.Get(kStart + seconds(29)), "a");
}

TEST_F(WorkQueueTest, RT2_ServersRetryAfterIsTheLeastThatAKeyWaits) {
  EXPECT_EQ(Fail(queue_, seconds(7)), seconds(7));
  EXPECT_EQ(Fail(queue_), milliseconds(10));  // Only for that one failure.
  WorkQueue queue(high_);
  EXPECT_EQ(Fail(queue, seconds(10)), milliseconds(11'999));
  EXPECT_EQ(Fail(queue, seconds(-3)), milliseconds(11));
}

TEST_F(WorkQueueTest, KeyThatFailsWhileItChangesIsHandedOutAtOnce) {
  queue_.Add("a", kStart);
  EXPECT_EQ(queue_.Get(kStart), "a");
  queue_.Add("a", kStart);
  queue_.AddAfterFailure("a", kStart);
  queue_.Done("a", kStart);
  EXPECT_EQ(queue_.Get(kStart), "a");
  queue_.Done("a", kStart);
  EXPECT_TRUE(IsIdle(queue_));
}

TEST(WorkQueueDeathTest, DoneOfAKeyThatNobodyHoldsIsABug) {
  FixedRandom random(FixedRandom::Side::kLow);
  WorkQueue queue(random);
  EXPECT_DEATH(queue.Done("a", kStart), "CHECK");
}

// A plain statement of the same promises: for each key, when it is wanted next and whether it is
// held.
struct Model {
  std::map<std::string, TimePoint> wanted = {};
  std::set<std::string> held = {};

  void Want(const std::string& key, TimePoint when) {
    const auto [it, is_new] = wanted.emplace(key, when);
    if (!is_new) it->second = std::min(it->second, when);
  }
};

TEST(WorkQueueModel, EveryKeyIsHandedOutOnceByTheTimeItIsWantedAndNeverTwiceAtOnce) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    FixedRandom low(FixedRandom::Side::kLow);
    WorkQueue queue(low);
    Model model;
    TimePoint now = kStart;
    for (int step = 0; step < 400; ++step) {
      const std::string key(1, static_cast<char>('a' + random() % 5));
      switch (random() % 5) {
        case 0:
          queue.Add(key, now);
          model.Want(key, now);
          break;
        case 1: {
          const TimePoint when = now + milliseconds(random() % 100);
          queue.AddAt(key, when, now);
          model.Want(key, when);
          break;
        }
        case 2:
          if (model.held.erase(key) == 1) queue.Done(key, now);
          break;
        case 3:
          now += milliseconds(random() % 40);
          break;
        default: {
          const Key got = queue.Get(now);
          const bool any = std::ranges::any_of(model.wanted, [&](const auto& wanted) {
            return wanted.second <= now && !model.held.contains(wanted.first);
          });
          ASSERT_EQ(got.has_value(), any);
          if (!got) break;
          ASSERT_LE(model.wanted.at(*got), now);
          ASSERT_TRUE(model.held.insert(*got).second) << *got << " is held twice";
          model.wanted.erase(*got);
        }
      }
    }
    for (const std::string& key : model.held) queue.Done(key, now);
    now += seconds(1);
    while (const Key key = queue.Get(now)) {
      ASSERT_EQ(model.wanted.erase(*key), 1U);
      queue.Done(*key, now);
    }
    ASSERT_TRUE(model.wanted.empty()) << "a wake-up was lost";
    ASSERT_TRUE(IsIdle(queue));
  }
}

TEST_F(WorkQueueTest, StatsCountAKeyOnceUntilItIsHandedOut) {
  queue_.Add("a", kStart);
  queue_.Add("a", kStart);
  queue_.AddAt("b", kStart + seconds(10), kStart);
  EXPECT_EQ(queue_.StatsAt(kStart).adds, 1U);
  ASSERT_EQ(queue_.Get(kStart), "a");
  queue_.Add("a", kStart);
  EXPECT_EQ(queue_.StatsAt(kStart).adds, 2U);
}

TEST_F(WorkQueueTest, StatsTellHowLongKeysWaitAndAreHeld) {
  queue_.Add("a", kStart);
  queue_.AddAt("late", kStart + seconds(2), kStart);
  ASSERT_EQ(queue_.Get(kStart + seconds(1)), "a");
  EXPECT_EQ(queue_.Waited("a"), seconds(1));
  ASSERT_EQ(queue_.Get(kStart + seconds(5)), "late");
  EXPECT_EQ(queue_.Waited("late"), seconds(3)) << "counted from when it was due";
  const WorkQueue::Stats stats = queue_.StatsAt(kStart + seconds(7));
  EXPECT_EQ(stats.in_progress, 2U);
  EXPECT_EQ(stats.unfinished, seconds(6 + 2));
  EXPECT_EQ(stats.longest_held, seconds(6));
}

TEST_F(WorkQueueTest, WorkerThatEndsSaysWhenItsKeyIsDueAgainAndWhetherItFailed) {
  queue_.Add("a", kStart);
  ASSERT_EQ(queue_.Get(kStart), "a");
  queue_.Done("a", kStart, {.again_after = seconds(3), .failed = true});
  EXPECT_EQ(queue_.NextDue(), kStart + seconds(3));
  EXPECT_EQ(queue_.StatsAt(kStart).retries, 1U);
  ASSERT_EQ(queue_.Get(kStart + seconds(3)), "a");
  queue_.Done("a", kStart + seconds(3), {});
  EXPECT_EQ(queue_.NextDue(), std::nullopt);
}

TEST_F(WorkQueueTest, StatsCountFailuresAsRetriesAndDelaysNot) {
  queue_.AddAt("a", kStart + seconds(1), kStart);
  EXPECT_EQ(queue_.StatsAt(kStart).retries, 0U);
  queue_.AddAfterFailure("b", kStart);
  EXPECT_EQ(queue_.StatsAt(kStart).retries, 1U);
}

}  // namespace
}  // namespace kube
