// Exit statuses of a program, and what it prints instead of running.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace command_line {

inline constexpr int kFailed = 1;
inline constexpr int kMisused = 2;  // A flag or a variable is invalid.

// Meaning of an exit status, for the end of --help.
struct ExitStatus {
  int status = 0;
  std::string_view meaning = {};
};
inline constexpr ExitStatus kDefect = {134, "A defect (SIGABRT); the last line names it"};

// Print `text` and exit with `status`.
struct Exit {
  std::string text = {};
  int status = 0;
};
inline Exit Misused(std::string text) { return {.text = std::move(text), .status = kMisused}; }

// Settings of a program. If `exit` is not empty, the program must print it and exit instead.
template <typename Settings>
struct Parsed {
  Settings settings = {};
  std::optional<Exit> exit = {};
};

}  // namespace command_line
