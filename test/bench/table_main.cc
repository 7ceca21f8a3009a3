// cdom-bench-table: reads lines of cdom-bench, and prints them as a table. Fails if a row fails.
//
//   --strict     ratios of seconds fail, too
//   --small      the sizes were small
//   --another    it was not cdom's controller
//   --lines      prints lines again: of several measurements the median
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "test/bench/verdict.h"

int main(int argc, char** argv) {
  bench::Rules rules;
  bool as_lines = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--strict") {
      rules.strict = true;
    } else if (word == "--small") {
      rules.small = true;
    } else if (word == "--another") {
      rules.ours = false;
    } else if (word == "--lines") {
      as_lines = true;
    } else {
      std::fprintf(stderr, "cdom-bench-table: unknown option %s\n", argv[i]);
      return EXIT_FAILURE;
    }
  }
  std::vector<bench::Row> rows;
  bool is_complete = true;
  std::string line;
  while (std::getline(std::cin, line)) {
    if (auto row = bench::FromLine(line)) {
      rows.push_back(*std::move(row));
    } else {
      std::fprintf(stderr, "cdom-bench-table: %s\n", row.error().message.c_str());
      is_complete = false;
    }
  }
  if (as_lines) {
    for (const bench::Row& row : bench::TakeMedians(rows)) std::puts(bench::ToLine(row).c_str());
    return is_complete ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  const bench::Table table = bench::MakeTable(rows, rules);
  std::fputs(table.text.c_str(), stdout);
  return table.fails || !is_complete ? EXIT_FAILURE : EXIT_SUCCESS;
}
