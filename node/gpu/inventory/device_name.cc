#include "node/gpu/inventory/device_name.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace gpu {

namespace {

constexpr std::string_view kPrefix = "gpu-";
constexpr std::string_view kMig = "mig-";
constexpr std::size_t kNameMax = 63;  // Of a DNS label.

// Returns the number, if the text is one as std::to_string writes it. It is at least 0.
std::optional<int> NumberIn(std::string_view text) {
  int number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || std::to_string(number) != text) return {};
  return number;
}

// Removes the last part of `text`, and the '-' before it. Returns the part. Empty if there is no
// '-'.
std::string_view TakeLastPart(std::string_view& text) {
  const std::size_t dash = text.rfind('-');
  if (dash == std::string_view::npos) return {};
  const std::string_view part = text.substr(dash + 1);
  text = text.substr(0, dash);
  return part;
}

bool IsInName(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

}  // namespace

std::string TextOf(const DeviceName& name) {
  std::string gpu = std::string(kPrefix) + std::to_string(name.minor);
  if (!name.mig) return gpu;
  return gpu + "-" + std::string(kMig) + name.mig->profile + "-" +
         std::to_string(name.mig->profile_id) + "-" + std::to_string(name.mig->placement_start);
}

std::optional<DeviceName> ParseDeviceName(std::string_view text) {
  if (text.size() > kNameMax || !text.starts_with(kPrefix)) return {};
  std::string_view rest = text.substr(kPrefix.size());
  const std::string_view digits = rest.substr(0, rest.find('-'));
  const auto minor = NumberIn(digits);
  if (!minor) return {};
  DeviceName name = {.minor = *minor};
  rest.remove_prefix(digits.size());
  if (rest.empty()) return name;
  rest.remove_prefix(1);
  if (!rest.starts_with(kMig)) return {};
  rest.remove_prefix(kMig.size());
  const auto start = NumberIn(TakeLastPart(rest));
  const auto profile = NumberIn(TakeLastPart(rest));
  if (!start || !profile || rest.empty() || !std::ranges::all_of(rest, IsInName)) return {};
  name.mig = {.profile = std::string(rest), .profile_id = *profile, .placement_start = *start};
  return name;
}

std::string ProfileInName(std::string_view profile) {
  std::string text;
  for (const char c : profile) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (c != '.') text += IsInName(lower) ? lower : '-';
  }
  const std::size_t first = text.find_first_not_of('-');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of('-') - first + 1);
}

}  // namespace gpu
