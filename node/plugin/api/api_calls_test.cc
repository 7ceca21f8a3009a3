#include "node/plugin/api/api_calls.h"

#include <gtest/gtest.h>

#include "node/plugin/rules/resource_slice.h"
#include "pkg/http/testing/script.h"

namespace plugin {
namespace {

using base::ErrorCode, base::Result;
using http::testing::Script;

constexpr const char* kUid = "73de0384-716f-480e-8caa-00bce7016114";
constexpr const char* kForbidden =
    R"({"kind":"Status","code":403,"reason":"Forbidden","message":"no relationship"})";
constexpr const char* kNotFound =
    R"({"kind":"Status","code":404,"reason":"NotFound","message":"none",)"
    R"("details":{"kind":"resourceclaims","name":"c"}})";
constexpr const char* kConflict =
    R"({"kind":"Status","code":409,"reason":"Conflict","message":"changed"})";

std::string ClaimText(const std::string& uid, const std::string& pool = "node-a") {
  return R"({"metadata":{"name":"c","namespace":"ns","uid":")" + uid +
         R"(","resourceVersion":"1"},"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"compute-domain.nvidia.com","pool":")" +
         pool +
         R"(","device":"channel-0"}],"config":[{"source":"FromClaim","opaque":{"driver":"compute-domain.nvidia.com","parameters":{"apiVersion":"resource.nvidia.com/v1beta1","kind":"ComputeDomainChannelConfig","domainID":"0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10"}}}]}}}})";
}

TEST(ReadClaim, AClaimIsReadInTheVersionThatIsServed) {
  Script script;
  script.Answer(200, ClaimText(kUid));
  const auto claim =
      dra::ReadClaim<Wanted>(script, dra::SliceApi::kV1Beta2, {.ns = "ns", .name = "c"}, kUid);
  ASSERT_TRUE(claim) << claim.error().message;
  EXPECT_TRUE(claim->is_allocated);
  EXPECT_EQ(script.asked[0].path, "/apis/resource.k8s.io/v1beta2/namespaces/ns/resourceclaims/c");
}

TEST(ReadClaim, AnotherClaimOfThatNameIsNotTheOneThatIsMeant) {
  Script script;
  script.Answer(200, ClaimText("another"));
  const auto claim =
      dra::ReadClaim<Wanted>(script, dra::SliceApi::kV1, {.ns = "ns", .name = "c"}, kUid);
  ASSERT_FALSE(claim);
  EXPECT_EQ(claim.error().code, ErrorCode::kNotFound);
  EXPECT_NE(claim.error().message.find("was created again"), std::string::npos);
}

// The API server knows only after a while that the claim is of this node.
TEST(ReadClaim, ARefusalIsNoProofThatThereIsNone) {
  Script script;
  script.Answer(403, kForbidden);
  const auto claim =
      dra::ReadClaim<Wanted>(script, dra::SliceApi::kV1, {.ns = "ns", .name = "c"}, kUid);
  ASSERT_FALSE(claim);
  EXPECT_EQ(claim.error().code, ErrorCode::kForbidden);
  EXPECT_NE(claim.error().message.find("read claim ns/c: 403"), std::string::npos);
}

TEST(ClaimExists, REV3_N1_OnlyTheServersOwn404OrAnotherUidProvesThatItIsGone) {
  const auto exists = [](int status, const std::string& body) {
    Script script;
    script.Answer(status, body);
    return dra::ClaimExists(script, dra::SliceApi::kV1, {.ns = "ns", .name = "c"}, kUid);
  };
  EXPECT_TRUE(exists(200, ClaimText(kUid)).value());
  EXPECT_FALSE(exists(200, ClaimText("another")).value());
  const std::string gone = R"({"kind":"Status","code":404,"reason":"NotFound",)"
                           R"("details":{"kind":"resourceclaims","name":"c"}})";
  EXPECT_FALSE(exists(404, gone).value());
  EXPECT_FALSE(exists(404, "404 page not found").has_value());
  EXPECT_FALSE(exists(403, kForbidden).has_value());
}

TEST(ReadClaimsOf, ThoseOfThisNodeStay) {
  Script script;
  script.Answer(200, R"({"metadata":{"continue":"more"},"items":[)" +
                         ClaimText("other-node", "node-b") + "]}");
  script.Answer(200, R"({"metadata":{},"items":[)" + ClaimText(kUid) + "]}");
  const auto claims = dra::ReadClaimsOn<Wanted>(script, dra::SliceApi::kV1, "node-a");
  ASSERT_TRUE(claims) << claims.error().message;
  ASSERT_EQ(claims->size(), 1U);
  EXPECT_EQ(claims->at(0).uid, kUid);
}

