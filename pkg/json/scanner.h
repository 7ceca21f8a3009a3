// Finds where JSON values end, in bytes that arrive in pieces split anywhere. It knows brackets,
// strings and separators, not what lies between them: a value that it accepts may still be refused
// by a Parser, but whatever a Parser accepts has the same end here.
//
// Used by one thread. Each byte is looked at once. Bound: 10 000 levels, as in Go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace json {

class Scanner {
 public:
  enum class Found {
    kMore,   // All of the bytes belong to a value that goes on, or are white space before one.
    kValue,  // A value ends with the last byte used. The scanner is ready for the next one.
    kBad,    // Not JSON, or too deep; nothing that follows can be made sense of.
  };
  struct Result {
    Found found = Found::kMore;
    std::size_t used = 0;  // How many of the bytes; white space before a value counts.
  };

  // Reads on. A number or literal outside of any bracket ends before the byte that follows it.
  [[nodiscard]] Result Scan(std::string_view bytes);

 private:
  enum class Want : std::uint8_t { kValue, kValueOrEnd, kKey, kKeyOrEnd, kColon, kCommaOrEnd };

  [[nodiscard]] bool Take(char c);
  [[nodiscard]] bool TakeValue(char c);
  [[nodiscard]] bool Open(char bracket);
  [[nodiscard]] bool Close(char bracket);

  std::string open_;  // The brackets that are open, outermost first.
  Want want_ = Want::kValue;
  bool in_string_ = false;
  bool in_scalar_ = false;  // A number, true, false or null.
  bool after_backslash_ = false;
};

}  // namespace json
