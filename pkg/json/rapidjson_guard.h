// The only file that includes RapidJSON, and guards against its defects.
//
// Debian's 1.1.0 has known defects. The defences:
// - Numbers stay text, so that RapidJSON never converts hostile exponents.
// - Each decoded string is checked for UTF-8: RapidJSON's own check reads behind the end, and it
//   decodes the second half of a surrogate pair alone to invalid UTF-8.
// - RapidJSON's asserts stay on in release, because without them our own mistake would read
//   garbage.
// - The parser is iterative with a bound on depth, because the recursive one uses stack for each
//   level.
// - Only its reader is used, and its events build our own trees: clang 19 cannot compile
//   document.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "pkg/base/check.h"
#include "pkg/base/result.h"
#include "pkg/json/reader.h"
#include "pkg/json/utf8.h"

#define RAPIDJSON_ASSERT(condition) CHECK(condition)
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

namespace json::internal {

// Forwards events, and stops the parse at a string that is not UTF-8, or too deep a level.
template <typename Handler>
class Filter {
 public:
  explicit Filter(Handler& handler) : handler_(handler) {}

  // Returns why it stopped the parse. Null if it did not.
  const char* refused() const { return refused_; }

  using SizeType = rapidjson::SizeType;
  // NOLINTBEGIN(readability-identifier-naming): RapidJSON names these.
  bool Null() { return handler_.Null(); }
  bool Bool(bool value) { return handler_.Bool(value); }
  // Never called, because numbers arrive as text.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(std::int64_t) { return false; }
  bool Uint64(std::uint64_t) { return false; }
  bool Double(double) { return false; }
  bool RawNumber(const char* text, SizeType length, bool copy) {
    return handler_.RawNumber(text, length, copy);
  }
  bool String(const char* text, SizeType length, bool copy) {
    return IsFine(text, length) && handler_.String(text, length, copy);
  }
  bool Key(const char* text, SizeType length, bool copy) {
    return IsFine(text, length) && handler_.Key(text, length, copy);
  }
  bool StartObject() { return Descend() && handler_.StartObject(); }
  bool EndObject(SizeType count) { return --depth_, handler_.EndObject(count); }
  bool StartArray() { return Descend() && handler_.StartArray(); }
  bool EndArray(SizeType count) { return --depth_, handler_.EndArray(count); }
  // NOLINTEND(readability-identifier-naming)

 private:
  bool IsFine(const char* text, SizeType length) {
    if (IsUtf8({text, length})) return true;
    refused_ = "a string that is not UTF-8";
    return false;
  }
  bool Descend() {
    if (++depth_ <= kDepthMax) return true;
    refused_ = "deeper than 512 levels";
    return false;
  }

  Handler& handler_;
  const char* refused_ = nullptr;
  int depth_ = 0;
};

// Parses the `size` bytes of `stream`, and calls `handler` for them. RapidJSON treats a NUL as the
// end; this returns an error instead of ignoring the rest.
template <unsigned kFlags, typename Stream, typename Handler>
base::Result<void> ParseInto(Handler& handler, Stream& stream, std::size_t size) {
  Filter<Handler> filter(handler);
  rapidjson::Reader reader;
  constexpr unsigned kAllFlags =
      kFlags | rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag;
  const rapidjson::ParseResult result = reader.Parse<kAllFlags>(stream, filter);
  const std::size_t end = stream.Tell();
  if (!result.IsError() && end == size) return {};
  const char* why = !result.IsError()             ? "a NUL byte"
                    : filter.refused() != nullptr ? filter.refused()
                                                  : rapidjson::GetParseError_En(result.Code());
  const std::size_t offset = result.IsError() ? result.Offset() : end;
  return base::Invalid("JSON at offset " + std::to_string(offset) + ": " + why);
}

}  // namespace json::internal
