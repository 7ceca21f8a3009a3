#include "pkg/command_line/signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "pkg/command_line/exit.h"
#include "pkg/kube/testing/fakes.h"

namespace command_line {
namespace {

class SignalsTest : public testing::Test {
 protected:
  SignalsTest() { pthread_sigmask(SIG_BLOCK, nullptr, &before_); }
  ~SignalsTest() override { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  std::jthread Handle(Repeated repeated = Repeated::kEndsAtOnce) {
    return HandleSignals({.ends = {SIGTERM, SIGINT},
                          .end = [this] { Count(ended_); },
                          .wakes = {SIGUSR1},
                          .wake = [this] { Count(woken_); },
                          .dump = [this] { Count(dumped_); },
                          .repeated = repeated},
                         logger_);
  }
  static void Count(std::atomic<int>& count) {
    ++count;
    count.notify_all();
  }
  static bool IsPending(int signal) {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, signal) == 1;
  }

  kube::NoLog logger_;
  std::atomic<int> ended_ = 0;
  std::atomic<int> woken_ = 0;
  std::atomic<int> dumped_ = 0;

 private:
  sigset_t before_ = {};
};
using SignalsDeathTest = SignalsTest;

TEST_F(SignalsTest, ProcessThatIsAskedToEndIsToldAndGoesOn) {
  const std::jthread handler = Handle();
  kill(getpid(), SIGINT);
  ended_.wait(0);
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(woken_, 0);
}

TEST_F(SignalsTest, ProcessIsWokenAsOftenAsItIsAskedTo) {
  const std::jthread handler = Handle();
  kill(getpid(), SIGUSR1);
  woken_.wait(0);
  kill(getpid(), SIGUSR1);
  woken_.wait(1);
  EXPECT_EQ(ended_, 0);
}

TEST_F(SignalsTest, SIGUSR2AsksForADumpAndEndsNothing) {
  const std::jthread handler = Handle();
  kill(getpid(), SIGUSR2);
  dumped_.wait(0);
  EXPECT_EQ(ended_, 0);
  EXPECT_EQ(woken_, 0);
}

TEST_F(SignalsTest, REV3_N21_RepeatedSignalMayBeIgnored) {
  const std::jthread handler = Handle(Repeated::kIsIgnored);
  kill(getpid(), SIGTERM);
  ended_.wait(0);
  kill(getpid(), SIGTERM);
  kill(getpid(), SIGINT);
  kill(getpid(), SIGUSR1);  // Heard after these, or with one that is still pending.
  woken_.wait(0);
  // Without the handler, one that is still pending would end the process.
  while (IsPending(SIGTERM)) std::this_thread::yield();
  EXPECT_EQ(ended_, 1);
}

TEST_F(SignalsTest, HandlerThatIsGivenUpEndsAndTellsNobody) {
  {
    const std::jthread handler = Handle();
  }
  EXPECT_EQ(ended_, 0);
}

TEST_F(SignalsDeathTest, SecondSignalEndsTheProcessAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const std::jthread handler = Handle();
        kill(getpid(), SIGTERM);
        ended_.wait(0);
        kill(getpid(), SIGTERM);
        while (true) pause();
      },
      testing::ExitedWithCode(kFailed), "");
}

}  // namespace
}  // namespace command_line
