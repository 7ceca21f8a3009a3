#include "node/imex/names.h"

#include "pkg/base/check.h"
#include "pkg/base/fingerprint.h"

namespace imex {

namespace {

constexpr std::size_t kHashDigits = 8;
constexpr std::size_t kIndexDigits = 4;

bool AreDigits(std::string_view text, std::size_t count, std::string_view digits) {
  return text.size() == count && text.find_first_not_of(digits) == std::string_view::npos;
}

}  // namespace

std::string PrefixOf(std::string_view domain) {
  return std::string(kSharedPrefix) + base::Fingerprint(domain).substr(0, kHashDigits) + "-";
}

std::string DnsName(std::string_view prefix, int index) {
  CHECK(index >= 0 && index < kNodesMax);
  const std::string digits = std::to_string(index);
  return std::string(prefix) + std::string(kIndexDigits - digits.size(), '0') + digits;
}

bool IsDnsName(std::string_view text) {
  if (!text.starts_with(kSharedPrefix)) return false;
  text.remove_prefix(kSharedPrefix.size());
  if (const std::size_t hash_end = text.find('-'); hash_end != std::string_view::npos) {
    if (!AreDigits(text.substr(0, hash_end), kHashDigits, "0123456789abcdef")) return false;
    text.remove_prefix(hash_end + 1);
  }
  return AreDigits(text, kIndexDigits, "0123456789");
}

std::string RenderNodes(const NodeNames& names) {
  CHECK(names.count > 0 && names.count <= kNodesMax);
  std::string text;
  for (int index = 0; index < names.count; ++index) text += DnsName(names.prefix, index) + "\n";
  return text;
}

}  // namespace imex
