#include "pkg/base/system_call_filter.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>

namespace base {
namespace {

// Whether `holds` does behind the filter, in a process of its own: a filter is for good.
bool BehindTheFilter(const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(FilterSystemCalls().has_value() && holds() ? 0 : 1);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool IsRefused(long answer, int why = EPERM) { return answer == -1 && errno == why; }

TEST(FilterSystemCalls, REV3_X14_NewNamespace_IsRefused) {
  EXPECT_TRUE(BehindTheFilter([] {
    return IsRefused(::unshare(CLONE_NEWUSER)) && IsRefused(::unshare(CLONE_NEWNS)) &&
           IsRefused(::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
  }));
}

TEST(FilterSystemCalls, REV3_X14_WhatNoServiceNeeds_IsRefused) {
  EXPECT_TRUE(BehindTheFilter([] {
    return IsRefused(::mount("none", "/does/not/exist", "tmpfs", 0, nullptr)) &&
           IsRefused(::syscall(SYS_bpf, 0, nullptr, 0)) &&
           IsRefused(::syscall(SYS_io_uring_setup, 1, nullptr)) &&
           IsRefused(::syscall(SYS_keyctl, 0, 0, 0, 0, 0)) &&
           IsRefused(::syscall(SYS_ptrace, 0, 0, 0, 0)) && IsRefused(::syscall(SYS_setns, -1, 0));
  }));
}

TEST(FilterSystemCalls, REV3_X14_Clone3_IsUnknown) {
  EXPECT_TRUE(BehindTheFilter([] { return IsRefused(::syscall(SYS_clone3, nullptr, 0), ENOSYS); }));
}

TEST(FilterSystemCalls, REV3_X14_ThreadsAndPrograms_StartAndAreFiltered) {
  EXPECT_TRUE(BehindTheFilter([] {
    bool is_refused = false;
    std::thread([&] { is_refused = IsRefused(::unshare(CLONE_NEWUSER)); }).join();
    return is_refused && std::system("exec grep -q '^Seccomp:.2$' /proc/self/status") == 0;
  }));
}

}  // namespace
}  // namespace base