TEST(ReadRuntime, ItIsWhatTheNodeSays) {
  Script script;
  script.Answer(200, R"({"status":{"nodeInfo":{"containerRuntimeVersion":"containerd://2.1.4"}}})");
  EXPECT_EQ(ReadRuntime(script, "node-a").value(), "containerd://2.1.4");
  EXPECT_EQ(script.asked[0].path, "/api/v1/nodes/node-a");
  script.Answer(200, R"({"status":{}})");
  EXPECT_EQ(ReadRuntime(script, "node-a").value(), "");
  script.Answer(403, kForbidden);
  EXPECT_FALSE(ReadRuntime(script, "node-a"));
}

TEST(ReadDomains, AListIsReadToItsEndOrIsAnError) {
  Script script;
  script.Answer(200, R"({"metadata":{"continue":"x"},"items":[{"metadata":{"uid":"a"}}]})");
  script.Answer(200, R"({"metadata":{},"items":[{"metadata":{"uid":"b"}}]})");
  EXPECT_EQ(ReadDomains(script, "ns").value(), (std::set<std::string>{"a", "b"}));
  script.Answer(200, R"({"metadata":{"continue":"x"},"items":[{"metadata":{"uid":"a"}}]})");
  script.Answer(410, R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})");
  EXPECT_FALSE(ReadDomains(script, "ns"));
  // Of a page that is too large fewer are asked for, and none is passed over.
  script.Answer(413, "");
  script.Answer(200, R"({"metadata":{},"items":[{"metadata":{"uid":"c"}}]})");
  EXPECT_EQ(ReadDomains(script, "").value(), std::set<std::string>{"c"});
}

TEST(ReadIsReady, TheNodesOwnEntryCounts) {
  const auto is_ready = [](const std::string& daemons) {
    Script script;
    script.Answer(
        200, R"({"metadata":{"name":"d.f.1","namespace":"driver","uid":"u","resourceVersion":"1"},)"
             R"("daemons":[)" +
                 daemons + "]}");
    return ReadIsReady(script, {.ns = "driver", .name = "d.f.1"}, "node-a").value();
  };
  EXPECT_TRUE(is_ready(R"({"nodeName":"node-a","ipAddress":"10.0.0.1","status":"Ready"})"));
  EXPECT_FALSE(is_ready(R"({"nodeName":"node-a","ipAddress":"10.0.0.1","status":"NotReady"})"));
  EXPECT_FALSE(is_ready(R"({"nodeName":"node-b","ipAddress":"10.0.0.1","status":"Ready"})"));
  Script script;
  script.Answer(404, kNotFound);
  EXPECT_FALSE(ReadIsReady(script, {.ns = "driver", .name = "d.f.1"}, "node-a").value());
}

std::string NodeText(const std::string& version, const std::string& labels) {
  return R"({"metadata":{"name":"node-a","uid":"node-uid","resourceVersion":")" + version +
         R"(","labels":{)" + labels + "}}}";
}
const api::Node kBare = {.meta = {.uid = "node-uid", .resource_version = "7"}};

Result<api::Node> Change(Script& script, const api::Node& seen, const LabelChange& change) {
  bool may_patch = true;
  return ChangeLabel(script, "node-a", seen, change, may_patch);
}

TEST(ChangeLabel, ItIsWrittenIntoTheNodeThatWasSeen) {
  Script script;
  script.Answer(200, NodeText("8", R"("resource.nvidia.com/computeDomain":"dom")"));
  const auto node = Change(script, kBare, {.to = "dom"});
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->domain, "dom");
  EXPECT_EQ(node->meta.resource_version, "8");
  EXPECT_EQ(
      script.asked[0].body,
      R"({"metadata":{"uid":"node-uid","resourceVersion":"7","labels":{"resource.nvidia.com/computeDomain":"dom"}}})");
}

TEST(ChangeLabel, ANodeThatChangedIsReadAgainAndTheLabelOfAnotherDomainIsLeft) {
  Script script;
  script.Answer(409, kConflict);
  script.Answer(200, NodeText("9", R"("resource.nvidia.com/computeDomain":"other")"));
  const auto node = Change(script, kBare, {.to = "dom"});
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->domain, "other");
  EXPECT_EQ(script.asked.size(), 2U);
}

TEST(ChangeLabel, OneThatChangedOtherwiseIsLabelledAllTheSame) {
  Script script;
  script.Answer(409, kConflict);
  script.Answer(200, NodeText("9", ""));
  script.Answer(200, NodeText("10", R"("resource.nvidia.com/computeDomain":"dom")"));
  EXPECT_EQ(Change(script, kBare, {.to = "dom"})->meta.resource_version, "10");
  EXPECT_NE(script.asked[2].body.find(R"("resourceVersion":"9")"), std::string::npos);
}

