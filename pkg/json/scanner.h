// Finds where JSON values end in a stream of bytes.
//
// The bytes may be split anywhere. The scanner knows only brackets, strings and separators: a
// Parser may reject a value that it accepts. But it finds the same end of each value that a Parser
// accepts.
//
// For one thread. Reads each byte once.
// Bound: 10 000 levels, as in Go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace json {

class Scanner {
 public:
  enum class Found {
    kMore,   // All bytes belong to an incomplete value, or are white space before a value.
    kValue,  // A value ends with the last used byte. The scanner is ready for the next one.
    kBad,    // Not JSON, or too deep. The rest of the stream is useless.
  };
  struct Result {
    Found found = Found::kMore;
    std::size_t used = 0;  // Number of used bytes, with white space before a value.
  };

  // Scans the next bytes. A number or literal outside of brackets ends before the byte that follows
  // it.
  Result Scan(std::string_view bytes);

  // Returns the largest number of brackets that were open at once.
  std::size_t deepest() const { return deepest_; }

 private:
  enum class Want : std::uint8_t { kValue, kValueOrEnd, kKey, kKeyOrEnd, kColon, kCommaOrEnd };

  bool Take(char c);
  bool TakeValue(char c);
  bool Open(char bracket);
  bool Close(char bracket);

  std::string open_;  // The open brackets, outermost first.
  std::size_t deepest_ = 0;
  Want want_ = Want::kValue;
  bool in_string_ = false;
  bool in_scalar_ = false;  // A number, true, false or null.
  bool after_backslash_ = false;
};

}  // namespace json
