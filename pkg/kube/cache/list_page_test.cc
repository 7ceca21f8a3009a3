#include "pkg/kube/cache/list_page.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "pkg/json/value.h"

namespace kube {
namespace {

using Items = std::vector<std::string_view>;

TEST(ReadListPage, ReadsTheEnvelopeAndLeavesTheItemsAsText) {
  const std::string body =
      R"({"kind":"PodList","apiVersion":"v1",
          "metadata":{"resourceVersion":"7","continue":"c+/=","remainingItemCount":3},
          "items":[{"metadata":{"name":"a]}"}}, {"b" : [1,2]} ]})";
  const auto page = ReadListPage(body);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->kind, "PodList");
  EXPECT_EQ(page->resource_version, "7");
  EXPECT_EQ(page->continue_token, "c+/=");
  EXPECT_EQ(page->items, (Items{R"({"metadata":{"name":"a]}"}})", R"({"b" : [1,2]})"}));
}

TEST(ReadListPage, LW7_ItemsMayBeNullEmptyOrAbsent) {
  for (const char* items : {R"(,"items":null)", R"(,"items":[])", R"(,"items" : [ ] )", ""}) {
    const std::string body = std::string(R"({"kind":"PodList")") + items + "}\n";
    const auto page = ReadListPage(body);
    ASSERT_TRUE(page) << body;
    EXPECT_EQ(page->kind, "PodList");
    EXPECT_TRUE(page->items.empty());
  }
}

TEST(ReadListPage, OrderOfMembersDoesNotMatter) {
  const std::string body = R"({"items":[1],"metadata":{"resourceVersion":"7"},"kind":"PodList"})";
  const auto page = ReadListPage(body);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->kind, "PodList");
  EXPECT_EQ(page->resource_version, "7");
  EXPECT_EQ(page->items, Items{"1"});
}

TEST(ReadListPage, F32_ItemThatNoParserReadsDoesNotHideTheOthers) {
  const std::string deep = "{\"x\":" + std::string(2000, '[') + std::string(2000, ']') + "}";
  const std::string body = R"({"kind":"PodList","items":[{"a":1},{"b":1e999,"c":"\ud83d"},)" +
                           deep + ",{\"d\":\"\xFF\"},{\"e\":5}]}";
  const auto page = ReadListPage(body);
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_EQ(page->items.size(), 5U);
  EXPECT_EQ(page->items[2], deep);
  EXPECT_EQ(page->items[4], R"({"e":5})");
}

TEST(ReadListPage, F37_WhatIsNotOneObjectIsRefused) {
  for (const char* body : {"", " ", "null", "[]", "\"x\"", "<html>", "{", "{}}", "{} {}",
                           R"({"items":[)", R"({"items":[{]})", R"({"items":[1,]})",
                           R"({"items":[1 2]})", R"({"items":[1]]})", R"({"a":1,})", R"({"a" 1})",
                           R"({a:1})", R"({1:1})", R"({"kind":"PodList","x":"\ud83d"})"}) {
    const auto page = ReadListPage(body);
    ASSERT_FALSE(page) << body;
    EXPECT_EQ(page.error().code, base::ErrorCode::kInvalid);
  }
}

TEST(ReadListPage, TruncatedBodyIsRefusedWhereverItEnds) {
  const std::string body =
      R"({"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[{"a":"\"]"},{"b":[]}]})";
  ASSERT_TRUE(ReadListPage(body));
  for (std::size_t length = 0; length < body.size(); ++length) {
    EXPECT_FALSE(ReadListPage(body.substr(0, length))) << length;
  }
}

TEST(ReadListPage, DamagedBodyIsTakenWithoutHarm) {
  const std::string body = R"({"kind":"PodList","metadata":{},"items":[{"a":"\"]"},{"b":[]}]})";
  std::mt19937 random(5);
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = body;
    for (auto damage = random() % 3 + 1; damage > 0; --damage) {
      damaged[random() % damaged.size()] = "{}[]\",:\\ \xFF"[random() % 10];
    }
    const auto page = ReadListPage(damaged);
    // What a parser reads as an object is a page, and has the same items.
    const auto value = json::Parse(damaged);
    if (!value || !value->IsObject()) continue;
    ASSERT_TRUE(page) << damaged;
    const json::Value* items = value->Find("items");
    if (items == nullptr || !items->IsArray()) continue;
    ASSERT_EQ(page->items.size(), items->items().size()) << damaged;
  }
}

}  // namespace
}  // namespace kube
