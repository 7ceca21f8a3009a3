#include "pkg/json/repair.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <string_view>

#include "pkg/json/value.h"

namespace json {
namespace {

std::string RepairedAndRead(std::string_view text) {
  EXPECT_FALSE(Parse(text)) << "needs no repair: " << text;
  const auto value = Parse(Repair(text));
  return value ? Serialize(*value) : "refused: " + value.error().message;
}

std::string Nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

TEST(Repair, WhatIsReadAlreadyStaysAsItIs) {
  const std::string text =
      "{\"a\": [1, 2.50, -3e2], \"\\ud83d\\ude00\\n\\\"\": \"\xC3\xA9\\\\\", \"n\": null}";
  EXPECT_EQ(Repair(text), text);
  EXPECT_EQ(Repair(Nested(512)), Nested(512));
}

TEST(Repair, HalfOfASurrogatePairBecomesTheReplacementCharacter) {
  EXPECT_EQ(RepairedAndRead(R"(["\ud83d"])"), "[\"\xEF\xBF\xBD\"]");
  EXPECT_EQ(RepairedAndRead(R"(["\ude00x\ud83d"])"), "[\"\xEF\xBF\xBDx\xEF\xBF\xBD\"]");
  EXPECT_EQ(RepairedAndRead(R"(["\ud83d\ud83d\ude00"])"), "[\"\xEF\xBF\xBD\xF0\x9F\x98\x80\"]");
  EXPECT_EQ(RepairedAndRead(R"({"\ud83d\n":1})"), "{\"\xEF\xBF\xBD\\n\":1}");
}

TEST(Repair, BytesThatAreNotUtf8BecomeTheReplacementCharacter) {
  EXPECT_EQ(RepairedAndRead("[\"a\xFF\xC3\xA9\xE2\x82\"]"),
            "[\"a\xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD\"]");
}

TEST(Repair, WhatLiesDeeperThan512LevelsBecomesNull) {
  EXPECT_EQ(Repair(Nested(513)), std::string(512, '[') + "null" + std::string(512, ']'));
  const auto value = Parse(Repair("{\"deep\":" + Nested(9000) + ",\"metadata\":{\"name\":\"a\"}}"));
  ASSERT_TRUE(value);
  EXPECT_EQ((*value)["metadata"]["name"].AsString(), "a");
  const std::string objects = [] {
    std::string text;
    for (int i = 0; i < 600; ++i) text += "{\"]}\\\"\":";
    return text + "1" + std::string(600, '}');
  }();
  EXPECT_TRUE(Parse(Repair(objects)));
}

TEST(Repair, NumberBeyondADoubleBecomesNull) {
  EXPECT_EQ(RepairedAndRead("{\"a\":1e400,\"b\":[-2E+999],\"c\":1e20}"),
            "{\"a\":null,\"b\":[null],\"c\":1e20}");
  EXPECT_EQ(RepairedAndRead("[" + std::string(400, '9') + ",7]"), "[null,7]");
  // A sign is no digit of the exponent.
  EXPECT_EQ(RepairedAndRead("[1e999,1e-20,-2E+30]"), "[null,1e-20,-2E+30]");
}

TEST(Repair, WhatIsNotJsonStaysRefused) {
  for (const char* text :
       {"", "{", "[1,]", "\"a", "\"\\", "\"\\u", "\"\\ud8", "{\"a\":tru}", "}}}"}) {
    EXPECT_FALSE(Parse(Repair(text))) << text;
  }
}

TEST(Repair, AnyStringIsReadAsGoReadsIt) {
  struct Piece {
    std::string_view written;
    std::string_view read;
  };
  // Behind half of a pair comes an "x", so that two pieces never make a whole one.
  const std::array pieces = {Piece{"a", "a"},
                             Piece{"\\n", "\n"},
                             Piece{"\\ud83d\\ude00", "\xF0\x9F\x98\x80"},
                             Piece{"\xC3\xA9", "\xC3\xA9"},
                             Piece{"\\ud800x", "\xEF\xBF\xBDx"},
                             Piece{"\xFF", "\xEF\xBF\xBD"},
                             Piece{"\\\"]", "\"]"}};
  std::mt19937 random(5);
  for (int i = 0; i < 2'000; ++i) {
    std::string text = "[1,\"";
    std::string wanted;
    for (auto length = random() % 20; length > 0; --length) {
      const Piece& piece = pieces.at(random() % pieces.size());
      text += piece.written;
      wanted += piece.read;
    }
    const auto value = Parse(Repair(text + "\",{\"b\":2e1}]"));
    ASSERT_TRUE(value) << text;
    ASSERT_EQ(value->items().size(), 3U) << text;
    ASSERT_EQ(value->items()[1].AsString(), wanted) << text;
  }
}

TEST(Repair, AnyBytesAreTakenWithoutHarm) {
  std::mt19937 random(3);
  const std::string alphabet = "{}[]\"\\ud8cdef0019-eE.\xF0\x9F\x98\x80\xFF:,";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (auto length = random() % 40; length > 0; --length) {
      text += alphabet[random() % alphabet.size()];
    }
    const std::string repaired = Repair(text);
    ASSERT_LE(repaired.size(), text.size() * 6);
    ASSERT_EQ(Repair(repaired), repaired) << text;
    if (Parse(text)) {
      ASSERT_EQ(repaired, text);
    }
  }
}

}  // namespace
}  // namespace json
