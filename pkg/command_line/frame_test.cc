#include "pkg/command_line/frame.h"

#include <gtest/gtest.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill.
#include <unistd.h>

namespace command_line {
namespace {

TEST(Frame, SignalThatEndsRequestsStopAndWakes) {
  const CommonSettings settings;
  Frame frame("frame_test", settings);
  frame.HandleSignals({SIGTERM}, {SIGUSR1});
  EXPECT_FALSE(frame.stop().stop_requested());
  ::kill(::getpid(), SIGTERM);
  while (!frame.stop().stop_requested()) {
    static_cast<void>(frame.tasks().Wait(std::chrono::minutes(1)));
  }
}

TEST(Frame, SignalThatWakesRequestsNoStop) {
  const CommonSettings settings;
  Frame frame("frame_test", settings);
  frame.HandleSignals({SIGTERM}, {SIGUSR1});
  ::kill(::getpid(), SIGUSR1);
  static_cast<void>(frame.tasks().Wait(std::chrono::minutes(1)));
  EXPECT_FALSE(frame.stop().stop_requested());
}

TEST(Frame, ConfigurationIsReadFromTheFileOfItsFlag) {
  const CommonSettings settings = {.kubeconfig = "/nonexistent/kubeconfig"};
  const auto config = Frame("frame_test", settings).LoadConfig();
  ASSERT_FALSE(config);
  EXPECT_NE(config.error().message.find(settings.kubeconfig), std::string::npos);
}

TEST(StatusOf, ErrorIsAFailure) {
  EXPECT_EQ(StatusOf({}), 0);
  EXPECT_EQ(StatusOf(base::Fail(base::ErrorCode::kInvalid, "what is wrong")), kFailed);
}

}  // namespace
}  // namespace command_line
