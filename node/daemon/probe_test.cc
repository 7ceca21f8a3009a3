#include "node/daemon/probe.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "pkg/base/file.h"
#include "pkg/base/testing/manual_clock.h"

namespace imex_daemon {
namespace {

namespace fs = std::filesystem;

class ProbeTest : public ::testing::Test {
 protected:
  ProbeTest() {
    std::string name = ::testing::TempDir() + "/daemon_probe_XXXXXX";
    folder_ = ::mkdtemp(name.data());
    settings_.self = {.clique = "c.1", .ip = "10.0.0.7", .nodes_max = 2};
    settings_.folder = folder_;
    Script("nvidia-imex-ctl", "echo READY");
  }
  ~ProbeTest() override { fs::remove_all(folder_); }

  void Script(const std::string& name, const std::string& script) const {
    std::ofstream(folder_ + "/" + name) << "#!/bin/sh\n" + script + "\n";
    fs::permissions(folder_ + "/" + name, fs::perms::owner_all);
  }
  std::string Read(const std::string& name) const {
    return base::ReadFile(folder_ + "/" + name, 1U << 20).value_or("cannot be read");
  }
  std::string NotReady() const { return NotReady(base::ManualClock()); }
  std::string NotReady(const base::Clock& clock) const {
    const auto ready = Check(settings_, folder_, {"PATH=/usr/bin:/bin"}, patience_, clock);
    return ready ? "" : ready.error().message;
  }

  std::string folder_;
  Settings settings_;
  std::chrono::milliseconds patience_{0};
};

TEST_F(ProbeTest, CheckIsGoodWhenTheControlProgramSaysReady) { EXPECT_EQ(NotReady(), ""); }

TEST_F(ProbeTest, H10_CheckTakesNothingElseForReady) {
  for (const char* script : {"echo NOT_READY", "echo READY; echo READY", "printf READY", "exit 0",
                             "echo READY; exit 1", "echo READY; echo warning >&2"}) {
    Script("nvidia-imex-ctl", script);
    EXPECT_NE(NotReady(), "") << script;
  }
}

TEST_F(ProbeTest, CheckSaysInOneLineWhatTheControlProgramSaid) {
  Script("nvidia-imex-ctl", "echo WAITING_FOR_PEERS; echo '\033[31mred' >&2");
  EXPECT_EQ(NotReady(), "IMEX is not ready: WAITING_FOR_PEERS  [31mred ");
}

TEST_F(ProbeTest, CheckAsksForTheLocalStateByTheConfiguration) {
  Script("nvidia-imex-ctl", "[ \"$*\" = \"-c " + folder_ + "/imexd.cfg -q\" ] && echo READY");
  EXPECT_EQ(NotReady(), "");
}

// Each time that it is asked one line longer.
constexpr const char* kCounts = "echo >>\"$0.asked\"; n=$(wc -l <\"$0.asked\"); ";

TEST_F(ProbeTest, CheckThatMayWaitAsksUntilImexIsReady) {
  Script("nvidia-imex-ctl", std::string(kCounts) + "[ $n -ge 3 ] && echo READY");
  EXPECT_NE(NotReady(), "") << "without patience it asks once";
  EXPECT_EQ(Read("nvidia-imex-ctl.asked"), "\n");
  patience_ = std::chrono::minutes(1);
  EXPECT_EQ(NotReady(), "");
  EXPECT_EQ(Read("nvidia-imex-ctl.asked"), "\n\n\n");
}

TEST_F(ProbeTest, Check_ImexBecomesReady_NoticesWithin25Milliseconds) {
  Script("nvidia-imex-ctl", std::string(kCounts) + "[ $n -ge 2 ] && echo READY");
  const base::ManualClock clock;  // It stands still, so only the pause counts.
  patience_ = std::chrono::milliseconds(25);
  EXPECT_EQ(NotReady(clock), "");
  EXPECT_EQ(Read("nvidia-imex-ctl.asked"), "\n\n");
}

TEST_F(ProbeTest, CheckWhosePatienceEndsSaysWhatWasSaidLast) {
  Script("nvidia-imex-ctl", std::string(kCounts) + "echo asked $n");
  patience_ = std::chrono::seconds(3);
  // A question takes a second, however long its script takes to start.
  const base::ManualClock clock([&] {
    return std::chrono::seconds(
        base::ReadFile(folder_ + "/nvidia-imex-ctl.asked", 1U << 10).value_or("").size());
  });
  EXPECT_EQ(NotReady(clock), "IMEX is not ready: asked 3 ");
  EXPECT_EQ(Read("nvidia-imex-ctl.asked"), "\n\n\n");
}

TEST_F(ProbeTest, CheckIsPatientOnlyWhileTheDaemonIsYoung) {
  EXPECT_EQ(PatienceFor(std::chrono::seconds(29)), std::chrono::seconds(5));
  EXPECT_EQ(PatienceFor(std::chrono::seconds(30)), std::chrono::seconds(0));
}

TEST_F(ProbeTest, AgeOfAProcessIsReadAsTheKernelWritesIt) {
  const std::string rest = " S 0 1 1 0 -1 4194560 9 9 9 9 9 9 9 9 20 0 3 0 12345 99 9 9\n";
  EXPECT_EQ(AgeOf("1 (compute-domain-) 3)" + rest, "130.57 88.10\n", 100),
            std::chrono::milliseconds(7120));
  EXPECT_EQ(AgeOf("1 (daemon)" + rest, "100.00 88.10\n", 100), std::chrono::milliseconds(0));
  for (const std::string& stat : {std::string(), "1 (daemon" + rest, std::string("1 (d) S 0")}) {
    EXPECT_EQ(AgeOf(stat, "130.57 88.10\n", 100), std::nullopt) << stat;
  }
  EXPECT_EQ(AgeOf("1 (daemon)" + rest, "", 100), std::nullopt);
  EXPECT_EQ(AgeOf("1 (daemon)" + rest, "130.57", 0), std::nullopt);
  const std::string own = base::ReadFile("/proc/self/stat", 4096).value_or("");
  const std::string up = base::ReadFile("/proc/uptime", 4096).value_or("");
  const auto age = AgeOf(own, up, ::sysconf(_SC_CLK_TCK));
  ASSERT_TRUE(age) << own << up;
  EXPECT_LT(*age, std::chrono::minutes(30));
}

TEST_F(ProbeTest, WithoutFabricThereIsNothingToCheck) {
  settings_.self.clique.clear();
  fs::remove(folder_ + "/nvidia-imex-ctl");
  EXPECT_EQ(NotReady(), "");
}

}  // namespace
}  // namespace imex_daemon
