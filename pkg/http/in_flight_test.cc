#include "pkg/http/in_flight.h"

#include <gtest/gtest.h>

#include <thread>

namespace http {
namespace {

TEST(InFlight, NoMoreThanTheMostAreTaken) {
  InFlight slots(2);
  EXPECT_EQ(slots.most(), 2);
  EXPECT_TRUE(slots.TryTake());
  EXPECT_TRUE(slots.TryTake());
  EXPECT_FALSE(slots.TryTake());
  slots.GiveBack();
  EXPECT_TRUE(slots.TryTake());
}

TEST(InFlight, WhoWaitsComesBeforeWhoWantsOneMore) {
  InFlight slots(1);
  ASSERT_TRUE(slots.TryTake());
  std::jthread waiter([&] { slots.Take(); });
  while (slots.waiting() == 0) std::this_thread::yield();
  slots.GiveBack();
  const bool pushed_in = slots.TryTake();
  if (pushed_in) slots.GiveBack();  // Or it would wait for ever.
  EXPECT_FALSE(pushed_in);
}

}  // namespace
}  // namespace http
