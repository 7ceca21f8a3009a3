#include "pkg/kube/api/names.h"

#include <algorithm>

namespace kube {
namespace {

bool IsLower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsAlphanumeric(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z'); }

}  // namespace

bool IsLabelValue(std::string_view text) {
  if (text.empty()) return true;
  return text.size() <= 63 && IsAlphanumeric(text.front()) && IsAlphanumeric(text.back()) &&
         std::ranges::all_of(
             text, [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool IsLabelKey(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return !text.empty() && IsLabelValue(text);
  const std::string_view name = text.substr(slash + 1);
  return IsDnsSubdomain(text.substr(0, slash)) && !name.empty() && IsLabelValue(name);
}

bool IsDnsSubdomain(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  for (;;) {
    const std::string_view part = text.substr(0, text.find('.'));
    const bool is_good = !part.empty() && IsLower(part.front()) && IsLower(part.back()) &&
                         std::ranges::all_of(part, [](char c) { return IsLower(c) || c == '-'; });
    if (!is_good) return false;
    if (part.size() == text.size()) return true;
    text.remove_prefix(part.size() + 1);
  }
}

bool IsDnsLabel(std::string_view text) {
  return text.size() <= 63 && text.find('.') == std::string_view::npos && IsDnsSubdomain(text);
}

}  // namespace kube
