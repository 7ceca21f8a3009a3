#include "pkg/yaml/document.h"

#include <gtest/gtest.h>

namespace yaml {
namespace {

std::string Refusal(const base::Result<YAML::Node>& parsed) {
  return parsed ? "" : parsed.error().message;
}

TEST(Yaml, DocumentIsTheOnlyOneOrTheFirst) {
  EXPECT_EQ(Refusal(ParseOnly("a: 1\n", "f")), "");
  EXPECT_EQ(Refusal(ParseOnly("---\na: 1\n", "f")), "");
  for (const char* text : {"", "a: 1\n---\nb: 2\n"}) {
    EXPECT_EQ(Refusal(ParseOnly(text, "f")), "f: write one document") << text;
    EXPECT_EQ(Refusal(ParseFirst(text, "f")), "") << text;
  }
  EXPECT_EQ((*ParseFirst("a: 1\n---\na: 2\n", "f"))["a"].Scalar(), "1");
}

TEST(Yaml, Z8_TextThatYamlCppNeverFinishesIsRefused) {
  for (const char* text : {",", "a: 1\n,", "]", "}"}) {
    EXPECT_NE(Refusal(ParseOnly(text, "f")), "") << text;
  }
}

TEST(Yaml, MistakeIsNamedByFileAndLine) {
  EXPECT_TRUE(Refusal(ParseFirst("a: 1\nb: [c\nd: e", "f")).starts_with("f:"));
  EXPECT_NE(Refusal(ParseFirst("a: *b", "f")).find("f:1: not YAML: "), std::string::npos);
}

TEST(Yaml, ValuesAreJsonsWhereTheyAreNotQuoted) {
  const auto node = ParseFirst(
      "{a: 1, b: '1', c: -2.5e3, d: true, e: \"false\", f: ~, g: , h: 0x10, i: [on, 1 2], j: !!str "
      "7}",
      "f");
  ASSERT_TRUE(node) << Refusal(node);
  const auto value = ToJson(*node);
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(json::Serialize(*value),
            R"({"a":1,"b":"1","c":-2.5e3,"d":true,"e":"false","f":null,"g":null,"h":"0x10",)"
            R"("i":["on","1 2"],"j":"7"})");
}

TEST(Yaml, S8_ValueThatAliasesMakeHugeIsRefused) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = ", *a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [x";
    for (int times = 0; times < 9; ++times) text += before;
    text += "]\n";
  }
  const auto node = ParseFirst(text, "f");
  ASSERT_TRUE(node) << Refusal(node);
  const auto value = ToJson((*node)["a8"]);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().message, "more than 1000 values or 32 levels");
  EXPECT_FALSE(ToJson((*ParseFirst(std::string(40, '[') + std::string(40, ']'), "f"))));
}

}  // namespace
}  // namespace yaml
