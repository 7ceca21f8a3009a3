// A row of the benchmark table.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace bench {

struct Row {
  std::string id = {};               // "P1"
  std::string what = {};             // The measured operation, with its sizes.
  std::string budget = {};           // Empty if the row only informs.
  std::string yardstick = {};        // Reference figure, measured in the same run.
  std::string ours = {};             // The figure as text.
  double figure = 0;                 // The figure as a number, in the unit of `ours`.
  std::optional<double> ratio = {};  // Ratio to the yardstick, as the budget counts it.
  std::optional<bool> holds = {};    // Empty if there is no budget.
};

// Returns one line, with fields separated by tabs: id, what, budget, yardstick, ours, ratio,
// "holds" or "does not hold" or "-", figure.
[[nodiscard]] std::string ToLine(const Row& row);

// Returns the smallest value that at least `share` (0 to 1) of `values` do not exceed (nearest
// rank). REQUIRES: values is not empty.
[[nodiscard]] double Percentile(std::vector<double> values, double share);

// Returns the value with its significant digits: "0.042", "3.1", "1234".
[[nodiscard]] std::string Number(double value);

}  // namespace bench
