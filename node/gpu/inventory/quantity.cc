#include "node/gpu/inventory/quantity.h"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "pkg/base/text.h"

namespace gpu {

namespace {

// Returns the value with the greatest suffix of which it is a multiple. The suffixes stand for
// powers of `base`.
std::string WithSuffix(std::uint64_t value, std::uint64_t base,
                       std::span<const std::string_view> suffixes) {
  std::size_t power = 0;
  while (value != 0 && value % base == 0 && power + 1 < suffixes.size()) {
    value /= base;
    ++power;
  }
  return std::to_string(value) + std::string(suffixes[power]);
}

}  // namespace

std::string QuantityOf(std::uint64_t value) {
  constexpr std::uint64_t kKibi = 1024;
  constexpr std::uint64_t kKilo = 1000;
  constexpr auto kBinary =
      std::to_array<std::string_view>({"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"});
  constexpr auto kDecimal = std::to_array<std::string_view>({"", "k", "M", "G", "T", "P", "E"});
  // The server reads a number without a suffix as a decimal one, and writes it with a suffix.
  return value % kKibi == 0 ? WithSuffix(value, kKibi, kBinary)
                            : WithSuffix(value, kKilo, kDecimal);
}

std::string SemanticVersionOf(std::string_view text) {
  constexpr std::size_t kNumbers = 3;
  std::vector<int> numbers = base::VersionIn(text);
  if (numbers.empty()) return {};
  numbers.resize(kNumbers);
  std::string version;
  for (const int number : numbers) {
    if (number < 0) return {};  // As "580.-1" is read.
    version += (version.empty() ? "" : ".") + std::to_string(number);
  }
  return version;
}

}  // namespace gpu
