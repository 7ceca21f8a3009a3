#include "test/bench/verdict.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace bench {

namespace {

constexpr std::size_t kColumns = 7;
using Cells = std::array<std::string, kColumns>;

std::string BudgetText(const Row& row) {
  if (!row.budget) return "-";
  if (!row.budget->limit) return row.budget->text;
  return row.budget->text + ", for now " + Number(*row.budget->limit);
}

std::string Aligned(const std::vector<Cells>& lines) {
  std::array<std::size_t, kColumns> widths{};
  for (const Cells& cells : lines) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  std::string text;
  for (const Cells& cells : lines) {
    for (std::size_t i = 0; i < kColumns; ++i) {
      text += cells[i];
      if (i + 1 < kColumns) text += std::string(widths[i] - cells[i].size() + 2, ' ');
    }
    text += '\n';
  }
  return text;
}

}  // namespace

Verdict Judge(const Row& row, const Rules& rules) {
  if (!row.budget) return {.text = "-"};
  const Budget& budget = *row.budget;
  if (rules.small && !budget.at_any_size) return {.text = "not judged: the sizes are small"};
  if (budget.value <= budget.aim) return {.text = "holds"};
  if (budget.limit && budget.value <= *budget.limit) {
    return {.text = "does not hold, but its limit for now does"};
  }
  const bool fails = rules.ours && (budget.gate == Gate::kAlways ||
                                    (budget.gate == Gate::kStrict && rules.strict));
  return {.text = fails ? "does not hold: fails" : "does not hold", .fails = fails};
}

std::vector<Row> TakeMedians(const std::vector<Row>& rows) {
  std::vector<std::pair<std::string, std::string>> order;
  std::map<std::pair<std::string, std::string>, std::vector<Row>> same;
  for (const Row& row : rows) {
    std::vector<Row>& group = same[{row.id, row.what}];
    if (group.empty()) order.emplace_back(row.id, row.what);
    group.push_back(row);
  }
  const auto value = [](const Row& row) { return row.budget ? row.budget->value : row.figure; };
  std::vector<Row> medians;
  for (const auto& key : order) {
    std::vector<Row>& group = same[key];
    std::ranges::sort(group, {}, value);
    Row median = group[(group.size() - 1) / 2];
    if (group.size() > 1) median.what += " (median of " + std::to_string(group.size()) + ")";
    medians.push_back(std::move(median));
  }
  return medians;
}

Table MakeTable(const std::vector<Row>& rows, const Rules& rules) {
  std::vector<Cells> lines = {
      {"row", "what", "budget", "yardstick of this run", "measured", "ratio", "verdict"}};
  std::string failures;
  for (const Row& row : TakeMedians(rows)) {
    const Verdict verdict = Judge(row, rules);
    lines.push_back({row.id, row.what, BudgetText(row), row.yardstick.empty() ? "-" : row.yardstick,
                     row.ours, row.ratio ? Number(*row.ratio) : "-", verdict.text});
    if (!verdict.fails) continue;
    failures += "FAIL row " + row.id + ": " + row.what + ": " + row.ours + ", and its budget is " +
                BudgetText(row) + "\n";
  }
  return {.text = Aligned(lines) + failures, .fails = !failures.empty()};
}

}  // namespace bench
