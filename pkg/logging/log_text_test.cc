#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pkg/logging/text.h"

namespace logging {
namespace {

TEST(LogText, CleanKeepsTextAndReplacesWhatDeceives) {
  struct Row {
    std::string text;
    std::string want;
  };
  const std::string bad = "\xEF\xBF\xBD";
  const std::vector<Row> rows = {
      {"", ""},
      {"plain", "plain"},
      {"caf\xC3\xA9 \xE6\x97\xA5 \xF0\x9F\x98\x80", "caf\xC3\xA9 \xE6\x97\xA5 \xF0\x9F\x98\x80"},
      {"\xFF", bad},
      {"a\xC3", "a" + bad},
      {"\xC0\x80", bad + bad},
      {"\xC2\x9B"
       "31m",
       bad + "31m"},  // C1: a terminal's escape
      {"a\xE2\x80\xAE"
       "b",
       "a" + bad + "b"},  // Right-to-left override
      {"a\xE2\x81\xA6"
       "b",
       "a" + bad + "b"},  // Isolate
      {"a\xE2\x80\xA8"
       "b",
       "a" + bad + "b"},  // Line separator
      {"a\x7F", "a" + bad},
      {"two\nlines", "two\nlines"},
  };
  for (const Row& row : rows) EXPECT_EQ(Clean(row.text), row.want) << Escape(row.text);
}

TEST(LogText, CleanCutsAtTheBoundAndNeverInsideACharacter) {
  EXPECT_EQ(Clean(std::string(kValueBytesMax, 'x')), std::string(kValueBytesMax, 'x'));
  EXPECT_EQ(Clean(std::string(kValueBytesMax + 5, 'x')),
            std::string(kValueBytesMax, 'x') + "...(5 more bytes)");
  EXPECT_EQ(Clean(std::string(kValueBytesMax - 1, 'x') + "\xC3\xA9"),
            std::string(kValueBytesMax - 1, 'x') + "...(2 more bytes)");
  // Replacements are longer than what they stand for, and are bounded all the same.
  EXPECT_LE(Clean(std::string(kValueBytesMax, '\xFF')).size(), kValueBytesMax + 30);
}

TEST(LogText, EscapedTextIsOneLine) {
  EXPECT_EQ(Escape("a\"b\\c\nd\re\tf\x1b[0m\0g"), "a\\\"b\\\\c\\nd\\re\\tf\\x1b[0m");
  EXPECT_EQ(Escape(std::string_view("\0", 1)), "\\x00");
}

TEST(LogText, QuotedTextShowsDoubleQuotesAsTheyAre) {
  struct Row {
    std::string text;
    std::string want;
  };
  const std::vector<Row> rows = {
      {"", R"("")"},
      {"plain", R"("plain")"},
      {R"(a\b)", R"("a\\b")"},
      {R"(unknown field "x")", R"(`unknown field "x"`)"},
      {R"({"MPSSupport":false})", R"(`{"MPSSupport":false}`)"},
      // What could end the quotes, or the line, is escaped.
      {R"("a` b="c")", R"("\"a` b=\"c\"")"},
      {"\"a\"\nb", R"("\"a\"\nb")"},
      {R"("a\")", R"("\"a\\\"")"},
  };
  for (const Row& row : rows) EXPECT_EQ(Quote(row.text), row.want);
}

}  // namespace
}  // namespace logging
