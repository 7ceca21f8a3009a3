#include "pkg/kube/client/patch_by_put.h"

#include <gtest/gtest.h>

#include "pkg/json/value.h"
#include "pkg/kube/client/request.h"

namespace kube {
namespace {

using base::ErrorCode;
using json::Value;

const Resource kJobs = {.group = "batch.example", .version = "v1", .plural = "jobs", .kind = "Job"};
const Resource kNodesResource = {
    .version = "v1", .plural = "nodes", .kind = "Node", .namespaced = false};
const ObjectKey kTrain = {.ns = "team-a", .name = "train"};

Value Locked(const std::string& version, const std::string& uid = "u1") {
  return Value::Object({{"uid", uid}, {"resourceVersion", version}});
}

constexpr std::string_view kStored =
    R"({"kind":"Job","metadata":{"name":"train","uid":"u1","resourceVersion":"7",)"
    R"("finalizers":["a"]},"spec":{"numNodes":1.50,"x":null},"status":{"status":"Ready"}})";

// What a PUT would write of the stored object; or the code of the error.
std::string WrittenBy(const http::Request& patch, std::string_view stored = kStored) {
  const auto put = PutInstead(patch, stored);
  if (!put) return put.error().code == ErrorCode::kConflict ? "conflict" : put.error().message;
  EXPECT_EQ(put->method, http::Method::kPut);
  EXPECT_EQ(put->path, patch.path);
  EXPECT_EQ(put->content_type, "application/json");
  return put->body;
}

TEST(RightFor, C20_NamesWhatRbacNames) {
  const auto text = [](const http::Request& request) {
    const Permission right = PermissionFor(request);
    return right.verb + " " + right.resource;
  };
  EXPECT_EQ(text(MergePatchRequest(kJobs, kTrain, {}, "status")), "patch jobs/status");
  EXPECT_EQ(text(MergePatchRequest(kJobs, kTrain, {})), "patch jobs");
  EXPECT_EQ(text(JsonPatchRequest(kNodesResource, {.name = "n"}, {})), "patch nodes");
  EXPECT_EQ(text(UpdateRequest(kJobs, kTrain, {})), "update jobs");
  EXPECT_EQ(text(GetRequest(kJobs, kTrain)), "get jobs");
  EXPECT_EQ(text(CreateRequest(kJobs, "team-a", {})), "create jobs");
  EXPECT_EQ(text(DeleteRequest(kJobs, kTrain, "u1", Propagation::kBackground)), "delete jobs");
  for (const std::string& ns : {std::string(), std::string("team-a")}) {
    EXPECT_EQ(PermissionFor(ListRequest(kJobs, {.ns = ns, .limit = 5})), Permission())
        << "a collection";
  }
}

TEST(IsForWantOfRight, C20_OnlyAnAuthorizersWords) {
  const auto is = [](const char* message, ErrorCode code = ErrorCode::kForbidden) {
    return IsMissingPermission({.code = code, .message = message});
  };
  const char* const authorizers =
      "403 Forbidden: nodes \"n\" is forbidden: User \"c\" cannot patch resource \"nodes\" in API "
      "group \"\" at the cluster scope";
  EXPECT_TRUE(is(authorizers));
  EXPECT_FALSE(is(authorizers, ErrorCode::kInvalid));
  EXPECT_FALSE(is("403 Forbidden: exceeded quota: q"));
  EXPECT_FALSE(is("403 Forbidden: ValidatingAdmissionPolicy 'p' denied request: cannot be so"));
}

TEST(PutInstead, C20_ReadsTheObjectItselfAndPutsTheSubresource) {
  const http::Request patch = MergePatchRequest(kJobs, kTrain, Value::Object(), "status");
  const http::Request read = ReadBeforePut(patch);
  EXPECT_EQ(read, GetRequest(kJobs, kTrain));
  EXPECT_EQ(ReadBeforePut(MergePatchRequest(kJobs, kTrain, Value::Object())), read);
  EXPECT_EQ(WrittenBy(patch), kStored) << "nothing but what the patch says is changed";
}

TEST(PutInstead, C20_MergePatchChangesWhatItNames) {
  const Value patch = Value::Object(
      {{"metadata", Value::Object({{"finalizers", Value()}, {"uid", "u1"}})},
       {"status", Value::Object({{"nodes", Value::Array({1, Value::Object({{"a", Value()}})})},
                                 {"gone", Value()}})}});
  EXPECT_EQ(WrittenBy(MergePatchRequest(kJobs, kTrain, patch, "status")),
            R"({"kind":"Job","metadata":{"name":"train","uid":"u1",)"
            R"("resourceVersion":"7"},"spec":{"numNodes":1.50,"x":null},)"
            R"("status":{"status":"Ready","nodes":[1,{"a":null}]}})");
}

TEST(PutInstead, C20_PatchOfAnotherVersionOrIncarnationIsAConflictAsAtTheServer) {
  const auto lock = [](Value meta) {
    return MergePatchRequest(kJobs, kTrain, Value::Object({{"metadata", std::move(meta)}}));
  };
  EXPECT_EQ(WrittenBy(lock(Locked("7"))), kStored);
  EXPECT_EQ(WrittenBy(lock(Locked("6"))), "conflict");
  EXPECT_EQ(WrittenBy(lock(Locked("7", "u0"))), "conflict");
}

http::Request LabelPatch(const char* op, const Value& tested, const Value& value) {
  const char* const path = "/metadata/labels/a.b~1c";
  return JsonPatchRequest(
      kNodesResource, {.name = "n"},
      Value::Array({Value::Object({{"op", "test"}, {"path", path}, {"value", tested}}),
                    Value::Object({{"op", op}, {"path", path}, {"value", value}})}));
}

TEST(PutInstead, C20_JsonPatchOfALabelHoldsItsTest) {
  const char* const labelled =
      R"({"metadata":{"resourceVersion":"7","labels":{"x":"y","a.b/c":"d"}}})";
  const char* const bare = R"({"metadata":{"resourceVersion":"7"}})";
  EXPECT_EQ(WrittenBy(LabelPatch("remove", "d", ""), labelled),
            R"({"metadata":{"resourceVersion":"7","labels":{"x":"y"}}})");
  EXPECT_EQ(WrittenBy(LabelPatch("replace", "d", "e"), labelled),
            R"({"metadata":{"resourceVersion":"7","labels":{"x":"y","a.b/c":"e"}}})");
  EXPECT_EQ(WrittenBy(LabelPatch("add", Value(), "d"), bare),
            R"({"metadata":{"resourceVersion":"7","labels":{"a.b/c":"d"}}})");
  for (const http::Request& patch :
       {LabelPatch("remove", "other", ""), LabelPatch("add", Value(), "mine")}) {
    const auto put = PutInstead(patch, labelled);
    ASSERT_FALSE(put);
    EXPECT_EQ(put.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(put.error().cause, kTestFailed);
  }
  EXPECT_FALSE(PutInstead(LabelPatch("remove", Value(), ""), bare));
}

TEST(PutInstead, C20_WhatIsNoObjectWithAVersionIsNeverPut) {
  const http::Request patch = MergePatchRequest(kJobs, kTrain, Value::Object());
  for (const char* body : {"", "{", "[]", "null", "{}", R"({"metadata":{"name":"train"}})",
                           R"({"metadata":{"resourceVersion":7}})"}) {
    EXPECT_FALSE(PutInstead(patch, body)) << body;
  }
}

}  // namespace
}  // namespace kube
