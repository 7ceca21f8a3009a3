#include "test/bench/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "pkg/base/check.h"

namespace bench {

namespace {

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

}  // namespace

std::string ToLine(const Row& row) {
  std::string verdict = "-";
  if (row.holds) verdict = *row.holds ? "holds" : "does not hold";
  return row.id + "\t" + row.what + "\t" + OrDash(row.budget) + "\t" + OrDash(row.yardstick) +
         "\t" + row.ours + "\t" + (row.ratio ? Number(*row.ratio) : "-") + "\t" + verdict + "\t" +
         Number(row.figure);
}

double Percentile(std::vector<double> values, double share) {
  CHECK(!values.empty());
  std::ranges::sort(values);
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  return values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

std::string Number(double value) {
  const double size = std::abs(value);
  int decimals = 0;
  if (size < 100) decimals = 1;
  if (size < 10) decimals = 2;
  if (size < 0.1) decimals = 3;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

}  // namespace bench
