#include "pkg/kube/cache/packed.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace kube {
namespace {

struct Thing {
  ObjectMeta meta = {};
  std::string text = {};
  std::vector<std::string> texts = {};
  int number = 0;
  std::optional<std::string> choice = {};
  friend bool operator==(const Thing&, const Thing&) = default;
};

auto Fields(Thing& thing) {
  auto& [meta, text, texts, number, choice] = thing;
  return std::tie(meta, text, texts, number, choice);
}

const std::string kUid = "0f8fad5b-d9cb-469f-a165-70867728950e";

Thing Full() {
  return {.meta = {.key = {.ns = "team-a", .name = "train"},
                   .uid = kUid,
                   .resource_version = "12345",
                   .generation = std::numeric_limits<std::int64_t>::max(),
                   .deleting = true,
                   .deletion_timestamp = "2026-01-02T03:04:05Z",
                   .creation_timestamp = "2026-01-02T03:04:04Z",
                   .finalizers = {"a/b", "c/d"},
                   .owners = {{.api_version = "apps/v1",
                               .kind = "DaemonSet",
                               .name = "imex",
                               .uid = "not-in-the-usual-form",
                               .controller = true}}},
          .text = std::string(300, 'x'),
          .texts = {"", kUid, "two"},
          .number = -1,
          .choice = "one"};
}

TEST(Packed, ObjectComesOutAsItWentIn) {
  EXPECT_EQ(*PackedForm<Thing>(Full()).Open(), Full());
  EXPECT_EQ(*PackedForm<Thing>(Thing()).Open(), Thing());
  EXPECT_EQ(*PackedForm<Thing>({.choice = ""}).Open(), Thing({.choice = ""}));
}

TEST(Packed, WhatOnlyLooksLikeAUidComesOutAsItWentIn) {
  for (const std::string text :
       {"0F8FAD5B-D9CB-469F-A165-70867728950E", "0f8fad5b+d9cb-469f-a165-70867728950e",
        "0f8fad5b-d9cb-469f-a165-70867728950g", "0f8fad5b-d9cb-469f-a165-70867728950"}) {
    EXPECT_EQ(PackedForm<Thing>({.text = text}).Open()->text, text);
  }
}

TEST(Packed, KeyIsReadWithoutTheRestWhateverTheName) {
  const PackedForm<Thing> named({.meta = {.key = {.ns = "team-a", .name = kUid}}});
  EXPECT_EQ(named.key(), (KeyView{.ns = "team-a", .name = kUid}));
  EXPECT_EQ(named.Open()->meta.key.name, kUid);
}

TEST(Packed, IdentityIsKeyUidAndVersion_InEachForm) {
  const ObjectMeta identity = {
      .key = {.ns = "team-a", .name = "train"}, .uid = kUid, .resource_version = "12345"};
  EXPECT_EQ(PackedForm<Thing>(Full()).Identity(), identity);
  EXPECT_EQ(SharedForm<Thing>(Full()).Identity(), identity);
}

TEST(Packed, CopyIsWhatWasOpened_InEachForm) {
  EXPECT_EQ(PackedForm<Thing>(Full()).Copy(), Full());
  EXPECT_EQ(SharedForm<Thing>(Full()).Copy(), Full());
}

TEST(Packed, CopiesShareTheBytes_UntilTheLastIsGone) {
  std::optional<PackedForm<Thing>> first(Full());
  PackedForm<Thing> second = *first;
  PackedForm<Thing> third = std::move(second);
  second = third;
  first.reset();
  third = PackedForm<Thing>({.number = 7});
  EXPECT_EQ(second.Copy(), Full());
  EXPECT_EQ(third.Copy().number, 7);
}

TEST(Packed, KeysSortByNamespaceThenName) {
  const auto held = [](const char* ns, const char* name) {
    return PackedForm<Thing>({.meta = {.key = {.ns = ns, .name = name}}});
  };
  EXPECT_LT(held("a", "z").key(), held("b", "a").key());
  EXPECT_LT(held("a", "a").key(), held("a", "b").key());
}

TEST(Whole, ReadersShareOneObject) {
  const SharedForm<Thing> held(Full());
  EXPECT_EQ(held.Open(), held.Open());
  EXPECT_EQ(held.key(), (KeyView{.ns = "team-a", .name = "train"}));
}

}  // namespace
}  // namespace kube
