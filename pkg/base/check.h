// CHECK(condition): ends the process if an invariant is broken.
//
// Only our own bug can make the condition false. CHECK stays on in release, because a process with
// a broken invariant may write wrong data to the cluster.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace base::internal {
[[noreturn]] inline void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "CHECK failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}
}  // namespace base::internal

#define CHECK(condition)                                           \
  do {                                                             \
    if (!(condition)) [[unlikely]]                                 \
      base::internal::CheckFailed(#condition, __FILE__, __LINE__); \
  } while (false)
