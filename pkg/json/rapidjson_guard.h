// The only place that includes RapidJSON. Debian's 1.1.0 has known defects; this is the defence:
//  - numbers are kept as text, so that its conversion of hostile exponents is never reached;
//  - UTF-8 is checked in each string once it is decoded, because its own check reads behind the
//    end, and it decodes the second half of a surrogate pair alone to what is not UTF-8;
//  - its asserts stay on in release, because without them a mistake of ours reads garbage;
//  - the iterative parser and a bound on depth, because the recursive one follows the input's;
//  - its reader alone is used, whose events make trees of our own, because clang 19 refuses to
//    compile document.h.
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

// Hands on events, and stops the parse at what must not come through.
template <typename Handler>
class Filter {
 public:
  explicit Filter(Handler& handler) : handler_(handler) {}

  // Why it stopped the parse; null if it did not.
  const char* refused() const { return refused_; }

  using SizeType = rapidjson::SizeType;
  // NOLINTBEGIN(readability-identifier-naming): RapidJSON names these.
  bool Null() { return handler_.Null(); }
  bool Bool(bool value) { return handler_.Bool(value); }
  // Not called: numbers come as text.
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

// Parses the `size` bytes of `stream`, and tells `handler` of them. The parser takes a NUL for the
// end; what stands behind one must not be ignored.
template <unsigned kFlags, typename Stream, typename Handler>
[[nodiscard]] base::Result<void> ParseInto(Handler& handler, Stream& stream, std::size_t size) {
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
