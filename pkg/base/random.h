#pragma once

#include <cstdint>

namespace base {

// Where randomness comes from (jitter, watch timeouts). Simulation passes a seeded one.
// Used by one thread each; make one for every thread.
class Random {
 public:
  virtual ~Random() = default;

  [[nodiscard]] virtual std::uint64_t Next() = 0;

  // Uniform in [0, 1).
  [[nodiscard]] double Fraction() {
    constexpr double kScale = 1.0 / (1ULL << 53);  // A double holds 53 bits of fraction.
    return static_cast<double>(Next() >> 11) * kScale;
  }
};

}  // namespace base
