// A short hash of a text, to notice changes.
//
// FNV-1a, 64 bits, as 16 hexadecimal digits. The same on every machine and in every release. Not
// cryptographic: do not use it where a user could gain from a collision.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace base {

inline std::string Fingerprint(std::string_view text) {
  constexpr std::uint64_t kOffset = 14695981039346656037U;
  constexpr std::uint64_t kPrime = 1099511628211U;
  std::uint64_t hash = kOffset;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  std::string digits(16, '0');
  for (std::size_t i = digits.size(); i-- > 0; hash >>= 4U) {
    digits[i] = "0123456789abcdef"[hash & 0xFU];
  }
  return digits;
}

}  // namespace base
