#include "pkg/kube/api/meta.h"

#include <gtest/gtest.h>

#include <string>

#include "pkg/kube/api/resource.h"

namespace kube {
namespace {

base::Result<ObjectMeta> Decode(std::string_view text) {
  json::Parser parser;
  const auto view = parser.Parse(text);
  EXPECT_TRUE(view) << view.error().message;
  return DecodeMeta(*view);
}

TEST(DecodeMeta, ReadsWhatAControllerNeeds) {
  const auto meta = Decode(R"({"kind":"Pod","metadata":{
      "name":"a","namespace":"ns","uid":"u-1","resourceVersion":"7","generation":3,
      "creationTimestamp":"2026-01-01T00:00:00Z","deletionTimestamp":"2026-01-02T00:00:00Z",
      "finalizers":["x/y","z"],"managedFields":[{"manager":"m"}],
      "ownerReferences":[
        {"apiVersion":"v1","kind":"Node","name":"n","uid":"u-2"},
        {"apiVersion":"apps/v1","kind":"DaemonSet","name":"d","uid":"u-3","controller":true}]}})");
  ASSERT_TRUE(meta);
  const ObjectMeta expected = {
      .key = {.ns = "ns", .name = "a"},
      .uid = "u-1",
      .resource_version = "7",
      .generation = 3,
      .deleting = true,
      .deletion_timestamp = "2026-01-02T00:00:00Z",
      .creation_timestamp = "2026-01-01T00:00:00Z",
      .finalizers = {"x/y", "z"},
      .owners = {{.api_version = "v1", .kind = "Node", .name = "n", .uid = "u-2"},
                 {.api_version = "apps/v1",
                  .kind = "DaemonSet",
                  .name = "d",
                  .uid = "u-3",
                  .controller = true}}};
  EXPECT_EQ(*meta, expected);
  ASSERT_NE(meta->ControllerOwner(), nullptr);
  EXPECT_EQ(meta->ControllerOwner()->uid, "u-3");
  EXPECT_TRUE(meta->HasFinalizer("z"));
  EXPECT_FALSE(meta->HasFinalizer("x"));
}

TEST(DecodeMeta, ObjectWithoutOwnersHasNoController) {
  const auto meta = Decode(R"({"metadata":{"name":"a","uid":"u","resourceVersion":"1"}})");
  ASSERT_TRUE(meta);
  EXPECT_EQ(meta->ControllerOwner(), nullptr);
  EXPECT_FALSE(meta->deleting);
  EXPECT_EQ(meta->generation, 0);
}

TEST(DecodeMeta, F37_ObjectWithoutIdentityIsRefusedByName) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({})", "name"},
      {R"([])", "name"},
      {R"({"metadata":null})", "name"},
      {R"({"metadata":"x"})", "name"},
      {R"({"metadata":{"name":["a"],"uid":"u","resourceVersion":"1"}})", "name"},
      {R"({"metadata":{"name":"a","resourceVersion":"1"}})", "uid"},
      {R"({"metadata":{"name":"a","uid":"","resourceVersion":"1"}})", "uid"},
      {R"({"metadata":{"name":"a","uid":"u"}})", "resourceVersion"},
  };
  for (const auto& [text, missing] : rows) {
    const auto meta = Decode(text);
    ASSERT_FALSE(meta) << text;
    EXPECT_EQ(meta.error().code, base::ErrorCode::kInvalid);
    EXPECT_EQ(meta.error().message, std::string("metadata has no ") + missing);
  }
}

TEST(DecodeMeta, F37_WrongTypesInsideReadAsEmpty) {
  const auto meta = Decode(R"({"metadata":{"name":"a","uid":"u","resourceVersion":"1",
      "generation":"x","finalizers":{"a":1},"ownerReferences":["x",null,{"controller":"true"}]}})");
  ASSERT_TRUE(meta);
  EXPECT_EQ(meta->generation, 0);
  EXPECT_TRUE(meta->finalizers.empty());
  EXPECT_EQ(meta->ControllerOwner(), nullptr);
}

TEST(ObjectKey, IsWrittenWithItsNamespaceIfItHasOne) {
  EXPECT_EQ(ToString(ObjectKey{.ns = "ns", .name = "a"}), "ns/a");
  EXPECT_EQ(ToString(ObjectKey{.name = "node"}), "node");
}

TEST(Condition, SurvivesEncodingAndDecoding) {
  const Condition condition = {.type = "Ready",
                               .status = "False",
                               .reason = "NodesMissing",
                               .message = "2 of 3 \"nodes\"",
                               .observed_generation = 4,
                               .last_transition_time = "2026-01-01T00:00:00Z"};
  json::Parser parser;
  const std::string text = json::Serialize(Encode(condition));
  const auto view = parser.Parse(text);
  ASSERT_TRUE(view);
  EXPECT_EQ(DecodeCondition(*view), condition);
}

TEST(Condition, UnknownGenerationIsLeftOut) {
  EXPECT_EQ(Encode(Condition{.type = "Ready"}).Find("observedGeneration"), nullptr);
  EXPECT_NE(Encode(Condition{.type = "Ready"}).Find("message"), nullptr);  // The API requires it.
}

TEST(ResourceVersion, RV3_IsComparedByLengthThenDigits) {
  EXPECT_TRUE(IsOlder("9", "10"));
  EXPECT_TRUE(IsOlder("99", "100"));
  EXPECT_TRUE(IsOlder("123", "124"));
  EXPECT_FALSE(IsOlder("10", "9"));
  EXPECT_FALSE(IsOlder("10", "10"));
  EXPECT_TRUE(IsOlder("18446744073709551616", "18446744073709551617"));  // Beyond 64 bits.
  EXPECT_TRUE(IsOlder("18446744073709551616", "340282366920938463463374607431768211455"));
}

TEST(ResourceVersion, RV3_WhatIsNotWellFormedIsNeitherOlderNorNewer) {
  for (const char* opaque : {"", "0", "01", "-1", "1a", "a", " 1", "1 ", "1.0",
                             "1234567890123456789012345678901234567890"}) {
    EXPECT_FALSE(IsWellFormedVersion(opaque)) << opaque;
    EXPECT_FALSE(IsOlder(opaque, "5")) << opaque;
    EXPECT_FALSE(IsOlder("5", opaque)) << opaque;
  }
  EXPECT_TRUE(IsWellFormedVersion("1"));
  EXPECT_TRUE(IsWellFormedVersion("340282366920938463463374607431768211455"));
}

TEST(Resource, IsNamedAsTheApiAndRbacNameIt) {
  EXPECT_EQ(kNodes.ApiVersion(), "v1");
  EXPECT_EQ(kNodes.QualifiedName(), "nodes");
  EXPECT_EQ(kDaemonSets.ApiVersion(), "apps/v1");
  EXPECT_EQ(kDaemonSets.QualifiedName(), "daemonsets.apps");
}

}  // namespace
}  // namespace kube
