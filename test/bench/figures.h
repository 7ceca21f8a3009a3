// A row of the benchmark table, as a line of text and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/result.h"

namespace bench {

// When a figure above its limit fails the benchmark.
enum class Gate {
  kNever,   // Seconds: they depend on the machine.
  kStrict,  // Ratios of seconds: with --strict, as the median of five measurements.
  kAlways,  // Counts and bytes.
};

// What is promised of a row. verdict.h decides from it whether the promise holds.
struct Budget {
  std::string text = {};  // "<= 32 MiB"
  Gate gate = Gate::kNever;
  double value = 0;  // What is judged: the figure, or a ratio. Smaller is better.
  double aim = 0;    // Largest value that keeps the promise.
  // Largest value that does not fail, as long as the promise is not kept. Empty if it is kept.
  std::optional<double> limit = {};
  bool at_any_size = false;  // Promised for small sizes, too.
};

struct Row {
  std::string id = {};                // "P1"
  std::string what = {};              // The measured operation, with its sizes.
  std::optional<Budget> budget = {};  // Empty if the row only informs.
  std::string yardstick = {};         // Reference figure, measured in the same run.
  std::string ours = {};              // The figure as text.
  double figure = 0;                  // The figure as a number, in the unit of `ours`.
  std::optional<double> ratio = {};   // Ratio to the yardstick.
  std::string recorded = {};          // Its cell in the README's table. Empty if it has none.
};

// Returns one line, with fields separated by tabs: id, what, yardstick, ours, ratio, figure,
// recorded; then of the budget text, gate ("never", "strict" or "always"), value, aim, limit and
// sizes ("any" or "full"). A field that is empty is "-".
std::string ToLine(const Row& row);
// The inverse, for the fields that a table needs. Returns kInvalid for another line.
base::Result<Row> FromLine(std::string_view line);

// Returns the smallest value that at least `share` (0 to 1) of `values` do not exceed (nearest
// rank). REQUIRES: values is not empty.
double Percentile(std::vector<double> values, double share);

// Returns the value with its significant digits: "0.042", "3.1", "1234".
std::string Number(double value);

}  // namespace bench
