#include "pkg/base/did_you_mean.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace base {

namespace {

constexpr std::size_t kLengthMax = 100;

// Returns the number of changes that turn one word into the other.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

// Returns the shortest name of which `words` are the first ones, such as "--leader-election".
std::string ShortestThatBeginsWith(std::string_view words, std::span<const std::string> known) {
  std::string shortest;
  if (words.size() <= std::string_view("--").size()) return shortest;
  for (const std::string& candidate : known) {
    if (!candidate.starts_with(std::string(words) + "-")) continue;
    if (shortest.empty() || candidate.size() < shortest.size()) shortest = candidate;
  }
  return shortest;
}

}  // namespace

std::string Nearest(std::string_view name, std::span<const std::string> known) {
  if (name.size() > kLengthMax) return {};
  std::string nearest;
  std::size_t fewest = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t changes = Distance(name, candidate);
    // A name in which every letter changes is not near.
    if (changes >= fewest || changes >= candidate.size()) continue;
    fewest = changes;
    nearest = candidate;
  }
  return nearest.empty() ? ShortestThatBeginsWith(name, known) : nearest;
}

std::string DidYouMean(std::string_view name, std::span<const std::string> known) {
  const std::string nearest = Nearest(name, known);
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

}  // namespace base
