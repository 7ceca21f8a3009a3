#include "pkg/json/scanner.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "pkg/json/reader.h"

namespace json {
namespace {

using Found = Scanner::Found;
using Texts = std::vector<std::string>;

// The values of a stream that is scanned in pieces of `size` bytes, trimmed; "!" where it goes bad.
Texts Split(std::string_view stream, std::size_t size) {
  Scanner scanner;
  Texts values;
  std::string value;
  while (!stream.empty()) {
    std::string_view piece = stream.substr(0, size);
    stream.remove_prefix(piece.size());
    while (!piece.empty()) {
      const Scanner::Result result = scanner.Scan(piece);
      value += piece.substr(0, result.used);
      piece.remove_prefix(result.used);
      if (result.found == Found::kBad) {
        values.push_back("!");
        return values;
      }
      if (result.found == Found::kMore) break;
      values.push_back(value.substr(value.find_first_not_of(" \r\n\t")));
      value.clear();
    }
  }
  return values;
}

TEST(Scanner, ControlCharacterInAStringIsBadWhereverItStands) {
  for (std::size_t at = 1; at < 19; ++at) {
    std::string text = "\"" + std::string(18, 'x') + "\"";
    text[at] = '\x1F';
    Scanner scanner;
    const Scanner::Result result = scanner.Scan(text);
    EXPECT_EQ(result.found, Scanner::Found::kBad);
    EXPECT_EQ(result.used, at);
  }
}

TEST(Scanner, WA11_ValuesAreFoundWhereverTheStreamIsSplit) {
  const std::string stream =
      "{\"a\":\"}]\\\"{\"}\r\n{\"b\":[1,{\"c\":null}],\"d\":-1.5e3}{}[]\n\n\"x\\\\\"{"
      "\"\xF0\x9F\x98\x80\":"
      "\"\\ud83d\\ude00\"}";
  const Texts expected = {
      "{\"a\":\"}]\\\"{\"}", "{\"b\":[1,{\"c\":null}],\"d\":-1.5e3}",    "{}", "[]",
      "\"x\\\\\"",           "{\"\xF0\x9F\x98\x80\":\"\\ud83d\\ude00\"}"};
  for (std::size_t size = 1; size <= stream.size(); ++size) {
    EXPECT_EQ(Split(stream, size), expected) << "in pieces of " << size;
  }
}

TEST(Scanner, WA9_PrettyPrintedValueEndsWithItsLastBracket) {
  const std::string value =
      "{\n  \"type\": \"ADDED\",\n  \"object\": {\n    \"a\": [\n      1,\n 2 ]\n  }\n}";
  EXPECT_EQ(Split(value + "\n" + value, 7), (Texts{value, value}));
}

TEST(Scanner, ScalarEndsBeforeTheByteThatFollowsIt) {
  Scanner scanner;
  const Scanner::Result result = scanner.Scan(" 12.5,");
  EXPECT_EQ(result.found, Found::kValue);
  EXPECT_EQ(result.used, 5U);
  EXPECT_EQ(Split("1 true null\n\"a\"", 1), (Texts{"1", "true", "null", "\"a\""}));
}

TEST(Scanner, WhatCannotBeJsonIsBadAtOnce) {
  for (const char* text : {"}",          "]",         ",",
                           ":",          "{]",        "[}",
                           "{1",         "{,",        "{\"a\"}",
                           "{\"a\",",    "{\"a\":}",  "{\"a\":1,}",
                           "{\"a\":1 2", "[,",        "[1,]",
                           "[1 2",       "{\"a\":{{", "{\"a\":\"\n",
                           "<html>",     "HTTP/1.1",  "{\"object\":{\n{\"type\""}) {
    EXPECT_EQ(Split(text, 1).back(), "!") << text;
  }
}

TEST(Scanner, TruncatedValueIsNoValue) {
  const std::string value = "{\"a\":[1,\"\\\"b\",{}]}";
  for (std::size_t length = 0; length < value.size(); ++length) {
    EXPECT_EQ(Split(value.substr(0, length), 3), Texts()) << length;
  }
}

TEST(Scanner, DepthIsBounded) {
  EXPECT_EQ(Split(std::string(10'000, '['), 100), Texts());
  EXPECT_EQ(Split(std::string(10'001, '['), 100), Texts{"!"});
}

TEST(Scanner, WhateverAParserAcceptsHasTheSameEndHere) {
  const std::string alphabet = "{}[]:,\"\\ \n1e-tn";
  std::mt19937 random(7);
  int accepted = 0;
  for (int i = 0; i < 300'000; ++i) {
    std::string text;
    for (auto length = random() % 10 + 1; length > 0; --length) {
      text += alphabet[random() % alphabet.size()];
    }
    Parser parser;
    const auto parsed = parser.Parse(text);
    if (!parsed || text.back() == ' ' || text.back() == '\n') continue;
    ++accepted;
    Scanner scanner;
    const Scanner::Result result = scanner.Scan(text + "\n");  // A scalar needs a byte behind it.
    ASSERT_EQ(result.found, Found::kValue) << text;
    ASSERT_EQ(result.used, text.size()) << text;
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace json
