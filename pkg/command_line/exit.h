// With what a program ends, and what it says instead of running.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace command_line {

inline constexpr int kFailed = 1;
inline constexpr int kMisused = 2;  // A flag or a variable is wrong.

// What an exit status means, for the end of --help.
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
[[nodiscard]] inline Exit Misused(std::string text) {
  return {.text = std::move(text), .status = kMisused};
}

// What reading the settings of a program came to: them, or what to say instead of running.
template <typename Settings>
struct Parsed {
  Settings settings = {};
  std::optional<Exit> exit = {};
};

}  // namespace command_line
