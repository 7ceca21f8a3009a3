#include "test/bench/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "pkg/base/check.h"

namespace bench {

namespace {

constexpr std::array<const char*, 3> kGates = {"never", "strict", "always"};
constexpr std::size_t kFields = 13;

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }
std::string OrEmpty(const std::string& field) { return field == "-" ? "" : field; }

// Returns the value with all its digits.
std::string Exact(double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.12g", value);
  return text.data();
}

std::string ToFields(const std::optional<Budget>& budget) {
  if (!budget) return "-\t-\t-\t-\t-\t-";
  return budget->text + "\t" + kGates.at(static_cast<std::size_t>(budget->gate)) + "\t" +
         Exact(budget->value) + "\t" + Exact(budget->aim) + "\t" +
         (budget->limit ? Exact(*budget->limit) : "-") + "\t" +
         (budget->at_any_size ? "any" : "full");
}

// Empty for "-", and for what is not a finite number.
std::optional<double> ToNumber(const std::string& field) {
  char* end = nullptr;
  const double value = std::strtod(field.c_str(), &end);
  if (field.empty() || *end != '\0' || !std::isfinite(value)) return {};
  return value;
}

}  // namespace

std::string ToLine(const Row& row) {
  return row.id + "\t" + row.what + "\t" + OrDash(row.yardstick) + "\t" + row.ours + "\t" +
         (row.ratio ? Number(*row.ratio) : "-") + "\t" + Number(row.figure) + "\t" +
         OrDash(row.recorded) + "\t" + ToFields(row.budget);
}

base::Result<Row> FromLine(std::string_view line) {
  std::vector<std::string> fields(1);
  for (const char letter : line) {
    if (letter == '\t') {
      fields.emplace_back();
    } else {
      fields.back() += letter;
    }
  }
  const auto invalid = [&] {
    return base::Fail(base::ErrorCode::kInvalid, "not a row: " + std::string(line));
  };
  if (fields.size() != kFields) return invalid();
  const std::optional<double> figure = ToNumber(fields[5]);
  if (!figure) return invalid();
  Row row = {.id = fields[0],
             .what = fields[1],
             .yardstick = OrEmpty(fields[2]),
             .ours = fields[3],
             .figure = *figure,
             .ratio = ToNumber(fields[4]),
             .recorded = OrEmpty(fields[6])};
  if (fields[7] == "-") return row;
  const auto* const gate = std::ranges::find(kGates, fields[8]);
  const std::optional<double> value = ToNumber(fields[9]);
  const std::optional<double> aim = ToNumber(fields[10]);
  if (gate == kGates.end() || !value || !aim) return invalid();
  row.budget = Budget{.text = fields[7],
                      .gate = static_cast<Gate>(gate - kGates.begin()),
                      .value = *value,
                      .aim = *aim,
                      .limit = ToNumber(fields[11]),
                      .at_any_size = fields[12] == "any"};
  return row;
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
