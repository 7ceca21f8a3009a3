#include "pkg/base/text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace base {
namespace {

TEST(Trim, BlanksAtBothEndsGo) {
  EXPECT_EQ(Trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(Trim("a"), "a");
  EXPECT_EQ(Trim(" \n"), "");
  EXPECT_EQ(Trim(""), "");
}

TEST(ParseGoBool, FormsOfGoAreRead_AndNoOthers) {
  for (const char* text : {"1", "t", "T", "true", "TRUE", "True"})
    EXPECT_EQ(ParseGoBool(text), true);
  for (const char* text : {"0", "f", "F", "false", "FALSE", "False"}) {
    EXPECT_EQ(ParseGoBool(text), false);
  }
  for (const char* text : {"", " true", "yes", "tRUE", "2"})
    EXPECT_FALSE(ParseGoBool(text)) << text;
}

TEST(TakePart, TextIsSplitAtEachEnd) {
  std::vector<std::string> parts;
  for (std::string_view rest = "a::b:"; !rest.empty();) parts.emplace_back(TakePart(rest, ':'));
  EXPECT_EQ(parts, (std::vector<std::string>{"a", "", "b"}));
  std::string_view last = "c";
  EXPECT_EQ(TakePart(last, ':'), "c");
  EXPECT_EQ(last, "");
}

TEST(VersionIn, NumbersAreReadUpToOtherText) {
  EXPECT_EQ(VersionIn("1.7.27"), (std::vector{1, 7, 27}));
  EXPECT_EQ(VersionIn("1.7-rc.1"), (std::vector{1, 7}));
  EXPECT_EQ(VersionIn("2."), std::vector{2});
  EXPECT_TRUE(VersionIn("v1.7").empty());
  EXPECT_TRUE(VersionIn("").empty());
}

}  // namespace
}  // namespace base
