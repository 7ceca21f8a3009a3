#include "pkg/base/text.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace base