TEST(ChangeLabel, ItIsTakenAwayByNull) {
  Script script;
  script.Answer(200, NodeText("8", ""));
  api::Node held = kBare;
  held.domain = "dom";
  EXPECT_EQ(Change(script, held, {.from = "dom"})->domain, "");
  EXPECT_NE(script.asked[0].body.find(R"("resource.nvidia.com/computeDomain":null)"),
            std::string::npos);
}

constexpr const char* kMayNotPatch =
    R"({"kind":"Status","code":403,"reason":"Forbidden","message":"nodes \"node-a\" is forbidden: User \"p\" cannot patch resource \"nodes\" in API group \"\" at the cluster scope"})";

constexpr const char* kMayNotUpdate =
    R"({"kind":"Status","code":403,"reason":"Forbidden","message":"nodes \"node-a\" is forbidden: User \"p\" cannot update resource \"nodes\" in API group \"\" at the cluster scope"})";

// NVIDIA's chart grants update of nodes, and not patch.
TEST(ChangeLabel, C20_WithoutPatchTheNodeIsReadAndUpdated) {
  bool may_patch = true;
  for (const std::size_t requests : {3U, 2U}) {  // It asks for the permission once.
    Script script;
    if (may_patch) script.Answer(403, kMayNotPatch);
    script.Answer(200, NodeText("7", R"("zone":"z")"));
    script.Answer(200, NodeText("8", R"("resource.nvidia.com/computeDomain":"dom")"));
    const auto node = ChangeLabel(script, "node-a", kBare, {.to = "dom"}, may_patch);
    ASSERT_TRUE(node) << node.error().message;
    EXPECT_EQ(node->meta.resource_version, "8");
    ASSERT_EQ(script.asked.size(), requests);
    const http::Request& read = script.asked[requests - 2];
    EXPECT_EQ(read.method, http::Method::kGet);
    EXPECT_EQ(read.path, "/api/v1/nodes/node-a");
    EXPECT_EQ(script.asked.back().method, http::Method::kPut);
    EXPECT_EQ(script.asked.back().path, "/api/v1/nodes/node-a");
    EXPECT_EQ(script.asked.back().body,
              NodeText("7", R"("zone":"z","resource.nvidia.com/computeDomain":"dom")"));
  }
}

TEST(ChangeLabel, WithoutPatchAChangedNodeIsReadAgain) {
  Script script;
  script.Answer(403, kMayNotPatch);
  script.Answer(200, NodeText("9", R"("resource.nvidia.com/computeDomain":"other")"));
  script.Answer(200, NodeText("9", R"("resource.nvidia.com/computeDomain":"other")"));
  const auto node = Change(script, kBare, {.to = "dom"});
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->domain, "other");
  EXPECT_EQ(script.asked.size(), 3U);
}

TEST(ChangeLabel, WithoutPatchAConflictIsRetried) {
  Script script;
  script.Answer(403, kMayNotPatch);
  script.Answer(200, NodeText("7", ""));
  script.Answer(409, kConflict);  // The PUT.
  script.Answer(200, NodeText("8", ""));
  script.Answer(403, kMayNotPatch);
  script.Answer(200, NodeText("8", ""));
  script.Answer(200, NodeText("9", R"("resource.nvidia.com/computeDomain":"dom")"));
  const auto node = Change(script, kBare, {.to = "dom"});
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->domain, "dom");
}

// A role that is replaced, or an authorizer that fails, refuses everything for a moment.
TEST(ChangeLabel, C20_PassingRefusalChangesNothing) {
  for (const bool before : {true, false}) {
    bool may_patch = before;
    Script script;
    if (before) script.Answer(403, kMayNotPatch);
    script.Answer(200, NodeText("7", ""));
    script.Answer(403, kMayNotUpdate);
    const auto refused = ChangeLabel(script, "node-a", kBare, {.to = "dom"}, may_patch);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find(before ? "cannot patch" : "cannot update"),
              std::string::npos);
    EXPECT_TRUE(may_patch);
    Script later;
    later.Answer(200, NodeText("8", R"("resource.nvidia.com/computeDomain":"dom")"));
    EXPECT_TRUE(ChangeLabel(later, "node-a", kBare, {.to = "dom"}, may_patch));
  }
}

TEST(ChangeLabel, OtherRefusalIsAnError) {
  bool may_patch = true;
  Script script;
  script.Answer(403, kForbidden);
  EXPECT_FALSE(ChangeLabel(script, "node-a", kBare, {.to = "dom"}, may_patch));
  EXPECT_EQ(script.asked.size(), 1U);
  EXPECT_TRUE(may_patch);
}

