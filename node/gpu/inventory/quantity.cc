#include "node/gpu/inventory/quantity.h"

#include <array>

#include "pkg/base/text.h"

namespace gpu {

std::string QuantityOf(std::uint64_t value) {
  constexpr std::uint64_t kKibi = 1024;
  constexpr auto kSuffixes =
      std::to_array<std::string_view>({"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"});
  // The server writes what is below 1024 with decimal suffixes, of which one can be.
  if (value == 1000) return "1k";
  std::size_t power = 0;
  while (value != 0 && value % kKibi == 0 && power + 1 < kSuffixes.size()) {
    value /= kKibi;
    ++power;
  }
  return std::to_string(value) + std::string(kSuffixes[power]);
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
