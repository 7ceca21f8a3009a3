// Random numbers from a seed, so that a run can be repeated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pkg/base/random.h"

namespace nodesim {

// Source of the constants: Steele, Lea and Flood, "Fast splittable pseudorandom number generators".
class SeededRandom final : public base::Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  // A separate sequence for each name.
  SeededRandom(std::uint64_t seed, std::string_view name) : state_(seed) {
    for (const char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  }

  std::uint64_t Next() override {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }

 private:
  std::uint64_t state_;
};

// A random UUID, version 4.
inline std::string RandomUuid(base::Random& random) {
  std::string uuid;
  for (int i = 0; i < 36; ++i) {
    const auto digit = static_cast<unsigned>(random.Next() >> 60U);
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      uuid += '-';
    } else if (i == 14) {
      uuid += '4';
    } else {
      uuid += "0123456789abcdef"[i == 19 ? 8 + digit % 4 : digit];
    }
  }
  return uuid;
}

}  // namespace nodesim
