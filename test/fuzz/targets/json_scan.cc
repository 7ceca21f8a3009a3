// The scanner that finds where values end:
//  - it finds the same ends however the bytes are split;
//  - what a reader takes as one value ends for it where it ends for the reader.
#include "pkg/json/scanner.h"
#include "pkg/json/value.h"
#include "test/fuzz/fuzz.h"

namespace {

using json::Scanner;

struct Ends {
  std::vector<std::size_t> at = {};
  bool is_bad = false;
  friend bool operator==(const Ends&, const Ends&) = default;
};

// `next_size` says how many bytes come together.
template <typename NextSize>
Ends Scan(std::string_view bytes, NextSize next_size) {
  Ends ends;
  Scanner scanner;
  std::size_t done = 0;
  while (done < bytes.size()) {
    std::string_view piece = bytes.substr(done, next_size());
    while (!piece.empty()) {
      const Scanner::Result result = scanner.Scan(piece);
      CHECK(result.used <= piece.size());
      CHECK(result.found != Scanner::Found::kMore || result.used == piece.size());
      done += result.used;
      piece.remove_prefix(result.used);
      if (result.found == Scanner::Found::kValue) ends.at.push_back(done);
      ends.is_bad = result.found == Scanner::Found::kBad;
      if (ends.is_bad) return ends;
    }
  }
  return ends;
}

}  // namespace

FUZZ_TARGET(json_scan, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  std::vector<std::size_t> sizes(input.ConsumeIntegralInRange<std::size_t>(1, 8));
  for (std::size_t& size : sizes) size = input.ConsumeIntegralInRange<std::size_t>(1, 9);
  // A line end, since a number that stands alone ends with what follows it.
  const std::string text = input.ConsumeRemainingBytesAsString() + "\n";

  const Ends whole = Scan(text, [&] { return text.size(); });
  std::size_t next = 0;
  const Ends split = Scan(text, [&] { return sizes[next++ % sizes.size()]; });
  CHECK(whole == split);

  if (json::Parse(text)) {
    const Ends one = {.at = {text.find_last_not_of(" \t\r\n") + 1}};
    CHECK(whole == one);
  }
}
