#include "pkg/base/capabilities.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <semaphore>
#include <sstream>
#include <string>
#include <thread>

#include "pkg/base/file.h"

namespace base {
namespace {

constexpr std::size_t kTextMax = 1 << 16;

// Whether `holds` does, in a process of its own: what is dropped does not come back.
bool InAnotherProcess(const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(holds() ? 0 : 1);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Of the calling thread's status in /proc.
std::string Field(const std::string& name) {
  const auto text = ReadFile("/proc/thread-self/status", kTextMax);
  std::istringstream lines(text.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  }
  return "none";
}

bool HasNone(const char* set) { return Field(set) == "0000000000000000"; }

TEST(KeepCapabilities, REV3_X14_WithoutNames_ProcessHasNone) {
  EXPECT_TRUE(InAnotherProcess([] {
    return KeepCapabilities({}).has_value() && HasNone("CapPrm") && HasNone("CapEff") &&
           HasNone("CapInh") && HasNone("CapAmb") && Field("NoNewPrivs") == "1";
  }));
}

TEST(KeepCapabilities, REV3_X14_ProgramOfRoot_GainsNone) {
  EXPECT_TRUE(InAnotherProcess([] {
    return KeepCapabilities({}).has_value() &&
           std::system("exec grep -q '^CapEff:.0000000000000000$' /proc/self/status") == 0;
  }));
}

// CI runs the tests as root; without root there is nothing to keep.
TEST(KeepCapabilities, REV3_X14_NamedCapability_IsKeptAlone) {
  const bool is_root = ::geteuid() == 0;
  EXPECT_TRUE(InAnotherProcess([&] {
    // 1 << CAP_SYS_CHROOT.
    const std::string wanted = is_root ? "0000000000040000" : "0000000000000000";
    return KeepCapabilities({CAP_SYS_CHROOT}).has_value() && Field("CapPrm") == wanted &&
           Field("CapEff") == wanted && (!is_root || Field("CapBnd") == wanted) &&
           (::chroot("/") == 0) == is_root;
  }));
}

TEST(KeepCapabilities, REV3_X14_DroppedCapability_DoesNotComeBack) {
  EXPECT_TRUE(InAnotherProcess([] {
    return KeepCapabilities({}).has_value() && KeepCapabilities({CAP_SYS_CHROOT}).has_value() &&
           HasNone("CapEff");
  }));
}

TEST(KeepCapabilities, REV3_X14_SecondThread_IsRefusedAndNothingChanges) {
  EXPECT_TRUE(InAnotherProcess([] {
    const std::string before = Field("CapEff");
    std::binary_semaphore over(0);
    std::jthread other([&] { over.acquire(); });
    const auto kept = KeepCapabilities({});
    over.release();
    return !kept && kept.error().message == "not the only thread" && Field("CapEff") == before &&
           Field("NoNewPrivs") == "0";
  }));
}

// CI runs the tests as root; without root there is nothing to keep.
TEST(KeepThreadCapabilities, REV4_Y5_OtherThread_KeepsItsOwnUntilItDropsThem) {
  const bool is_root = ::geteuid() == 0;
  EXPECT_TRUE(InAnotherProcess([&] {
    // 1 << CAP_MKNOD | 1 << CAP_SETPCAP.
    const std::string wanted = is_root ? "0000000008000100" : "0000000000000000";
    if (!KeepCapabilities({CAP_MKNOD, CAP_SETPCAP})) return false;
    std::binary_semaphore dropped(0);
    bool has_its_own = false;
    bool has_none = false;
    std::jthread other([&] {
      dropped.acquire();
      has_its_own = Field("CapEff") == wanted;
      has_none = KeepThreadCapabilities({}).has_value() && HasNone("CapEff") && HasNone("CapPrm") &&
                 (!is_root || HasNone("CapBnd"));
    });
    const bool is_done = KeepThreadCapabilities({}).has_value() && HasNone("CapEff") &&
                         (!is_root || HasNone("CapBnd"));
    dropped.release();
    other.join();
    return is_done && has_its_own && has_none;
  }));
}

}  // namespace
}  // namespace base
