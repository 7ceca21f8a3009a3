#include "pkg/kube/runtime/blocking_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "pkg/base/mutex.h"
#include "pkg/base/testing/manual_clock.h"
#include "pkg/base/testing/wait_until.h"

namespace kube {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

class BlockingQueueTest : public ::testing::Test {
 protected:
  std::optional<std::string> Get() { return queue_.Get({}); }
  // No key is ready or held.
  bool Idle() const {
    const WorkQueue::Stats stats = queue_.Stats();
    return stats.depth + stats.in_progress == 0;
  }

  base::ManualClock clock_{{}, milliseconds(1)};  // A wait goes on by looks.
  BlockingQueue queue_{clock_};
};

TEST_F(BlockingQueueTest, KeyThatIsThereIsHandedOutOnceAndAgainIfItChangedMeanwhile) {
  queue_.Add("a");
  queue_.Add("a");
  EXPECT_EQ(queue_.Stats().depth, 1U);
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(queue_.Stats().in_progress, 1U);
  queue_.Add("a");
  EXPECT_EQ(queue_.Stats().depth, 0U);
  queue_.Done("a");
  EXPECT_EQ(Get(), "a");
  queue_.Done("a");
  EXPECT_TRUE(Idle());
}

TEST_F(BlockingQueueTest, WaitingThreadGetsAKeyThatIsAddedLater) {
  std::latch has_begun(1);
  std::jthread worker([&] {
    has_begun.count_down();
    EXPECT_EQ(Get(), "a");
  });
  has_begun.wait();
  queue_.Add("a");
}

TEST_F(BlockingQueueTest, DelayedKeyComesInItsTimeAndAnEarlierOneShortensTheWait) {
  const auto begin = clock_.Now();
  queue_.AddAt("late", begin + hours(1));
  queue_.AddAt("soon", begin + milliseconds(30));
  EXPECT_EQ(Get(), "soon");
  EXPECT_GE(clock_.Now() - begin, milliseconds(30));
  std::jthread worker([&] { EXPECT_EQ(Get(), "now"); });
  queue_.AddAt("now", clock_.Now());
  worker.join();
}

TEST(ManyThreads, OneWaitsForTheTimeAndTheOthersForThatThread) {
  constexpr int kThreads = 8;
  base::Guarded<std::map<std::thread::id, int>> looks;
  const auto threads_with = [&](int looks_min) {
    return looks.With([&](const auto& all) {
      return std::ranges::count_if(all, [&](const auto& one) { return one.second >= looks_min; });
    });
  };
  const base::ManualClock clock([&] {
    looks.With([](auto& all) { ++all[std::this_thread::get_id()]; });
    return std::chrono::nanoseconds();
  });
  BlockingQueue queue(clock);
  queue.AddAt("late", clock.Now() + hours(1));
  std::vector<std::jthread> workers;
  for (int i = 0; i < kThreads; ++i) {
    workers.emplace_back([&] { EXPECT_EQ(queue.Get({}), std::nullopt); });
  }
  // A thread looks under the queue's lock, and looks again only to wait for a time.
  ASSERT_TRUE(base::WaitUntil([&] { return threads_with(1) == kThreads + 1; }));
  EXPECT_EQ(queue.Stats().in_progress, 0U);
  EXPECT_EQ(threads_with(2), 2);  // This thread and one more.
  queue.ShutDown();
}

TEST_F(BlockingQueueTest, StopEndsTheWaitOfItsOwnThreadOnly) {
  std::stop_source stop;
  std::jthread stopped([&] { EXPECT_EQ(queue_.Get(stop.get_token()), std::nullopt); });
  std::jthread other([&] { EXPECT_EQ(Get(), "a"); });
  stop.request_stop();
  stopped.join();
  queue_.Add("a");
  other.join();
  EXPECT_EQ(queue_.Get(stop.get_token()), std::nullopt);
}

TEST_F(BlockingQueueTest, ShutDownEndsEveryWaitAndLeavesKeysWhereTheyAre) {
  queue_.Add("held");
  ASSERT_EQ(Get(), "held");
  std::vector<std::jthread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([&] { EXPECT_EQ(Get(), std::nullopt); });
  }
  queue_.ShutDown();
  workers.clear();
  queue_.Add("late");
  EXPECT_EQ(Get(), std::nullopt);
  queue_.Done("held");
  EXPECT_TRUE(Idle());
}

TEST_F(BlockingQueueTest, KeysThatFallDueTogetherAreHandedToAsManyThreads) {
  constexpr int kThreads = 4;
  std::latch all_hold_one(kThreads);  // Passed only if nobody waits for another to finish.
  std::vector<std::jthread> workers;
  for (int i = 0; i < kThreads; ++i) {
    workers.emplace_back([&] {
      const std::optional<std::string> key = Get();
      ASSERT_TRUE(key);
      all_hold_one.arrive_and_wait();
      queue_.Done(*key);
    });
  }
  const auto due = clock_.Now() + milliseconds(20);
  for (int i = 0; i < kThreads; ++i) queue_.AddAt(std::to_string(i), due);
  workers.clear();
  EXPECT_TRUE(Idle());
}

TEST_F(BlockingQueueTest, NoKeyIsLostOrHeldTwiceAmongManyThreads) {
  constexpr int kKeys = 20;
  constexpr int kAdds = 2'000;
  std::array<std::atomic<int>, kKeys> holders = {};
  std::array<std::atomic<int>, kKeys> seen = {};  // The version a worker saw last.
  std::array<std::atomic<int>, kKeys> versions = {};
  std::vector<std::jthread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&] {
      while (const std::optional<std::string> key = Get()) {
        const auto index = static_cast<std::size_t>(std::stoi(*key));
        EXPECT_EQ(++holders[index], 1);
        seen[index] = versions[index].load();
        --holders[index];
        queue_.Done(*key);
      }
    });
  }
  for (int i = 0; i < kAdds; ++i) {
    ++versions[static_cast<std::size_t>(i % kKeys)];
    queue_.Add(std::to_string(i % kKeys));
  }
  EXPECT_TRUE(base::WaitUntil([&] { return Idle(); }));
  queue_.ShutDown();
  workers.clear();
  for (std::size_t i = 0; i < kKeys; ++i) EXPECT_EQ(seen[i], kAdds / kKeys) << i;
}

}  // namespace
}  // namespace kube
