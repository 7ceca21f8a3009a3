#include "pkg/json/slices.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace json {
namespace {

// "name=value" of each slice, and "!" at the end of a malformed text.
std::vector<std::string> SlicesOf(std::string_view text) {
  std::vector<std::string> slices;
  const auto done = ForEachSlice(text, [&](std::string_view name, std::string_view value) {
    slices.push_back(std::string(name) + "=" + std::string(value));
  });
  if (!done) slices.emplace_back("!");
  return slices;
}
using Texts = std::vector<std::string>;

TEST(Slices, ObjectAndArray_PassTheTextOfEachValue) {
  EXPECT_EQ(SlicesOf(R"( { "a" : {"b":[1, 2]} , "c":"}" ,"d":-1.5e3,"e":null } )"),
            (Texts{R"(a={"b":[1, 2]})", R"(c="}")", "d=-1.5e3", "e=null"}));
  EXPECT_EQ(SlicesOf(R"([1 ,"]",[],{}])"), (Texts{"=1", R"(="]")", "=[]", "={}"}));
  EXPECT_EQ(SlicesOf(R"({"a\"\u0062":1})"), Texts{R"(a\"\u0062=1)"});
  EXPECT_EQ(SlicesOf("{}"), Texts());
  EXPECT_EQ(SlicesOf("[ ]"), Texts());
}

TEST(Slices, OtherValue_HasNone) {
  for (const char* text : {"", "null", "7", R"("{}")"}) EXPECT_EQ(SlicesOf(text), Texts()) << text;
}

TEST(Slices, MalformedText_IsTold) {
  for (const char* text : {"{", "[", "[1", "[1,", "[,1]", "[1 2]", "{1:2}", R"({"a"})", R"({"a":})",
                           R"({"a":1,})", R"({"a":1]})", R"({"a":[})", "{}x", "[1]]"}) {
    const Texts found = SlicesOf(text);
    EXPECT_TRUE(!found.empty() && found.back() == "!") << text;
  }
}

TEST(Slices, SliceOf_ReturnsTheLastMemberOfThatName) {
  EXPECT_EQ(SliceOf(R"({"a":1,"b":{"a":2},"a":3})", "a"), "3");
  EXPECT_EQ(SliceOf(R"({"a":1})", "b"), "");
  EXPECT_EQ(SliceOf(R"([{"a":1}])", "a"), "");
  EXPECT_EQ(SliceOf(R"({"a":1)", "a"), "");
}

TEST(Slices, TextOf_ReturnsAStringAlone) {
  EXPECT_EQ(TextOf(R"({"a":"\u0062\n","b":7,"c":"\ud800"})", "a"), "b\n");
  for (const char* name : {"b", "c", "d"}) EXPECT_EQ(TextOf(R"({"b":7,"c":"\ud800"})", name), "");
}

TEST(Slices, DepthOf_CountsBracketsOutsideOfStrings) {
  EXPECT_EQ(DepthOf(R"({"a":[[1],"[[[["],"b":{}})"), 3U);
  EXPECT_EQ(DepthOf("7"), 0U);
  EXPECT_EQ(DepthOf(std::string(600, '[') + std::string(600, ']')), 600U);
}

}  // namespace
}  // namespace json
