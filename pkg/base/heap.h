// Keeps a process with many threads small. Of glibc.
#pragma once

#include <malloc.h>

namespace base {

// Call it first in main(). By default each thread may have a heap of its own, and glibc learns to
// keep large blocks, such as replies of several megabytes that are needed for a moment.
inline void LimitHeaps(int heaps_max) {
  constexpr int kLarge = 256 << 10;
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_ARENA_MAX, heaps_max);
}

// Returns free pages to the system, also those between blocks in use. Takes about a millisecond for
// each 10 MiB. Thread-safe.
inline void ReturnFreePages() { malloc_trim(0); }

}  // namespace base
