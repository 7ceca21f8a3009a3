#pragma once

#include <cstdint>

namespace base {

// The source of randomness, for jitter and watch timeouts. The simulation passes a seeded one. For
// one thread; make one for each thread.
class Random {
 public:
  virtual ~Random() = default;

  virtual std::uint64_t Next() = 0;

  // Uniform in [0, 1).
  double Fraction() {
    constexpr double kScale = 1.0 / (1ULL << 53);  // A double holds 53 bits of fraction.
    return static_cast<double>(Next() >> 11) * kScale;
  }
};

}  // namespace base
