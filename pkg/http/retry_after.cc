#include "pkg/http/retry_after.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "pkg/base/text.h"

namespace http {
namespace {

constexpr std::int64_t kSecondsMax = 120;

}  // namespace

std::optional<std::chrono::seconds> ParseRetryAfter(const std::string& value, std::time_t now) {
  const std::string_view text = base::Trim(value);
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool is_number = !text.empty() && end == text.data() + text.size();
  if (is_number && error == std::errc::result_out_of_range) {
    seconds = text.front() == '-' ? 0 : kSecondsMax;
  } else if (!is_number || error != std::errc()) {
    const std::time_t date = curl_getdate(std::string(text).c_str(), nullptr);
    if (date == -1) return std::nullopt;
    seconds = date - now;
  }
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kSecondsMax));
}

}  // namespace http
