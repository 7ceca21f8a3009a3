#include "pkg/kube/runtime/event_loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "pkg/base/system_random.h"
#include "pkg/base/testing/manual_clock.h"
#include "pkg/base/testing/wait_until.h"
#include "pkg/kube/testing/fakes.h"

namespace kube {
namespace {

using std::chrono::seconds;
using Reply = base::Result<http::Response>;

// Accepts everything; or holds every request until it is let go.
class CountingTransport final : public http::Transport {
 public:
  std::vector<Reply> SendAll(const std::vector<http::Request>& requests) override {
    ++sent;
    if (held) is_let_go.wait();
    std::vector<Reply> replies;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      replies.emplace_back(http::Response{.status = 201, .body = "{}"});
    }
    return replies;
  }
  bool HasSent(int count) const {
    return base::WaitUntil([&] { return sent >= count; });
  }

  std::atomic<int> sent = 0;
  std::atomic<bool> held = false;
  std::latch is_let_go{1};
};

Event EventOf(const std::string& name) {
  return {.reason = "Ready", .regarding = {.key = {.ns = "ns", .name = name}, .uid = name}};
}

class EventLoopTest : public ::testing::Test {
 protected:
  std::jthread Start() {
    return std::jthread([this](const std::stop_token& stop) { loop_.Run(stop, transport_); });
  }

  // Goes on by 10 ms with each look at it, however slow the machine is.
  base::ManualClock clock_{{}, std::chrono::milliseconds(10)};
  base::SystemRandom random_;
  NoLog logger_;
  CountingTransport transport_;
  EventLoop loop_{"example.com/controller", "controller-0", clock_, random_, logger_};
};

// With nothing to do it would wait for an hour.
TEST_F(EventLoopTest, EventWakesTheLoop) {
  const std::jthread thread = Start();
  loop_.Record({EventOf("a")});
  EXPECT_TRUE(transport_.HasSent(1));
  loop_.Record({EventOf("b")});
  EXPECT_TRUE(transport_.HasSent(2));
}

TEST_F(EventLoopTest, RecordDoesNotWaitForARequestAndKeepsAThousandMeanwhile) {
  transport_.held = true;
  const std::jthread thread = Start();
  loop_.Record({EventOf("first")});
  ASSERT_TRUE(transport_.HasSent(1));
  for (int i = 0; i < 1'200; ++i) loop_.Record({EventOf(std::to_string(i))});
  EXPECT_EQ(loop_.counts().dropped, 200U);
  transport_.held = false;
  transport_.is_let_go.count_down();
}

TEST_F(EventLoopTest, WhatIsLeftIsToldBeforeTheEnd) {
  std::jthread thread = Start();
  for (int i = 0; i < 5; ++i) loop_.Record({EventOf(std::to_string(i))});
  thread.request_stop();
  thread.join();
  EXPECT_EQ(transport_.sent, 5);
  EXPECT_EQ(loop_.counts().sent, 5U);
}

TEST_F(EventLoopTest, EndComesInTimeWithMoreThanCanBeTold) {
  for (int i = 0; i < 500; ++i) loop_.Record({EventOf(std::to_string(i))});
  transport_.held = true;  // So it looks at no clock until it is told to stop.
  std::jthread thread = Start();
  ASSERT_TRUE(transport_.HasSent(1));
  const auto begin = clock_.Now();
  thread.request_stop();
  transport_.held = false;
  transport_.is_let_go.count_down();
  thread.join();
  EXPECT_GT(transport_.sent, 1);
  EXPECT_LT(transport_.sent, 500);
  EXPECT_LT(clock_.Now() - begin, seconds(3)) << "it has two, and what it was at";
}

TEST_F(EventLoopTest, EndDoesNotWaitWithNothingToTell) {
  for (int i = 0; i < 20; ++i) {
    EventLoop loop("example.com/controller", "controller-0", clock_, random_, logger_);
    std::jthread thread([&](const std::stop_token& stop) { loop.Run(stop, transport_); });
    const auto begin = clock_.Now();
    thread.request_stop();
    thread.join();
    EXPECT_LT(clock_.Now() - begin, seconds(1)) << "it waited for its two seconds to pass";
  }
}

}  // namespace
}  // namespace kube
