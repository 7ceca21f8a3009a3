#include "pkg/http/transport_pool.h"

#include <gtest/gtest.h>

#include <barrier>
#include <set>
#include <thread>

#include "pkg/base/testing/manual_clock.h"

namespace http {
namespace {

// Which transport answered is the reply's status. Each waits until `together` have begun.
class Numbered final : public Transport {
 public:
  Numbered(int number, std::barrier<>& together) : number_(number), together_(together) {}
  std::vector<base::Result<Response>> SendAll(const std::vector<Request>& requests) override {
    together_.arrive_and_wait();
    return std::vector<base::Result<Response>>(requests.size(), Response{.status = number_});
  }

 private:
  const int number_;
  std::barrier<>& together_;
};

TEST(TransportPool, ThreadsThatSendAtOneTimeHaveATransportEach) {
  constexpr int kThreads = 4;
  std::barrier<> together(kThreads);
  int made = 0;
  const base::ManualClock clock;
  TransportPool pool([&] { return std::make_unique<Numbered>(made++, together); }, kThreads, clock);
  std::vector<int> used(kThreads, -1);
  {
    std::vector<std::jthread> threads;
    for (int& number : used) threads.emplace_back([&] { number = pool.Send({})->status; });
  }
  EXPECT_EQ(std::set(used.begin(), used.end()), (std::set{0, 1, 2, 3}));
}

TEST(TransportPool, ThreadsThatSendOneAfterAnotherShareOne) {
  std::barrier<> alone(1);
  int made = 0;
  const base::ManualClock clock;
  TransportPool pool([&] { return std::make_unique<Numbered>(made++, alone); }, 4, clock);
  for (int i = 0; i < 4; ++i) std::jthread([&] { EXPECT_EQ(pool.Send({})->status, 0); }).join();
  EXPECT_EQ(made, 1);
}

TEST(TransportPool, MoreThreadsThanTransportsWaitForOne) {
  constexpr int kThreads = 8;
  std::barrier<> together(2);
  int made = 0;
  const base::ManualClock clock;
  TransportPool pool([&] { return std::make_unique<Numbered>(made++, together); }, 2, clock);
  std::vector<int> used(kThreads, -1);
  {
    std::vector<std::jthread> threads;
    for (int& number : used) threads.emplace_back([&] { number = pool.Send({})->status; });
  }
  EXPECT_EQ(made, 2);
  EXPECT_EQ(std::set(used.begin(), used.end()), (std::set{0, 1}));
}

// Is counted while it exists.
class Counted final : public Transport {
 public:
  Counted(int& count, std::function<void()> on_send) : count_(++count), on_send_(on_send) {}
  ~Counted() override { --count_; }
  std::vector<base::Result<Response>> SendAll(const std::vector<Request>& requests) override {
    on_send_();
    return std::vector<base::Result<Response>>(requests.size(), Response{.status = 200});
  }

 private:
  int& count_;
  const std::function<void()> on_send_;
};

TEST(TransportPool, TransportThatNobodyUsesIsClosed) {
  std::barrier<> together(2);
  bool at_one_time = true;
  int open = 0;
  base::ManualClock clock;
  TransportPool pool(
      [&] {
        return std::make_unique<Counted>(open, [&] {
          if (at_one_time) together.arrive_and_wait();
        });
      },
      4, clock);
  const auto send = [&] { EXPECT_EQ(pool.Send({})->status, 200); };
  {
    const std::jthread one(send);
    send();
  }
  at_one_time = false;
  clock.Advance(TransportPool::kIdleMax - std::chrono::seconds(1));
  pool.CloseIdle();
  EXPECT_EQ(open, 2);
  send();
  clock.Advance(std::chrono::seconds(1));
  pool.CloseIdle();
  EXPECT_EQ(open, 1) << "one was used a second ago";
  clock.Advance(TransportPool::kIdleMax);
  pool.CloseIdle();
  EXPECT_EQ(open, 0);
  send();
  EXPECT_EQ(open, 1);
}

}  // namespace
}  // namespace http
