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

TEST(Yaml, S8_TextThatYamlCppNeverFinishesIsRefused) {
  for (const char* text : {",", "a: 1\n,", "]", "}"}) {
    EXPECT_NE(Refusal(ParseOnly(text, "f")), "") << text;
  }
}

TEST(Yaml, MistakeIsNamedByFileAndLine) {
  EXPECT_TRUE(Refusal(ParseFirst("a: 1\nb: [c\nd: e", "f")).starts_with("f:"));
  EXPECT_NE(Refusal(ParseFirst("a: *b", "f")).find("f:1: not YAML: "), std::string::npos);
}

}  // namespace
}  // namespace yaml
