#include "pkg/base/subprocess.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): pthread_sigmask.
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/base/testing/wait_until.h"

namespace base {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using How = ProgramEnd::How;

class Subprocess : public ::testing::Test {
 protected:
  Subprocess() {
    std::string name = ::testing::TempDir() + "/subprocess_XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~Subprocess() override { std::filesystem::remove_all(folder_); }

  static Program Shell(const std::string& script) {
    return {.path = "/bin/sh", .arguments = {"-c", script}, .environment = {"PATH=/usr/bin:/bin"}};
  }
  // Ends the test if it cannot be started.
  ProgramEnd Run(const std::string& script, const ProgramLimits& limits = {.time = minutes(10)}) {
    auto end = RunProgram(Shell(script), limits, clock_, {});
    EXPECT_TRUE(end) << end.error().message;
    return end ? *end : ProgramEnd();
  }
  ErrorCode CodeOf(const std::string& path) {
    const auto end = RunProgram({.path = path}, {}, clock_, {});
    EXPECT_FALSE(end);
    return end ? ErrorCode::kConflict : end.error().code;
  }
  std::string Write(const std::string& name, const std::string& content, bool is_executable) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << content;
    if (is_executable) {
      std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }
    return path;
  }
  // Whether it has been killed, of which it would never have told: `pid` is an orphan of ours.
  static bool WasKilled(pid_t pid) {
    int status = 0;
    if (WaitUntil([&] { return ::waitpid(pid, &status, WNOHANG) != 0; }))
      return WIFSIGNALED(status);
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return false;
  }
  static bool HasChildren() { return ::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

  const ManualClock clock_;
  std::string folder_;
};

TEST_F(Subprocess, WhatItSaysAndHowItEndsIsTaken) {
  const ProgramEnd end = Run("echo out; echo err >&2; exit 3");
  EXPECT_EQ(end.how, How::kExited);
  EXPECT_EQ(end.status, 3);
  EXPECT_EQ(end.output, "out\n");
  EXPECT_EQ(end.complaints, "err\n");
  const ProgramEnd killed = Run("kill -9 $$");
  EXPECT_EQ(killed.how, How::kSignalled);
  EXPECT_EQ(killed.status, SIGKILL);
  EXPECT_FALSE(HasChildren());
}

TEST_F(Subprocess, OutputThatIsClosedIsNotTakenForTheEnd) {
  EXPECT_EQ(Run("exec >&- 2>&-; sleep 0.1; exit 4").status, 4);
}

TEST_F(Subprocess, ThereIsNothingToRead) { EXPECT_EQ(Run("cat; echo end").output, "end\n"); }

TEST_F(Subprocess, ItHasTheVariablesThatAreGivenAndNoOthers) {
  const auto end = RunProgram({.path = "/usr/bin/env", .environment = {"A=1", "B=x y"}},
                              {.time = minutes(10)}, clock_, {});
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->output, "A=1\nB=x y\n");
}

TEST_F(Subprocess, CR5_DescriptorsOfOursAreNotItsOwn) {
  const int fd = ::open("/dev/null", O_RDONLY);  // NOLINT: not closed on exec, as the test wants.
  ASSERT_GT(fd, STDERR_FILENO);
  EXPECT_EQ(Run("test ! -e /proc/self/fd/" + std::to_string(fd)).status, 0);
  ::close(fd);
}

TEST_F(Subprocess, CR5_SignalsAreNeitherBlockedNorIgnored) {
  sigset_t some;
  sigset_t before;
  sigemptyset(&some);
  sigaddset(&some, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &some, &before);
  const auto handler = ::signal(SIGPIPE, SIG_IGN);
  // 32 and 33 are the C library's own, which posix_spawn leaves ignored.
  const ProgramEnd end =
      Run("exec grep -cE '^Sig(Blk:.0{16}|Ign:.0{7}(00|18)0{7})$' /proc/self/status");
  ::signal(SIGPIPE, handler);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(end.output, "2\n");
}

TEST_F(Subprocess, CR5_OneThatHangsIsKilledWithItsChildren) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // Its orphans are ours.
  const std::string pid = folder_ + "/pid";
  const std::string known = folder_ + "/known";
  // After the first look, which sets the deadline, the file lets an hour pass.
  const ManualClock clock([&, looks = 0]() mutable {
    return hours(looks++ > 0 && std::filesystem::exists(known) ? 1 : 0);
  });
  // The shell itself makes both files: another program could still be ending when all are killed.
  const auto end = RunProgram(Shell("sleep 86400 & echo $! >" + pid + "; : >" + known + "; wait"),
                              {.time = minutes(10)}, clock, {});
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->how, How::kOutOfTime);
  pid_t child = 0;
  ASSERT_TRUE(std::ifstream(pid) >> child);
  EXPECT_TRUE(WasKilled(child));
  EXPECT_FALSE(HasChildren());
}

