// Times, durations and Retry-After, as others wrote them.
#include <time.h>

#include <algorithm>
#include <charconv>

#include "pkg/base/duration.h"
#include "pkg/base/rfc3339.h"
#include "pkg/http/retry_after.h"
#include "test/fuzz/fuzz.h"

namespace {

using base::Clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// What the C library reads, of a text whose shape is right.
std::optional<seconds> TheirTime(const std::string& text) {
  std::tm fields = {};
  const char* const rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &fields);
  if (rest == nullptr || rest - text.c_str() != 19) return std::nullopt;
  return seconds(::timegm(&fields));
}

}  // namespace

// A time:
//  - that is read is the one that the C library reads in it;
//  - comes out of what we write of it again, in both forms, and then stays;
//  - has a fraction of a second at most, and never one of less than nothing.
FUZZ_TARGET(time, text) {
  const std::optional<Clock::WallTime> time = base::ParseTime(text);
  if (!time) return;
  const auto whole = std::chrono::floor<seconds>(*time);
  CHECK(TheirTime(std::string(text)) == whole.time_since_epoch());
  CHECK(text.size() > 20 || *time == whole);

  const std::string micros = base::FormatMicros(*time);
  const bool is_in_year_10000 = micros.size() > 27;  // 9999-12-31T23:59:60Z, a leap second.
  if (is_in_year_10000) return;
  CHECK(base::ParseTime(micros) == *time);
  CHECK(base::ParseTime(base::FormatSeconds(*time)) == whole);
  fuzz::CheckSame(base::FormatMicros(*base::ParseTime(micros)), micros);
}

namespace {

// Go's time.ParseDuration, in whole numbers, without signs and with our units: parts of digits, a
// point, digits and a unit. In units of 10^-18 ms, far more exact than it takes; absent: it is
// none, or longer than 1000 hours.
__extension__ using Exact = unsigned __int128;
constexpr Exact kMillisecond = 1'000'000'000'000'000'000;

struct TheirDuration {
  Exact total = 0;
  bool is_of_milliseconds = true;  // Each of its parts.
};

struct Unit {
  std::string_view name;
  std::uint64_t milliseconds;
};
constexpr Unit kUnits[] = {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}};

std::string_view TakeDigits(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

// One part, which goes from the beginning of `text`.
std::optional<Exact> TakePart(std::string_view& text) {
  constexpr std::uint64_t kMost = 3'600'000'000;
  const std::string_view before = TakeDigits(text);
  std::string_view after;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    after = TakeDigits(text);
  }
  const auto* const unit =
      std::ranges::find_if(kUnits, [&](const Unit& known) { return text.starts_with(known.name); });
  const bool is_part = (!before.empty() || !after.empty()) && unit != std::end(kUnits);
  if (!is_part) return std::nullopt;
  text.remove_prefix(unit->name.size());
  std::uint64_t whole = 0;
  for (const char digit : before) {
    whole = whole * 10 + static_cast<std::uint64_t>(digit - '0');
    if (whole > kMost) return std::nullopt;
  }
  Exact place = unit->milliseconds * kMillisecond;
  Exact part = place * whole;
  for (const char digit : after) {
    place /= 10;
    part += place * static_cast<Exact>(digit - '0');
  }
  return part;
}

std::optional<TheirDuration> ReadDuration(std::string_view text) {
  constexpr Exact kMost = kMillisecond * 3'600'000 * 1000;
  TheirDuration duration;
  if (text == "0") return duration;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const std::optional<Exact> part = TakePart(text);
    if (!part) return std::nullopt;
    duration.total += *part;
    duration.is_of_milliseconds = duration.is_of_milliseconds && *part % kMillisecond == 0;
    if (duration.total >= kMost + kMillisecond) return std::nullopt;
  }
  return duration;
}

}  // namespace

// A duration:
//  - is read if Go reads it and it is at most 1000 hours, and as what Go reads, to the millisecond;
//  - is refused otherwise, with kInvalid.
//
// Go's signs, and its units below a millisecond, are none of ours.
FUZZ_TARGET(duration, text) {
  const auto ours = base::ParseDuration(text);
  const std::optional<TheirDuration> theirs = ReadDuration(text);
  CHECK(ours || ours.error().code == base::ErrorCode::kInvalid);
  CHECK(ours.has_value() == theirs.has_value());
  if (!ours) return;
  CHECK(*ours >= milliseconds(0) && *ours <= std::chrono::hours(1000));
  const auto whole = static_cast<std::int64_t>(theirs->total / kMillisecond);
  // Of many parts below a nanosecond each may be lost.
  CHECK(ours->count() == whole || (!theirs->is_of_milliseconds && ours->count() == whole - 1));
}

// A Retry-After:
//  - is 0 to 120 s, whatever it says;
//  - is its number, if it is one, and then has nothing to do with the time of day;
//  - means the same with blanks around it.
FUZZ_TARGET(retry_after, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  const auto now = input.ConsumeIntegral<std::int32_t>();
  const std::string text = input.ConsumeRemainingBytesAsString();
  const std::optional<seconds> wait = http::ParseRetryAfter(text, now);
  CHECK(!wait || (*wait >= seconds(0) && *wait <= seconds(120)));
  CHECK(wait == http::ParseRetryAfter(" " + text + "\t\r\n", now));
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return;
  CHECK(wait == seconds(std::clamp<std::int64_t>(number, 0, 120)));
  CHECK(wait == http::ParseRetryAfter(text, 0));
}
