#include "pkg/http/in_flight.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace http {
namespace {

using Sender = InFlight::Sender;

// How many more it takes, one after the other, as one does that has many requests.
int TakeAll(Slots& slots, int held) {
  int taken = 0;
  while (slots.TryTake(held + taken)) ++taken;
  return taken;
}

TEST(Slots, SenderThatIsAlone_LeavesWhatIsKeptBack) {
  Slots slots(16, 4);
  slots.Join();
  EXPECT_EQ(TakeAll(slots, 0), 12);
}

TEST(Slots, SecondSender_HasSlotsAtOnce_AndItsShareAsRepliesCome) {
  Slots slots(16, 4);
  slots.Join();
  int first = TakeAll(slots, 0);
  slots.Join();
  int second = TakeAll(slots, 0);
  EXPECT_EQ(second, 4);
  for (int replies = 0; replies < 100; ++replies) {  // Each replaces what was answered, if it may.
    slots.GiveBack();
    first += TakeAll(slots, first - 1) - 1;
    slots.GiveBack();
    second += TakeAll(slots, second - 1) - 1;
  }
  EXPECT_EQ(first, 8);
  EXPECT_EQ(second, 8);
}

TEST(Slots, ManySenders_HaveOneEachAtLeast) {
  Slots slots(4, 1);
  for (int i = 0; i < 8; ++i) slots.Join();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(slots.TryTake(0)) << i;
  EXPECT_FALSE(slots.TryTake(0));
}

TEST(Slots, SenderThatNeedsMore_TakesWhatOthersLeave) {
  Slots slots(16, 4);
  for (int i = 0; i < 8; ++i) slots.Join();
  EXPECT_TRUE(slots.TryTake(0));
  EXPECT_EQ(TakeAll(slots, 0), 11);
}

TEST(Slots, OfSendersThatWait_TheFirstToComeIsTheFirstToHaveOne) {
  Slots slots(1);
  ASSERT_TRUE(slots.TryTake(0));
  const auto first = slots.StartWait();
  const auto second = slots.StartWait();
  slots.GiveBack();
  EXPECT_FALSE(slots.TakeWaiting(second));
  EXPECT_TRUE(slots.TakeWaiting(first));
  EXPECT_FALSE(slots.TakeWaiting(second)) << "none is free";
  slots.GiveBack();
  EXPECT_TRUE(slots.TakeWaiting(second));
}

TEST(InFlight, NoMoreThanTheMostAreTaken) {
  InFlight slots(2);
  EXPECT_EQ(slots.most(), 2);
  Sender sender(slots);
  EXPECT_TRUE(sender.TryTake());
  EXPECT_TRUE(sender.TryTake());
  EXPECT_FALSE(sender.TryTake());
  sender.GiveBack();
  EXPECT_TRUE(sender.TryTake());
}

TEST(InFlight, WhoWaitsComesBeforeWhoWantsOneMore) {
  InFlight slots(1);
  Sender sender(slots);
  ASSERT_TRUE(sender.TryTake());
  std::jthread waiter([&] { Sender(slots).Take(); });
  while (slots.waiting() == 0) std::this_thread::yield();
  sender.GiveBack();
  const bool pushed_in = sender.TryTake();
  if (pushed_in) sender.GiveBack();  // Or it would wait for ever.
  EXPECT_FALSE(pushed_in);
}

TEST(InFlight, AllWhoWaitHaveOneInTheEnd) {
  constexpr int kWaiters = 16;
  InFlight slots(2);
  Sender sender(slots);
  ASSERT_TRUE(sender.TryTake());
  ASSERT_TRUE(sender.TryTake());
  std::atomic<int> taken = 0;
  std::vector<std::jthread> waiters;
  for (int i = 0; i < kWaiters; ++i) {
    waiters.emplace_back([&] {
      Sender one(slots);
      one.Take();
      ++taken;
      while (taken < 2) std::this_thread::yield();  // There are two, so another has one as well.
      one.GiveBack();
    });
  }
  while (slots.waiting() < kWaiters) std::this_thread::yield();
  sender.GiveBack();
  sender.GiveBack();
  waiters.clear();
  EXPECT_EQ(slots.waiting(), 0);
}

TEST(InFlight, SenderThatHasEnded_HasNoShare) {
  InFlight slots(6);
  {
    const Sender ended(slots);
  }
  Sender sender(slots);
  int taken = 0;
  while (sender.TryTake()) ++taken;
  EXPECT_EQ(taken, 6);
}

}  // namespace
}  // namespace http
