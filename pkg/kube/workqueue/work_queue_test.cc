#include "pkg/kube/workqueue/work_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Key = std::optional<std::string>;
using TimePoint = WorkQueue::TimePoint;

constexpr TimePoint kStart{std::chrono::hours(1)};
constexpr auto kNormal = WorkQueue::Priority::kNormal;
constexpr auto kLow = WorkQueue::Priority::kLow;

// No key is ready, delayed or held.
bool IsIdle(const WorkQueue& queue) {
  return queue.depth() + queue.StatsAt(kStart).in_progress == 0 && !queue.NextDue();
}

class WorkQueueTest : public testing::Test {
 protected:
  WorkQueue queue_;
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

TEST_F(WorkQueueTest, KeyThatFailsWhileItChangesIsHandedOutAtOnce) {
  queue_.Add("a", kStart);
  EXPECT_EQ(queue_.Get(kStart), "a");
  queue_.Add("a", kStart);
  queue_.Done("a", kStart, {.again_after = seconds(30), .priority = kLow, .failed = true});
  EXPECT_EQ(queue_.Get(kStart), "a");
  queue_.Done("a", kStart);
  EXPECT_TRUE(IsIdle(queue_));
}

TEST_F(WorkQueueTest, WQ3_ChangeEndsTheWaitAfterAFailure) {
  queue_.Add("a", kStart);
  EXPECT_EQ(queue_.Get(kStart), "a");
  queue_.Done("a", kStart, {.again_after = seconds(30), .priority = kLow, .failed = true});
  EXPECT_EQ(queue_.Get(kStart + seconds(29)), std::nullopt);
  queue_.Add("a", kStart + seconds(29));
  EXPECT_EQ(queue_.Get(kStart + seconds(29)), "a");
}

// The next keys, each of which is handed back at once.
std::string Take(WorkQueue& queue, int count) {
  std::string keys;
  for (int i = 0; i < count; ++i) {
    const Key key = queue.Get(kStart);
    if (!key) break;
    keys += *key + " ";
    queue.Done(*key, kStart);
  }
  return keys;
}

TEST_F(WorkQueueTest, Priority_LowKeysComeAfterNormalOnes) {
  queue_.Add("low", kStart, {.priority = kLow});
  queue_.Add("normal", kStart);
  EXPECT_EQ(Take(queue_, 2), "normal low ");
}

TEST_F(WorkQueueTest, Priority_EveryFourthKeyIsLow_WhileBothWait) {
  for (int i = 0; i < 3; ++i) queue_.Add("low" + std::to_string(i), kStart, {.priority = kLow});
  for (int i = 0; i < 7; ++i) queue_.Add("n" + std::to_string(i), kStart);
  EXPECT_EQ(Take(queue_, 10), "n0 n1 n2 low0 n3 n4 n5 low1 n6 low2 ");
}

TEST_F(WorkQueueTest, Priority_TheHigherOneCounts) {
  queue_.Add("other", kStart, {.priority = kLow});
  queue_.Add("raised", kStart, {.priority = kLow});
  queue_.Add("raised", kStart);
  queue_.Add("raised", kStart, {.priority = kLow});
  queue_.AddAt("due", kStart + seconds(1), kStart, {.priority = kLow});
  queue_.AddAt("due", kStart + seconds(2), kStart);
  EXPECT_EQ(queue_.depth(), 2U);
  EXPECT_EQ(queue_.Get(kStart + seconds(1)), "raised");
  EXPECT_EQ(queue_.Get(kStart + seconds(1)), "due");
  EXPECT_EQ(queue_.Get(kStart + seconds(1)), "other");
}

TEST_F(WorkQueueTest, Priority_IsForgottenOnceTheKeyIsHandedOut) {
  queue_.Add("a", kStart);
  ASSERT_EQ(queue_.Get(kStart), "a");
  queue_.Done("a", kStart, {.again_after = seconds(1), .priority = kLow});
  queue_.Add("b", kStart + seconds(1));
  EXPECT_EQ(queue_.Get(kStart + seconds(1)), "b");
}

TEST_F(WorkQueueTest, Flow_TakesTurnsWithTheOthers_HoweverManyKeysItHas) {
  for (int i = 0; i < 4; ++i) queue_.Add("a" + std::to_string(i), kStart, {.flow = "a"});
  queue_.Add("b0", kStart, {.flow = "b"});
  queue_.Add("b1", kStart, {.flow = "b"});
  queue_.Add("c0", kStart, {.flow = "c"});
  EXPECT_EQ(Take(queue_, 7), "a0 b0 c0 a1 b1 a2 a3 ");
}

TEST_F(WorkQueueTest, Flow_GoesFirst_IfItWasServedLeastRecently) {
  for (const char* flow : {"a", "b", "c"}) queue_.Add(flow, kStart, {.flow = flow});
  EXPECT_EQ(Take(queue_, 3), "a b c ");
  for (const char* flow : {"c", "b", "a"}) queue_.Add(flow, kStart, {.flow = flow});
  EXPECT_EQ(Take(queue_, 3), "a b c ");
  queue_.Add("a", kStart, {.flow = "a"});
  queue_.Add("new", kStart, {.flow = "new"});
  EXPECT_EQ(Take(queue_, 2), "new a ");
}

TEST_F(WorkQueueTest, Flow_ThatServedALowKey_HasHadItsTurn) {
  queue_.Add("low", kStart, {.flow = "a", .priority = kLow});
  EXPECT_EQ(Take(queue_, 1), "low ");
  queue_.Add("a", kStart, {.flow = "a"});
  queue_.Add("b", kStart, {.flow = "b"});
  EXPECT_EQ(Take(queue_, 2), "b a ");
}

TEST_F(WorkQueueTest, Flow_OfAKeyStaysKnown_WhileTheKeyIsKnown) {
  queue_.Add("a0", kStart, {.flow = "a"});
  ASSERT_EQ(queue_.Get(kStart), "a0");
  queue_.Add("a1", kStart, {.flow = "a"});
  queue_.Add("b", kStart, {.flow = "b"});
  queue_.Add("a0", kStart);  // Its object has just been deleted.
  queue_.Done("a0", kStart);
  EXPECT_EQ(Take(queue_, 3), "b a1 a0 ");
}

TEST_F(WorkQueueTest, Flow_HoldsNoMoreWorkersThanItsShare) {
  WorkQueue queue(2);
  for (const char* key : {"a0", "a1", "a2"}) queue.Add(key, kStart, {.flow = "a"});
  EXPECT_EQ(queue.Get(kStart), "a0");
  EXPECT_EQ(queue.Get(kStart), "a1");
  EXPECT_EQ(queue.Get(kStart), std::nullopt);
  queue.Add("b", kStart, {.flow = "b", .priority = kLow});
  EXPECT_EQ(queue.Get(kStart), "b");
  queue.Done("a0", kStart);
  EXPECT_EQ(queue.Get(kStart), "a2");
}

TEST_F(WorkQueueTest, Flow_IsForgotten_OnlyWhenAThousandOthersWereServedSince) {
  queue_.Add("first", kStart, {.flow = "first"});
  queue_.Add("second", kStart, {.flow = "second"});
  for (int i = 0; i < 999; ++i) queue_.Add(std::to_string(i), kStart, {.flow = std::to_string(i)});
  (void)Take(queue_, 1001);
  queue_.Add("second", kStart, {.flow = "second"});
  queue_.Add("first", kStart, {.flow = "first"});
  queue_.Add("new", kStart, {.flow = "new"});
  EXPECT_EQ(Take(queue_, 3), "first new second ");
}

TEST_F(WorkQueueTest, Rest_KeyIsNotHandedOutBeforeItEnds) {
  queue_.Add("a", kStart);
  ASSERT_EQ(queue_.Get(kStart), "a");
  queue_.Add("a", kStart);
  queue_.Done("a", kStart, {.rest = milliseconds(50)});
  queue_.Add("a", kStart + milliseconds(10));
  EXPECT_EQ(queue_.NextDue(), kStart + milliseconds(50));
  EXPECT_EQ(queue_.Get(kStart + milliseconds(49)), std::nullopt);
  EXPECT_EQ(queue_.Get(kStart + milliseconds(50)), "a");
  queue_.Done("a", kStart + milliseconds(50));
  EXPECT_TRUE(IsIdle(queue_));
  EXPECT_EQ(queue_.Get(kStart + seconds(1)), std::nullopt);
}

TEST_F(WorkQueueTest, Rest_PutsOffWhatIsDueEarlierAndNothingElse) {
  for (const char* key : {"early", "late", "never"}) {
    queue_.Add(key, kStart);
    ASSERT_EQ(queue_.Get(kStart), key);
  }
  const milliseconds rest(50);
  queue_.Done("early", kStart, {.again_after = milliseconds(5), .rest = rest});
  queue_.Done("late", kStart, {.again_after = milliseconds(60), .rest = rest});
  queue_.Done("never", kStart, {.rest = rest});
  EXPECT_EQ(queue_.Get(kStart + milliseconds(49)), std::nullopt);
  EXPECT_EQ(queue_.Get(kStart + milliseconds(50)), "early");
  EXPECT_EQ(queue_.Get(kStart + milliseconds(59)), std::nullopt);
  EXPECT_EQ(queue_.Get(kStart + milliseconds(60)), "late");
  EXPECT_EQ(queue_.Get(kStart + seconds(1)), std::nullopt);
}

TEST_F(WorkQueueTest, Rest_ThatIsOverDelaysNothing) {
  queue_.Add("a", kStart);
  ASSERT_EQ(queue_.Get(kStart), "a");
  queue_.Done("a", kStart, {.rest = milliseconds(50)});
  EXPECT_EQ(queue_.NextDue(), std::nullopt) << "nothing is to be handed out then";
  queue_.Add("a", kStart + milliseconds(50));
  EXPECT_EQ(queue_.Get(kStart + milliseconds(50)), "a");
}

TEST(WorkQueueDeathTest, DoneOfAKeyThatNobodyHoldsIsABug) {
  WorkQueue queue;
  EXPECT_DEATH(queue.Done("a", kStart), "CHECK");
}

// A plain statement of the same promises: for each key, when it is wanted next, whether it is held,
// and until when it rests.
struct Model {
  std::map<std::string, TimePoint> wanted = {};
  std::set<std::string> held = {};
  std::map<std::string, TimePoint> rests = {};