const NodeDevices kDevices = {.node = "node-a", .node_uid = "node-uid", .clique = "f.1"};
const dra::ResourceSlice kSlice = SliceOf(kDevices);

std::string SliceText(const dra::ResourceSlice& slice, const std::string& version,
                      dra::SliceApi served = dra::SliceApi::kV1) {
  json::Value object = Render(slice, served);
  object["metadata"]["name"] = "made";
  object["metadata"]["uid"] = "slice-uid";
  object["metadata"]["resourceVersion"] = version;
  return json::Serialize(object);
}
const kube::ObjectMeta kFound = {
    .key = {.name = "made"}, .uid = "slice-uid", .resource_version = "3"};

TEST(WriteSlice, OneThatIsNotThereIsMade) {
  Script script;
  script.Answer(201, SliceText(kSlice, "1"));
  const auto written = dra::WriteSlice(script, kSlice, dra::SliceApi::kV1, {}).value();
  EXPECT_EQ(written.meta.uid, "slice-uid");
  EXPECT_EQ(written.meta.resource_version, "1");
  EXPECT_TRUE(written.holds);
  EXPECT_EQ(script.asked[0].method, http::Method::kPost);
}

TEST(WriteSlice, OneThatSaysTheSameIsLeft) {
  Script script;
  script.Answer(200, SliceText(kSlice, "3"));
  EXPECT_TRUE(dra::WriteSlice(script, kSlice, dra::SliceApi::kV1, {kFound})->holds);
  EXPECT_EQ(script.asked.size(), 1U);
}

TEST(WriteSlice, OneThatSaysSomethingElseIsReplacedAsItWasRead) {
  Script script;
  NodeDevices other = kDevices;
  other.clique = "f.2";
  script.Answer(200, SliceText(SliceOf(other), "4"));
  script.Answer(200, SliceText(kSlice, "5"));
  EXPECT_EQ(dra::WriteSlice(script, kSlice, dra::SliceApi::kV1, {kFound})->meta.resource_version,
            "5");
  EXPECT_EQ(script.asked[1].method, http::Method::kPut);
  EXPECT_NE(script.asked[1].body.find(R"("resourceVersion":"4")"), std::string::npos);
}

TEST(WriteSlice, WhatIsThereBesideItGoes) {
  Script script;
  kube::ObjectMeta more = kFound;
  more.key.name = "more";
  script.Answer(200, "{}");
  script.Answer(200, SliceText(kSlice, "3"));
  EXPECT_TRUE(dra::WriteSlice(script, kSlice, dra::SliceApi::kV1, {kFound, more})->holds);
  EXPECT_EQ(script.asked[0].method, http::Method::kDelete);
  EXPECT_EQ(script.asked[0].path, "/apis/resource.k8s.io/v1/resourceslices/more");
}

TEST(WriteSlice, REV3_N3_FabricErrorThatTheServerHasKeepsItsTime) {
  for (const dra::SliceApi version : {dra::SliceApi::kV1, dra::SliceApi::kV1Beta1}) {
    NodeDevices first = kDevices;
    first.error = DeviceError{.since = "2026-11-23T03:00:00Z"};
    NodeDevices later = kDevices;
    later.error = DeviceError{.since = "2026-11-23T04:00:00Z"};
    Script script;
    script.Answer(200, SliceText(SliceOf(first), "3", version));
    EXPECT_TRUE(dra::WriteSlice(script, SliceOf(later), version, {kFound})->holds);
    EXPECT_EQ(script.asked.size(), 1U) << "nothing is written";
    // What else differs is written, with the time that was there.
    later.clique = "f.2";
    script.Answer(200, SliceText(SliceOf(first), "3", version));
    first.clique = "f.2";
    script.Answer(200, SliceText(SliceOf(first), "4", version));
    EXPECT_TRUE(dra::WriteSlice(script, SliceOf(later), version, {kFound})->holds);
    EXPECT_NE(script.asked[2].body.find("2026-11-23T03:00:00Z"), std::string::npos);
  }
}

// Before 1.36 a server takes a slice with taints and drops them.
TEST(WriteSlice, OneOfWhichTheTaintsWereDroppedIsTakenAway) {
  Script script;
  NodeDevices tainted = kDevices;
  tainted.error = DeviceError{.since = "2026-11-23T03:00:00Z"};
  script.Answer(201, SliceText(kSlice, "1"));
  script.Answer(200, "{}");
  EXPECT_FALSE(dra::WriteSlice(script, SliceOf(tainted), dra::SliceApi::kV1, {})->holds);
  EXPECT_EQ(script.asked[1].method, http::Method::kDelete);
}

}  // namespace
}  // namespace plugin
