#include "pkg/http/transport_pool.h"

#include <gtest/gtest.h>

#include <barrier>
#include <set>
#include <thread>

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
  TransportPool pool([&] { return std::make_unique<Numbered>(made++, together); });
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
  TransportPool pool([&] { return std::make_unique<Numbered>(made++, alone); });
  for (int i = 0; i < 4; ++i) std::jthread([&] { EXPECT_EQ(pool.Send({})->status, 0); }).join();
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace http
