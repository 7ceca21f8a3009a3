// The first part is one test for each known defect of the library underneath: it must not come
// through.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "pkg/json/reader.h"
#include "pkg/json/value.h"

namespace json {
namespace {

using base::ErrorCode;

// Both ways in, on a copy of the exact size, so that the address sanitizer sees what reads beyond
// it.
bool Refuses(std::string_view text) {
  const auto copy = std::make_unique<char[]>(text.size());
  std::memcpy(copy.get(), text.data(), text.size());
  const std::string_view exact(copy.get(), text.size());
  Parser parser;
  const auto view = parser.Parse(exact);
  const auto value = Parse(exact);
  EXPECT_EQ(view.has_value(), value.has_value()) << "the two ways in disagree";
  if (!view) {
    EXPECT_EQ(view.error().code, ErrorCode::kInvalid);
  }
  if (!value) {
    EXPECT_EQ(value.error().code, ErrorCode::kInvalid);
  }
  return !view && !value;
}

std::string Nested(int levels) {
  const auto count = static_cast<std::size_t>(levels);
  return std::string(count, '[') + std::string(count, ']');
}

Value MustParse(std::string_view text) {
  auto value = Parse(text);
  EXPECT_TRUE(value) << value.error().message;
  return value ? *std::move(value) : Value();
}

TEST(JsonDefects, ExponentFarBelowZeroIsKeptAsText) {
  const std::string number = "0." + std::string(40, '0') + "e-2147483639";
  EXPECT_EQ(Serialize(MustParse("[" + number + "]")), "[" + number + "]");
  Parser parser;
  const auto view = parser.Parse("[" + number + "]");
  ASSERT_TRUE(view);
  EXPECT_EQ(view->at(0).AsInt(), std::nullopt);
}

TEST(JsonDefects, LeadByteAtTheEndIsRefusedWithoutReadingOn) {
  for (const char* lead : {"\xC3", "\xE2", "\xE2\x82", "\xF0", "\xF0\x9F", "\xF0\x9F\x98"}) {
    EXPECT_TRUE(Refuses(std::string("\"") + lead)) << lead;
    EXPECT_TRUE(Refuses(lead));
    EXPECT_TRUE(Refuses(std::string("\"") + lead + "\""));
  }
}

TEST(JsonDefects, WrongTypeReadsAsEmpty) {
  Parser parser;
  const auto parsed =
      parser.Parse(R"({"number":1,"digits":"5","text":"a","flag":true,"list":[1],"null":null})");
  ASSERT_TRUE(parsed);
  const View view = *parsed;
  EXPECT_EQ(view["list"].AsString(), "");
  EXPECT_EQ(view["text"].AsInt(), std::nullopt);
  EXPECT_EQ(view["digits"].AsInt(), std::nullopt);
  EXPECT_EQ(view["number"].AsString(), "");
  EXPECT_EQ(view["list"].AsInt(), std::nullopt);
  EXPECT_FALSE(view["text"].AsBool());
  EXPECT_EQ(view["text"].size(), 0U);
  EXPECT_EQ(view["flag"].AsString(), "");
  EXPECT_TRUE(view["null"].IsNull());
  EXPECT_TRUE(view["missing"].IsNull());
  EXPECT_TRUE(view["text"]["deeper"]["still"].IsNull());
  EXPECT_TRUE(view["list"]["0"].IsNull());
  EXPECT_TRUE(view["list"].at(1).IsNull());
  EXPECT_TRUE(view["text"].at(0).IsNull());
  EXPECT_EQ(view["list"].name_at(0), "");
  EXPECT_EQ(View().size(), 0U);

  const Value value = MustParse(R"({"number":1,"text":"5","list":[1]})");
  EXPECT_EQ(value["number"].AsString(), "");
  EXPECT_EQ(value["text"].AsInt(), std::nullopt);
  EXPECT_EQ(value["list"]["x"], Value());
  EXPECT_TRUE(value["text"].items().empty());
  EXPECT_TRUE(value["list"].members().empty());
}

TEST(JsonDefects, DepthOf512IsReadAnd513IsRefused) {
  EXPECT_FALSE(Refuses(Nested(512)));
  EXPECT_TRUE(Refuses(Nested(513)));
  std::string objects;
  for (int i = 0; i < 512; ++i) objects += "{\"a\":";
  EXPECT_FALSE(Refuses(objects + "1" + std::string(512, '}')));
  EXPECT_TRUE(Refuses(objects + "{}" + std::string(512, '}')));
}

TEST(JsonDefects, DepthOf100000DoesNotOverflowTheStack) {
  EXPECT_TRUE(Refuses(Nested(100'000)));
  EXPECT_TRUE(Refuses(std::string(100'000, '[')));
  EXPECT_TRUE(Refuses(std::string(1'000'000, '{')));
}

TEST(JsonDefects, DeepestValueIsCopiedComparedWrittenAndDestroyed) {
  const Value value = MustParse(Nested(512));
  const Value copy = value;
  EXPECT_EQ(copy, value);
  EXPECT_EQ(Serialize(copy), Nested(512));
}

TEST(JsonDefects, NulByteDoesNotHideWhatFollows) {
  using std::string_view_literals::operator""sv;
  EXPECT_TRUE(Refuses("{\"a\":1}\0"sv));
  EXPECT_TRUE(Refuses("{\"a\":1}\0{\"b\":2}"sv));
  EXPECT_TRUE(Refuses("{\"a\":\0 1}"sv));
  EXPECT_TRUE(Refuses("\"a\0b\""sv));
  EXPECT_TRUE(Refuses("\0"sv));
  EXPECT_TRUE(Refuses(" \0"sv));
}

TEST(JsonDefects, EscapedNulStaysInsideItsString) {
  using std::string_literals::operator""s;
  Parser parser;
  const auto view = parser.Parse("[\"a\\u0000b\"]");
  ASSERT_TRUE(view);
  EXPECT_EQ(view->at(0).AsString(), "a\0b"s);
  EXPECT_EQ(Serialize(MustParse("\"a\\u0000b\"")), "\"a\\u0000b\"");
}

TEST(JsonDefects, NumberBeyondADoubleIsATypedErrorAndNoCrash) {
  EXPECT_TRUE(Refuses("1e400"));
  EXPECT_TRUE(Refuses("[" + std::string(400, '9') + "]"));
  EXPECT_FALSE(Refuses("[1e308,-1e308,1e-400,0e99]"));
}

TEST(JsonDefects, LastOfSeveralMembersWithOneNameCounts) {
  Parser parser;
  const auto view = parser.Parse(R"({"a":1,"b":2,"a":{"c":3},"b":4})");
  ASSERT_TRUE(view);
  EXPECT_EQ((*view)["a"]["c"].AsInt(), 3);
  EXPECT_EQ((*view)["b"].AsInt(), 4);
  EXPECT_EQ(Serialize(MustParse(R"({"a":1,"b":2,"a":{"c":3},"b":4})")), R"({"a":{"c":3},"b":4})");
  EXPECT_EQ(Serialize(MustParse(R"({"a":[{"x":1,"x":2}],"a":[{"x":3,"y":4,"x":5}]})")),
            R"({"a":[{"y":4,"x":5}]})");
}

TEST(JsonDefects, ManyMembersTakeLinearTime) {
  constexpr int kMembers = 200'000;  // Quadratic time would be minutes.
  std::string text = "{";
  for (int i = 0; i < kMembers; ++i) text += "\"" + std::to_string(i) + "\":1,";
  text += "\"last\":2}";
  EXPECT_EQ(MustParse(text).members().size(), kMembers + 1U);
}

TEST(JsonDefects, NumbersKeepTheirText) {
  const std::string text = "[1.0,1e2,-0,0.10,18446744073709551616,123456789012345678901234567890]";
  EXPECT_EQ(Serialize(MustParse(text)), text);
}

TEST(JsonDefects, LoneSurrogateIsRefused) {
  EXPECT_TRUE(Refuses(R"("\ud83d")"));
  EXPECT_TRUE(Refuses(R"("\ud83dx")"));
  EXPECT_TRUE(Refuses(R"("\ude00")"));
  EXPECT_EQ(MustParse(R"("\ud83d\ude00")").AsString(), "\xF0\x9F\x98\x80");
}

TEST(JsonDefects, ParserIsCleanAfterAnError) {
  Parser parser;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(parser.Parse(R"({"a":[1,2,{"b":"c)"));
    EXPECT_FALSE(parser.Parse(Nested(600)));
    const auto view = parser.Parse(R"({"a":"b"})");
    ASSERT_TRUE(view);
    EXPECT_EQ((*view)["a"].AsString(), "b");
  }
}

TEST(Json, WhatIsNotExactlyOneValueIsRefused) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "}",
                           "[1,]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "1 2",
                           "{}{}",
                           "nul",
                           "tru",
                           "01",
                           "+1",
                           "1.",
                           ".5",
                           "1e",
                           "-",
                           "'a'",
                           "\"a",
                           "\"\\x\"",
                           "\"\\u12g4\"",
                           "\"\n\"",
                           "NaN",
                           "Infinity",
                           "// c\n1",
                           "/* c */1",
                           "\xEF\xBB\xBF{}"}) {
    EXPECT_TRUE(Refuses(text)) << text;
  }
}

TEST(Json, ErrorNamesTheOffset) {
  const auto value = Parse("{\"a\":1,}");
  ASSERT_FALSE(value);
  EXPECT_NE(value.error().message.find("offset 7"), std::string::npos) << value.error().message;
}

TEST(Json, IntegerIsReadOnlyIfItFits) {
  const Value value = MustParse(
      R"([9223372036854775807,-9223372036854775808,9223372036854775808,1.0,1e2,-0,true])");
  const auto at = [&](std::size_t i) { return value.items().at(i).AsInt(); };
  EXPECT_EQ(at(0), 9223372036854775807LL);
  EXPECT_EQ(at(1), -9223372036854775807LL - 1);
  EXPECT_EQ(at(2), std::nullopt);
  EXPECT_EQ(at(3), std::nullopt);
  EXPECT_EQ(at(4), std::nullopt);
  EXPECT_EQ(at(5), 0);
  EXPECT_EQ(at(6), std::nullopt);
  Parser parser;
  const auto view = parser.Parse("[9223372036854775807,9223372036854775808]");
  ASSERT_TRUE(view);
  EXPECT_EQ(view->at(0).AsInt(), 9223372036854775807LL);
  EXPECT_EQ(view->at(1).AsInt(), std::nullopt);
}

TEST(Json, EscapesAreReadAndWritten) {
  const Value value = MustParse(R"("\"\\\/\b\f\n\r\t\u00e9\u0001")");
  EXPECT_EQ(value.AsString(), "\"\\/\b\f\n\r\t\xC3\xA9\x01");
  EXPECT_EQ(Serialize(value), "\"\\\"\\\\/\\u0008\\u000c\\n\\u000d\\u0009\xC3\xA9\\u0001\"");
  EXPECT_EQ(MustParse(Serialize(value)), value);
}

TEST(Json, WhatMustBeEscapedIsSeenWhereverItStands) {
  for (const char c : {'"', '\\', '\n', '\x01', '\x1F'}) {
    for (std::size_t at = 0; at < 18; ++at) {
      std::string text(18, 'x');
      text[at] = c;
      EXPECT_EQ(MustParse(Serialize(text)).AsString(), text) << at;
    }
  }
}

TEST(Json, InvalidUtf8IsWrittenAsTheReplacementCharacterAndItsNeighboursStay) {
  EXPECT_EQ(Serialize(Value("\xC3\xA9\xFF\xE2\x82z")),
            "\"\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz\"");
  EXPECT_EQ(Serialize(Value::Object({{"\x80", 1}})), "{\"\xEF\xBF\xBD\":1}");
}

TEST(Json, Z9_OneLineHasNothingThatATerminalObeys) {
  struct Row {
    std::string text;
    std::string want;
  };
  const std::vector<Row> rows = {
      {"caf\xC3\xA9 \xE6\x97\xA5 \xF0\x9F\x98\x80", "caf\xC3\xA9 \xE6\x97\xA5 \xF0\x9F\x98\x80"},
      {"a\x1b[31mb\n", "a [31mb "},
      {"a\x7F", "a "},
      {"\xC2\x9B 31m", "  31m"},  // C1
      {"a\xE2\x80\xAE"
       "b",
       "a b"},  // Right-to-left override
      {"a\xE2\x81\xA6"
       "b",
       "a b"},                         // Isolate
      {"\xE2\x80\xA8\xD8\x9C", "  "},  // Line separator, Arabic letter mark
      {"\xFF"
       "a\xC3",
       "?a?"},
  };
  for (const Row& row : rows) EXPECT_EQ(OneLine(row.text, 100), row.want);
  EXPECT_EQ(OneLine("ab\xC3\xA9", 3), "ab") << "and no half of a character";
}

// Two names that differ by one of these would look the same.
TEST(Json, REV3_X16_OneLine_ShowsInvisibleCharactersAsSpaces) {
  const std::vector<std::string> invisible = {
      "\xE2\x80\x8B",      // U+200B zero width space
      "\xE2\x80\x8C",      // U+200C zero width non-joiner
      "\xE2\x80\x8D",      // U+200D zero width joiner
      "\xE2\x81\xA0",      // U+2060 word joiner
      "\xE2\x81\xA4",      // U+2064 invisible plus
      "\xEF\xBB\xBF",      // U+FEFF byte order mark
      "\xF3\xA0\x80\x80",  // U+E0000, the first of the tags
      "\xF3\xA0\x81\xBF",  // U+E007F, the last
  };
  for (const std::string& character : invisible) {
    EXPECT_EQ(OneLine("a" + character + "b", 100), "a b");
  }
  for (const std::string neighbour :
       {"\xE2\x80\x8A", "\xE2\x80\x90", "\xE2\x81\x9F", "\xF3\x9F\xBF\xBF", "\xF3\xA0\x82\x80"}) {
    EXPECT_EQ(OneLine(neighbour, 100), neighbour);
  }
}

TEST(Json, Utf8IsWhatRfc3629Says) {
  for (const char* text : {"", "a", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
                           "\xEE\x80\x80", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  for (const char* text :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xC2", "\xC2z", "\xE1\x80z"}) {
    EXPECT_FALSE(IsUtf8(text));
  }
}

TEST(Json, OrderOfMembersIsKept) {
  const std::string text = R"({"z":1,"a":{"y":[],"b":{}},"m":[null,true,false,"x"]})";
  EXPECT_EQ(Serialize(MustParse(text)), text);
  Parser parser;
  const auto view = parser.Parse(text);
  ASSERT_TRUE(view);
  std::string names;
  view->ForEachMember([&](std::string_view name, View) { names += name; });
  EXPECT_EQ(names, "zam");
}

TEST(Json, EditChangesNothingElse) {
  Value value = MustParse(R"({"kind":"Lease","unknown":1.50,"spec":{"a":"b","holder":"x"}})");
  value["spec"]["holder"] = "y";
  value["spec"]["count"] = 3;
  EXPECT_TRUE(value["spec"].Erase("a"));
  EXPECT_FALSE(value["spec"].Erase("a"));
  EXPECT_EQ(Serialize(value), R"({"kind":"Lease","unknown":1.50,"spec":{"holder":"y","count":3}})");
}

TEST(Json, MembersAndItemsAreMadeWhereTheyAreMissing) {
  Value value;
  value["a"]["b"] = "c";
  value["list"].Append(1);
  value["list"].Append(Value::Object({{"x", true}}));
  value["empty"] = Value::Object();
  value["none"] = Value::Array();
  EXPECT_EQ(Serialize(value), R"({"a":{"b":"c"},"list":[1,{"x":true}],"empty":{},"none":[]})");
  value["a"].Append("now a list");
  EXPECT_EQ(Serialize(value["a"]), R"(["now a list"])");
}

TEST(Json, TextOfAUserCannotChangeTheShape) {
  const std::string hostile = "x\",\"admin\":true,\"y\":\"\\";
  const Value value = Value::Object({{"name", hostile}});
  EXPECT_EQ(MustParse(Serialize(value)), value);
  EXPECT_EQ(MustParse(Serialize(value)).members().size(), 1U);
}

TEST(Json, LargeTextIsReadAndItsMemoryGivenBack) {
  Parser parser;
  const std::string large = "[\"" + std::string(3U << 20U, 'x') + "\"]";
  ASSERT_TRUE(parser.Parse(large));
  const auto view = parser.Parse("[\"small\"]");
  ASSERT_TRUE(view);
  EXPECT_EQ(view->at(0).AsString(), "small");
}

// ---- Random values.

Value RandomValue(std::mt19937& random, int depth) {
  static const std::string texts[] = {"",
                                      "a",
                                      "\"",
                                      "\\",
                                      "\n\t\x01",
                                      "\xC3\xA9",
                                      "\xF0\x9F\x98\x80",
                                      std::string("a\0b", 3),
                                      "longer than a short string may be"};
  const auto kind = random() % (depth == 0 ? 5 : 7);
  switch (kind) {
    case 0:
      return Value();
    case 1:
      return Value(random() % 2 == 0);
    case 2:
      return Value(static_cast<std::int64_t>(random()) - (1LL << 31));
    case 3:
      return Value::RawNumber(random() % 2 == 0 ? "1.0" : "-12e-3");
    case 4:
      return Value(texts[random() % std::size(texts)]);
    case 5: {
      Value list = Value::Array();
      for (auto i = random() % 4; i > 0; --i) list.Append(RandomValue(random, depth - 1));
      return list;
    }
    default: {
      Value object = Value::Object();
      for (auto i = random() % 4; i > 0; --i) {
        object[texts[random() % std::size(texts)]] = RandomValue(random, depth - 1);
      }
      return object;
    }
  }
}

bool Same(const Value& value, View view) {
  if (value.IsObject()) {
    bool same = view.IsObject() && view.size() == value.members().size();
    for (const auto& [name, member] : value.members()) same = same && Same(member, view[name]);
    return same;
  }
  if (value.IsArray()) {
    bool same = view.IsArray() && view.size() == value.items().size();
    for (std::size_t i = 0; same && i < view.size(); ++i) {
      same = Same(value.items()[i], view.at(i));
    }
    return same;
  }
  if (value.IsString()) return view.AsString() == value.AsString();
  return value.IsNull() == view.IsNull() && value.AsBool() == view.AsBool() &&
         value.AsInt() == view.AsInt();
}

TEST(Json, WhatIsWrittenIsReadBackTheSame) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    const Value value = RandomValue(random, 4);
    const std::string text = Serialize(value);
    ASSERT_EQ(MustParse(text), value) << "seed " << seed;
    ASSERT_EQ(Serialize(MustParse(text)), text) << "seed " << seed;
    Parser parser;
    const auto view = parser.Parse(text);
    ASSERT_TRUE(view && Same(value, *view)) << "seed " << seed;
  }
}

TEST(Json, DamagedTextIsReadOrRefusedTheSameWayByBoth) {
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    std::string text = Serialize(RandomValue(random, 4));
    for (auto damage = random() % 3 + 1; damage > 0 && !text.empty(); --damage) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    (void)Refuses(text);
  }
}

}  // namespace
}  // namespace json
