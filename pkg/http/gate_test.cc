#include "pkg/http/gate.h"

#include <gtest/gtest.h>

#include "pkg/base/testing/manual_clock.h"

namespace http {
namespace {

using std::chrono::milliseconds;

Request With(Method method) { return {.method = method, .path = "/x"}; }

constexpr Method kWrites[] = {Method::kPost, Method::kPut, Method::kPatch, Method::kDelete};

TEST(Gate, M4_AsksWithEachRequestWhetherItMayWrite) {
  base::ManualClock clock;
  bool leads = true;
  const Gate gate([&] { return leads; }, clock);
  for (const Method method : kWrites) {
    leads = true;
    EXPECT_TRUE(gate.Admit(With(method))) << ToString(method);
    leads = false;
    const auto refused = gate.Admit(With(method));
    ASSERT_FALSE(refused) << ToString(method);
    EXPECT_EQ(refused.error().code, base::ErrorCode::kUnavailable);
  }
}

TEST(Gate, M4_WhoDoesNotLeadMayRead) {
  base::ManualClock clock;
  const Gate gate([] { return false; }, clock);
  EXPECT_TRUE(gate.Admit(With(Method::kGet)));
}

TEST(Gate, M4_NothingBeginsOnceItIsClosed) {
  base::ManualClock clock;
  Gate gate([] { return true; }, clock);
  gate.Close(milliseconds(100));
  EXPECT_FALSE(gate.Admit(With(Method::kGet)));
  EXPECT_FALSE(gate.Admit(With(Method::kPatch)));
}

TEST(Gate, M4_WhatIsInFlightIsGivenUpOnceItsTimeIsOver) {
  base::ManualClock clock;
  Gate gate([] { return true; }, clock);
  clock.Advance(std::chrono::hours(24));
  EXPECT_FALSE(gate.MustGiveUp()) << "it is open";
  gate.Close(milliseconds(100));
  clock.Advance(milliseconds(99));
  EXPECT_FALSE(gate.MustGiveUp());
  clock.Advance(milliseconds(1));
  EXPECT_TRUE(gate.MustGiveUp());
}

}  // namespace
}  // namespace http
