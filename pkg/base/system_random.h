#pragma once

#include <cstdint>
#include <random>

#include "pkg/base/random.h"

namespace base {

// Random numbers that differ in every process. For jitter, not for secrets. For one thread.
class SystemRandom final : public Random {
 public:
  SystemRandom();
  std::uint64_t Next() override { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace base
