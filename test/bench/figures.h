// What a row of the table says.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace bench {

struct Row {
  std::string id = {};               // "P1"
  std::string what = {};             // What was done, with its sizes.
  std::string budget = {};           // Empty: none, the row informs.
  std::string yardstick = {};        // What the figure stands beside, measured in the same run.
  std::string ours = {};             // The figure as people read it.
  double figure = 0;                 // The same for programs, in the unit that `ours` names.
  std::optional<double> ratio = {};  // Ours to the yardstick's, as the budget counts it.
  std::optional<bool> holds = {};    // Empty: there is no budget.
};

// One line, fields separated by tabs:
// id, what, budget, yardstick, ours, ratio, "holds" or "does not hold" or "-", figure.
[[nodiscard]] std::string ToLine(const Row& row);

// The smallest value that at least `share` (0 to 1) of `values` do not exceed (nearest rank).
// REQUIRES: values is not empty.
[[nodiscard]] double Percentile(std::vector<double> values, double share);

// With as many digits as are worth reading: "0.042", "3.1", "1234".
[[nodiscard]] std::string Number(double value);

}  // namespace bench