TEST_F(Subprocess, CR5_WhoWasStartedAndForgottenIsNotWaitedForAndDoesNotStay) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const ProgramEnd end = Run("sleep 86400 & echo $!");
  EXPECT_EQ(end.how, How::kExited);
  EXPECT_TRUE(WasKilled(std::stoi(end.output)));
}

TEST_F(Subprocess, CR5_StopEndsItWhileItRuns) {
  const std::string marker = folder_ + "/runs";
  How how = How::kExited;
  std::jthread thread([&](const std::stop_token& stop) {
    const auto end =
        RunProgram(Shell(": >" + marker + "; exec sleep 86400"), {.time = hours(24)}, clock_, stop);
    if (end) how = end->how;
  });
  EXPECT_TRUE(WaitUntil([&] { return std::filesystem::exists(marker); }));
  thread.request_stop();
  thread.join();
  EXPECT_EQ(how, How::kStopped);
  EXPECT_FALSE(HasChildren());
}

TEST_F(Subprocess, CR5_OutputBeyondItsBoundEndsIt) {
  const ProgramEnd end = Run("exec yes");
  EXPECT_EQ(end.how, How::kTooMuchOutput);
  EXPECT_EQ(end.output, "");
  const ProgramEnd fits = Run("head -c 1048576 /dev/zero");
  EXPECT_EQ(fits.how, How::kExited);
  EXPECT_EQ(fits.output.size(), 1U << 20);
}

TEST_F(Subprocess, CR5_OfComplaintsTheEndIsKept) {
  const ProgramEnd end = Run("seq 1 100000 >&2");
  EXPECT_EQ(end.complaints.size(), 4096U);
  EXPECT_TRUE(end.complaints.ends_with("\n99999\n100000\n")) << end.complaints;
}

TEST_F(Subprocess, WhyItCannotBeStartedIsTold) {
  EXPECT_EQ(CodeOf(folder_ + "/absent"), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf(Write("orphan", "#!/absent/sh\n", true)), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf(Write("text", "#!/bin/sh\n", false)), ErrorCode::kForbidden);
  EXPECT_EQ(CodeOf(folder_), ErrorCode::kForbidden);
  EXPECT_EQ(CodeOf(Write("headless", "exit 0\n", true)), ErrorCode::kInvalid);
  Program large = Shell("exit 0");
  large.environment.push_back("A=" + std::string(1U << 20, 'x'));
  const auto end = RunProgram(large, {}, clock_, {});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::kTooLarge);
  EXPECT_FALSE(HasChildren());
}

TEST_F(Subprocess, ManyAtOnceDoNotMeet) {
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([this, i] {
        for (int turn = 0; turn < 10; ++turn) {
          const std::string word = std::to_string(i) + "." + std::to_string(turn);
          EXPECT_EQ(Run("echo " + word).output, word + "\n");
        }
      });
    }
  }
  EXPECT_FALSE(HasChildren());
}

// Everything that it says until it says no more.
std::string WordsOf(LastingProgram& program) {
  std::string words;
  while (program.Listen(minutes(1), words)) {
  }
  return words;
}

TEST_F(Subprocess, LastingProgramSpeaksThroughOnePipeAndTellsHowItEnded) {
  auto program = LastingProgram::Start(Shell("echo a; echo b >&2; exit 7"));
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(WordsOf(**program), "a\nb\n");
  std::optional<ProgramEnd> end;
  ASSERT_TRUE(WaitUntil([&] { return (end = (*program)->Ended()).has_value(); }));
  EXPECT_EQ(end->how, How::kExited);
  EXPECT_EQ(end->status, 7);
  EXPECT_EQ((*program)->Ended()->status, 7);  // As often as one asks.
  program->reset();
  EXPECT_FALSE(HasChildren());
}

TEST_F(Subprocess, LastingProgramHearsSignals) {
  auto program = LastingProgram::Start(Shell(
      "trap 'echo heard' USR1; trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done"));
  ASSERT_TRUE(program) << program.error().message;
  std::string words;
  while (words != "ready\n") ASSERT_TRUE((*program)->Listen(minutes(1), words)) << words;
  EXPECT_FALSE((*program)->Ended());
  (*program)->Signal(SIGUSR1);
  while (words != "ready\nheard\n") ASSERT_TRUE((*program)->Listen(minutes(1), words)) << words;
  (*program)->Signal(SIGTERM);
  static_cast<void>(WordsOf(**program));
  std::optional<ProgramEnd> end;
  ASSERT_TRUE(WaitUntil([&] { return (end = (*program)->Ended()).has_value(); }));
  EXPECT_EQ(end->status, 3);
}

TEST_F(Subprocess, LastingProgramEndsWithWhoHasIt) {
  auto program = LastingProgram::Start(Shell("exec sleep 86400"));
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_FALSE((*program)->Ended());
  program->reset();
  EXPECT_FALSE(HasChildren());
}

TEST_F(Subprocess, LastingProgramThatCannotBeStartedIsTold) {
  const auto program = LastingProgram::Start({.path = folder_ + "/absent"});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace base
