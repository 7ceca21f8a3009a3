// Decides whether the budgets of a table hold, and whether the benchmark fails. Pure.
#pragma once

#include <string>
#include <vector>

#include "test/bench/figures.h"

namespace bench {

struct Rules {
  bool strict = false;  // Ratios of seconds fail, too.
  bool small = false;   // The sizes are small.
  bool ours = true;     // cdom's controller was measured. Nothing is promised of another one.
};

struct Verdict {
  std::string text = {};  // "holds". "-" if there is no budget.
  bool fails = false;
};

Verdict Judge(const Row& row, const Rules& rules);

// Leaves one of all rows that measure the same: the one whose value is the median. The others only
// differ in their figures. Keeps the order.
std::vector<Row> TakeMedians(const std::vector<Row>& rows);

struct Table {
  std::string text = {};  // With a heading, and then a line for each row that fails.
  bool fails = false;
};
Table MakeTable(const std::vector<Row>& rows, const Rules& rules);

}  // namespace bench
