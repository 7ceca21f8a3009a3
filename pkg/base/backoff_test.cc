#include "pkg/base/backoff.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace base {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr BackoffPolicy kPolicy = {.first = milliseconds(100), .most = milliseconds(450)};

class FixedRandom final : public Random {
 public:
  explicit FixedRandom(std::uint64_t number) : number_(number) {}
  std::uint64_t Next() override { return number_; }

 private:
  const std::uint64_t number_;
};

TEST(Backoff, DoublesFromTheFirstToTheMost_AndBeginsAgainAfterASuccess) {
  Backoff backoff;
  EXPECT_EQ(backoff.delay(), nanoseconds(0));
  for (const int expected : {100, 200, 400, 450, 450}) {
    EXPECT_EQ(backoff.Next(kPolicy), milliseconds(expected));
  }
  EXPECT_EQ(backoff.delay(), milliseconds(450));
  backoff.Reset();
  EXPECT_EQ(backoff.delay(), nanoseconds(0));
  EXPECT_EQ(backoff.Next(kPolicy), milliseconds(100));
}

TEST(Backoff, DoesNotOverflow_WhateverTheNumberOfFailures) {
  const BackoffPolicy rarely = {.first = milliseconds(1), .most = std::chrono::hours(24 * 365)};
  Backoff backoff;
  for (int i = 0; i < 1000; ++i) EXPECT_GT(backoff.Next(rarely), nanoseconds(0));
  EXPECT_EQ(backoff.Next(rarely), rarely.most);
}

TEST(Backoff, JitterAddsUpToItsShare_OfWhatAServerAskedFor) {
  BackoffPolicy policy = kPolicy;
  policy.jitter = 0.5;
  FixedRandom low(0);
  FixedRandom high(~std::uint64_t{0});
  EXPECT_EQ(Backoff().Next(policy, low), milliseconds(100));
  const nanoseconds most = Backoff().Next(policy, high);
  EXPECT_GT(most, milliseconds(149));
  EXPECT_LE(most, milliseconds(150));
  EXPECT_EQ(Backoff().Next(policy, low, std::chrono::seconds(3)), std::chrono::seconds(3));
}

TEST(Backoff, FollowsAPolicyThatChanges) {
  Backoff backoff;
  for (int i = 0; i < 10; ++i) static_cast<void>(backoff.Next(kPolicy));
  const BackoffPolicy rarely = {.first = milliseconds(100), .most = std::chrono::seconds(60)};
  EXPECT_EQ(backoff.Next(rarely), milliseconds(900));
}

}  // namespace
}  // namespace base
