#include "pkg/kube/client/token_file.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "pkg/base/file.h"

namespace kube {

constexpr std::chrono::seconds kReadAgainAfter{60};
constexpr std::size_t kTokenBytesMax = 64U << 10;  // Headers are much shorter.

base::Result<std::string> CheckToken(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return base::Invalid("the token is empty");
  const std::string_view token = text.substr(first, text.find_last_not_of(kBlank) - first + 1);
  const bool is_visible_ascii =
      std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; });
  if (!is_visible_ascii) return base::Invalid("the token has a character that no token has");
  return std::string(token);
}

base::Result<std::string> ReadTokenFile(const std::string& path) {
  const std::string text = TRY(base::ReadFile(path, kTokenBytesMax));
  return CheckToken(text).map_error(base::While("read " + path));
}

TokenFile::TokenFile(std::string path, std::string token, const base::Clock& clock)
    : path_(std::move(path)),
      clock_(clock),
      state_(State{.token = std::move(token), .read_at = clock.Now()}) {}

std::string TokenFile::BearerToken() {
  const base::Clock::TimePoint now = clock_.Now();
  std::uint64_t invalidations = 0;
  const std::optional<std::string> current =
      state_.With([&](State& state) -> std::optional<std::string> {
        invalidations = state.invalidations;
        const bool is_valid = state.invalidations == state.invalidations_served;
        if (is_valid && now - state.read_at < kReadAgainAfter) return state.token;
        state.read_at = now;  // Only this thread reads. Others use the old token.
        return std::nullopt;
      });
  if (current) return *current;

  base::Result<std::string> token = ReadTokenFile(path_);
  return state_.With([&](State& state) {
    if (token) state.token = *std::move(token);
    // Also if the read failed. A retry at once would not help, and there is one after a minute.
    state.invalidations_served = std::max(state.invalidations_served, invalidations);
    return state.token;
  });
}

void TokenFile::Invalidate() {
  state_.With([](State& state) { ++state.invalidations; });
}

}  // namespace kube
