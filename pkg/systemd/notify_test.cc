#include "pkg/systemd/notify.h"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp and setenv.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>

namespace systemd {
namespace {

// Stands in for systemd.
class Notify : public ::testing::Test {
 protected:
  Notify() : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    std::string name = ::testing::TempDir() + "/notify_XXXXXX";
    folder_ = ::mkdtemp(name.data());
    const std::string path = folder_ + "/socket";
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::ranges::copy(path, address.sun_path);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  ~Notify() override {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) ::unsetenv(name);
    ::close(fd_);
    std::filesystem::remove_all(folder_);
  }

  // What was sent, which is here by the time sending returned; empty: nothing.
  std::string Received() const {
    std::array<char, 4096> bytes = {};
    const ssize_t count = ::recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    return count < 0 ? "" : std::string(bytes.data(), static_cast<std::size_t>(count));
  }

  const int fd_;
  std::string folder_;
};

TEST_F(Notify, EachCallIsOneMessage) {
  Ready("Synced 8 caches");
  EXPECT_EQ(Received(), "READY=1\nSTATUS=Synced 8 caches");
  Status("Leading");
  EXPECT_EQ(Received(), "STATUS=Leading");
  Watchdog();
  EXPECT_EQ(Received(), "WATCHDOG=1");
  Stopping();
  EXPECT_EQ(Received(), "STOPPING=1");
  EXPECT_EQ(Received(), "");
}

TEST_F(Notify, StatusCannotAddAnAssignment) {
  Status("a\nMAINPID=1\r\n");
  EXPECT_EQ(Received(), "STATUS=a MAINPID=1  ");
}

TEST_F(Notify, NothingIsSentWhereNobodyAsked) {
  ::unsetenv("NOTIFY_SOCKET");
  Ready("x");
  Status("x");
  Watchdog();
  Stopping();
  EXPECT_EQ(Received(), "");
}

TEST_F(Notify, WatchdogIntervalIsThatOfThisProcessOnly) {
  EXPECT_EQ(WatchdogInterval(), std::nullopt);
  ::setenv("WATCHDOG_USEC", "30000000", 1);
  EXPECT_EQ(WatchdogInterval(), std::chrono::seconds(30));
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  EXPECT_EQ(WatchdogInterval(), std::chrono::seconds(30));
  ::setenv("WATCHDOG_PID", std::to_string(::getpid() + 1).c_str(), 1);
  EXPECT_EQ(WatchdogInterval(), std::nullopt);
  ::unsetenv("WATCHDOG_PID");
  ::setenv("WATCHDOG_USEC", "nonsense", 1);
  EXPECT_EQ(WatchdogInterval(), std::nullopt);
}

}  // namespace
}  // namespace systemd