  bool MayGo(const std::string& key, TimePoint now) const {
    const auto it = rests.find(key);
    return !held.contains(key) && (it == rests.end() || it->second <= now);
  }

  void Want(const std::string& key, TimePoint when) {
    const auto [it, is_new] = wanted.emplace(key, when);
    if (!is_new) it->second = std::min(it->second, when);
  }
};

TEST(WorkQueueModel, EveryKeyIsHandedOutOnceByTheTimeItIsWantedAndNeverTwiceAtOnce) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    WorkQueue queue;
    Model model;
    TimePoint now = kStart;
    for (int step = 0; step < 400; ++step) {
      const std::string key(1, static_cast<char>('a' + random() % 5));
      const WorkQueue::AddOptions options = {.flow = std::string(1, "xyz"[random() % 3]),
                                             .priority = random() % 2 == 0 ? kLow : kNormal};
      switch (random() % 5) {
        case 0:
          queue.Add(key, now, options);
          model.Want(key, now);
          break;
        case 1: {
          const TimePoint when = now + milliseconds(random() % 100);
          queue.AddAt(key, when, now, options);
          model.Want(key, when);
          break;
        }
        case 2:
          if (model.held.erase(key) == 0) break;
          model.rests[key] = now + milliseconds(random() % 30);
          queue.Done(key, now, {.rest = model.rests[key] - now});
          break;
        case 3:
          now += milliseconds(random() % 40);
          break;
        default: {
          const Key got = queue.Get(now);
          const bool any = std::ranges::any_of(model.wanted, [&](const auto& wanted) {
            return wanted.second <= now && model.MayGo(wanted.first, now);
          });
          ASSERT_EQ(got.has_value(), any);
          if (!got) break;
          ASSERT_LE(model.wanted.at(*got), now);
          ASSERT_TRUE(model.MayGo(*got, now)) << *got;
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

}  // namespace
}  // namespace kube
