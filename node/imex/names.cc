#include "node/imex/names.h"

#include <algorithm>

#include "pkg/base/check.h"

namespace imex {

constexpr std::string_view kNamePrefix = "compute-domain-daemon-";
constexpr std::size_t kDigits = 4;

std::string DnsName(int index) {
  CHECK(index >= 0 && index < kNodesMax);
  const std::string digits = std::to_string(index);
  return std::string(kNamePrefix) + std::string(kDigits - digits.size(), '0') + digits;
}

std::optional<int> IndexOf(std::string_view name) {
  if (!name.starts_with(kNamePrefix)) return {};
  const std::string_view digits = name.substr(kNamePrefix.size());
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (digits.size() != kDigits || !std::ranges::all_of(digits, is_digit)) return {};
  int index = 0;
  for (const char digit : digits) index = 10 * index + (digit - '0');
  return index;
}

std::string RenderNodes(int nodes_max) {
  CHECK(nodes_max > 0 && nodes_max <= kNodesMax);
  std::string text;
  for (int index = 0; index < nodes_max; ++index) text += DnsName(index) + "\n";
  return text;
}

}  // namespace imex
