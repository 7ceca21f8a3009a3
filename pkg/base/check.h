// CHECK(condition): what only our own bug can make false. Stays on in release; ends the process
// with a message, because going on with a broken invariant may write wrong things to the cluster.
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
