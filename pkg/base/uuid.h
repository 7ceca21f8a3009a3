#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

#include "pkg/base/random.h"

namespace base {

// Returns a version 4 UUID.
inline std::string RandomUuid(Random& random) {
  std::array<char, 40> text{};
  const std::uint64_t high = (random.Next() & ~0xf000ULL) | 0x4000ULL;
  const std::uint64_t low = (random.Next() & ~(0xc0ULL << 56)) | (0x80ULL << 56);
  std::snprintf(text.data(), text.size(), "%08x-%04x-%04x-%04x-%012llx",
                static_cast<unsigned>(high >> 32), static_cast<unsigned>(high >> 16 & 0xffff),
                static_cast<unsigned>(high & 0xffff), static_cast<unsigned>(low >> 48),
                static_cast<unsigned long long>(low & 0xffffffffffffULL));
  return text.data();
}

}  // namespace base
