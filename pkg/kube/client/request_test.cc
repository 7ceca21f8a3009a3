#include "pkg/kube/client/request.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace kube {
namespace {

using base::Error;
using base::ErrorCode;
using http::Method;
using std::chrono::seconds;

const ObjectKey kKey = {.ns = "ns", .name = "a"};

// ---- Paths.

TEST(ResourcePath, FollowsGroupAndScope) {
  EXPECT_EQ(ResourcePath(kPods, kKey), "/api/v1/namespaces/ns/pods/a");
  EXPECT_EQ(ResourcePath(kPods, {.ns = "ns"}), "/api/v1/namespaces/ns/pods");
  EXPECT_EQ(ResourcePath(kPods, {}), "/api/v1/pods");
  EXPECT_EQ(ResourcePath(kNodes, {.name = "n"}), "/api/v1/nodes/n");
  EXPECT_EQ(ResourcePath(kNodes, {.ns = "ignored", .name = "n"}), "/api/v1/nodes/n");
  EXPECT_EQ(ResourcePath(kNamespaces, {.name = "ns"}), "/api/v1/namespaces/ns");
  EXPECT_EQ(ResourcePath(kDaemonSets, kKey), "/apis/apps/v1/namespaces/ns/daemonsets/a");
  EXPECT_EQ(ResourcePath(kDaemonSets, {}), "/apis/apps/v1/daemonsets");
}

TEST(ResourcePath, NameFromOutsideCannotLeaveItsPlace) {
  const auto last = [](const std::string& name) {
    const std::string path = ResourcePath(kPods, {.ns = "ns", .name = name});
    const std::string prefix = "/api/v1/namespaces/ns/pods/";
    EXPECT_EQ(path.substr(0, prefix.size()), prefix);
    return path.substr(prefix.size());
  };
  EXPECT_EQ(last("../x"), "..%2Fx");
  EXPECT_EQ(last("a/b"), "a%2Fb");
  EXPECT_EQ(last("%2e"), "%252e");
  EXPECT_EQ(last("%2e%2e"), "%252e%252e");
  EXPECT_EQ(last("a b"), "a%20b");
  EXPECT_EQ(last("a?b#c&d"), "a%3Fb%23c%26d");
  EXPECT_EQ(last("a\r\nHost: b"), "a%0D%0AHost%3A%20b");
  EXPECT_EQ(last(std::string("a\0b", 3)), "a%00b");
  EXPECT_EQ(last("\xC3\xA9"), "%C3%A9");
  EXPECT_EQ(last("a-b.c_d~e"), "a-b.c_d~e");
  EXPECT_EQ(ResourcePath(kPods, {.ns = "../../x", .name = "a"}),
            "/api/v1/namespaces/..%2F..%2Fx/pods/a");
}

TEST(ResourcePath, DotsAloneBecomeANameThatNoObjectCanHave) {
  // Resolved by a library or proxy, "pods/.." would be the namespace, "pods/." all of its pods.
  EXPECT_EQ(ResourcePath(kPods, {.ns = "ns", .name = ".."}), "/api/v1/namespaces/ns/pods/%2525..");
  EXPECT_EQ(ResourcePath(kPods, {.ns = "ns", .name = "."}), "/api/v1/namespaces/ns/pods/%2525.");
  EXPECT_EQ(ResourcePath(kPods, {.ns = "..", .name = "a"}), "/api/v1/namespaces/%2525../pods/a");
}

TEST(RequestDeathTest, ObjectWithoutANameIsNeverTheCollection) {
  const ObjectKey nameless = {.ns = "ns"};
  EXPECT_DEATH((void)DeleteRequest(kPods, nameless, "u", Propagation::kBackground), "CHECK");
  EXPECT_DEATH((void)GetRequest(kPods, nameless), "CHECK");
  EXPECT_DEATH((void)GetRequest(kPods, {.name = "a"}), "CHECK");
  EXPECT_DEATH((void)CreateRequest(kPods, "", json::Value::Object()), "CHECK");
}

// ---- Requests.

TEST(ListRequest, LW2_FirstPageHasALimitAndNoResourceVersion) {
  const http::Request request =
      ListRequest(kPods, {.ns = "ns", .label_selector = "a=b,c in (d)", .limit = 500});
  EXPECT_EQ(request.method, Method::kGet);
  EXPECT_EQ(request.path,
            "/api/v1/namespaces/ns/pods?labelSelector=a%3Db%2Cc%20in%20%28d%29&limit=500");
  EXPECT_EQ(request.accept, "application/json");
  EXPECT_TRUE(request.body.empty() && request.content_type.empty());
}

TEST(ListRequest, LW2_ContinuedPageHasNoResourceVersion) {
  const std::string path =
      ListRequest(kPods,
                  {.field_selector = "spec.nodeName=n", .continue_token = "a+/=", .limit = 5})
          .path;
  EXPECT_EQ(path, "/api/v1/pods?fieldSelector=spec.nodeName%3Dn&limit=5&continue=a%2B%2F%3D");
}

TEST(ListRequest, PlusInASelectorDoesNotBecomeASpace) {
  EXPECT_EQ(ListRequest(kPods, {.label_selector = "a+b"}).path, "/api/v1/pods?labelSelector=a%2Bb");
}

TEST(ListRequest, WithoutOptionsThereIsNoQuery) {
  EXPECT_EQ(ListRequest(kNodes, {}).path, "/api/v1/nodes");
}

TEST(ListRequest, MetadataOnlyIsAskedForByAccept) {
  EXPECT_EQ(ListRequest(kPods, {.metadata_only = true}).accept,
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json");
}

TEST(WatchRequest, WA1_AsksForBookmarksFromAVersionForATime) {
  const http::Request request = WatchRequest(kDaemonSets, {.ns = "ns",
                                                           .label_selector = "a",
                                                           .field_selector = "b!=c",
                                                           .resource_version = "123",
                                                           .timeout = seconds(345)});
  EXPECT_EQ(request.path,
            "/apis/apps/v1/namespaces/ns/daemonsets?watch=1&labelSelector=a&fieldSelector=b%21%3Dc"
            "&resourceVersion=123&allowWatchBookmarks=true&timeoutSeconds=345");
  EXPECT_EQ(request.method, Method::kGet);
}

TEST(WatchRequest, HO4_OursTimesOut30SecondsAfterTheServer) {
  const http::Request request = WatchRequest(kPods, {.timeout = seconds(300)});
  EXPECT_EQ(request.timeout, seconds(330));
  EXPECT_EQ(request.response_bytes_max, std::numeric_limits<std::size_t>::max());
}

TEST(Requests, WritesCarryTheirBodyAndItsType) {
  const json::Value object = json::Value::Object({{"a", 1}});
  const http::Request create = CreateRequest(kPods, "ns", object);
  EXPECT_EQ(create.method, Method::kPost);
  EXPECT_EQ(create.path, "/api/v1/namespaces/ns/pods");
  EXPECT_EQ(create.content_type, "application/json");
  EXPECT_EQ(create.body, R"({"a":1})");

  const http::Request update = UpdateRequest(kPods, kKey, object, "status");
  EXPECT_EQ(update.method, Method::kPut);
  EXPECT_EQ(update.path, "/api/v1/namespaces/ns/pods/a/status");
  EXPECT_EQ(update.content_type, "application/json");

  const http::Request merge = MergePatchRequest(kNodes, {.name = "n"}, object);
  EXPECT_EQ(merge.method, Method::kPatch);
  EXPECT_EQ(merge.path, "/api/v1/nodes/n");
  EXPECT_EQ(merge.content_type, "application/merge-patch+json");

  const http::Request patch = JsonPatchRequest(kPods, kKey, json::Value::Array({object}), "x/y");
  EXPECT_EQ(patch.path, "/api/v1/namespaces/ns/pods/a/x%2Fy");
  EXPECT_EQ(patch.content_type, "application/json-patch+json");
  EXPECT_EQ(patch.body, R"([{"a":1}])");

  EXPECT_EQ(GetRequest(kPods, kKey).path, "/api/v1/namespaces/ns/pods/a");
  EXPECT_EQ(CreateRequest(kNodes, "", object).path, "/api/v1/nodes");
}

TEST(DeleteRequest, PW4_DeletesOnlyTheIncarnationThatWasMeant) {
  const http::Request request = DeleteRequest(kPods, kKey, "u-1", Propagation::kForeground);
  EXPECT_EQ(request.method, Method::kDelete);
  EXPECT_EQ(request.path, "/api/v1/namespaces/ns/pods/a");
  EXPECT_EQ(request.body,
            R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Foreground",)"
            R"("preconditions":{"uid":"u-1"}})");
  EXPECT_EQ(DeleteRequest(kPods, kKey, "", Propagation::kBackground).body,
            R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"})");
  EXPECT_NE(DeleteRequest(kPods, kKey, "", Propagation::kOrphan).body.find("Orphan"),
            std::string::npos);
}

// ---- Replies.

Error ErrorOf(http::Response response, Method method = Method::kGet) {
  const auto result = CheckStatus(std::move(response), method);
  EXPECT_FALSE(result);
  return result ? Error() : result.error();
}

std::string Status(int code, const std::string& reason, const std::string& message = "m",
                   const std::string& details = "{}") {
  return R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":)" + std::to_string(code) +
         R"(,"reason":")" + reason + R"(","message":")" + message + R"(","details":)" + details +
         "}";
}

TEST(CheckStatus, SuccessPassesThrough) {
  for (const int status : {200, 201, 202}) {
    const auto result = CheckStatus(http::Response{.status = status, .body = "x"}, Method::kPost);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->body, "x");
  }
}

TEST(CheckStatus, ErrorOfTheTransportPassesThrough) {
  const auto result = CheckStatus(base::Fail(ErrorCode::kDeadlineExceeded, "slow"), Method::kGet);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kDeadlineExceeded);
  EXPECT_EQ(result.error().message, "slow");
}

TEST(CheckStatus, CodeSaysWhatToDo) {
  struct Row {
    int status;
    std::string reason;
    ErrorCode read;
    ErrorCode write;
  };
  const Row rows[] = {
      {301, "", ErrorCode::kUnavailable, ErrorCode::kUnavailable},
      {400, "BadRequest", ErrorCode::kInvalid, ErrorCode::kInvalid},
      {401, "Unauthorized", ErrorCode::kUnauthorized, ErrorCode::kUnauthorized},
      {403, "Forbidden", ErrorCode::kForbidden, ErrorCode::kForbidden},
      {404, "NotFound", ErrorCode::kNotFound, ErrorCode::kNotFound},
      {405, "MethodNotAllowed", ErrorCode::kInvalid, ErrorCode::kInvalid},
      {408, "", ErrorCode::kUnavailable, ErrorCode::kUnavailable},
      {409, "AlreadyExists", ErrorCode::kAlreadyExists, ErrorCode::kAlreadyExists},
      {409, "Conflict", ErrorCode::kConflict, ErrorCode::kConflict},
      {409, "", ErrorCode::kConflict, ErrorCode::kConflict},
      {410, "Expired", ErrorCode::kGone, ErrorCode::kGone},
      {413, "RequestEntityTooLarge", ErrorCode::kTooLarge, ErrorCode::kTooLarge},
      {415, "UnsupportedMediaType", ErrorCode::kInvalid, ErrorCode::kInvalid},
      {422, "Invalid", ErrorCode::kInvalid, ErrorCode::kInvalid},
      {429, "TooManyRequests", ErrorCode::kTooManyRequests, ErrorCode::kTooManyRequests},
      {500, "InternalError", ErrorCode::kUnavailable, ErrorCode::kUnknownOutcome},
      {502, "", ErrorCode::kUnavailable, ErrorCode::kUnknownOutcome},
      {503, "ServiceUnavailable", ErrorCode::kUnavailable, ErrorCode::kUnknownOutcome},
      {504, "Timeout", ErrorCode::kUnavailable, ErrorCode::kUnknownOutcome},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(std::to_string(row.status) + " " + row.reason);
    const http::Response reply = {.status = row.status, .body = Status(row.status, row.reason)};
    EXPECT_EQ(ErrorOf(reply, Method::kGet).code, row.read);
    for (const Method method : {Method::kPost, Method::kPut, Method::kPatch, Method::kDelete}) {
      EXPECT_EQ(ErrorOf(reply, method).code, row.write);
    }
  }
}

// A proxy sends both after it has passed the request on.
TEST(CheckStatus, REV4_K7_WriteAnswered5xxIsUnknown_WhateverRetryAfterSays) {
  for (const int status : {500, 502, 503, 504}) {
    const http::Response reply = {.status = status, .retry_after = seconds(3)};
    const Error error = ErrorOf(reply, Method::kPost);
    EXPECT_EQ(error.code, ErrorCode::kUnknownOutcome);
    EXPECT_EQ(error.retry_after, seconds(3));
    EXPECT_EQ(ErrorOf(reply, Method::kGet).code, ErrorCode::kUnavailable);
  }
  const Error error = ErrorOf(
      {.status = 500, .body = Status(500, "ServerTimeout", "m", R"({"retryAfterSeconds":2})")},
      Method::kPost);
  EXPECT_EQ(error.code, ErrorCode::kUnknownOutcome);
  EXPECT_EQ(error.retry_after, seconds(2));
}

TEST(CheckStatus, REV4_K1_WriteAnswered4xxByAProxyIsUnknown) {
  for (const int status : {400, 403, 404, 405, 409, 413, 422}) {
    for (const char* page : {"<html>default backend</html>", "", R"({"message":"no Route"})"}) {
      const http::Response reply = {.status = status, .body = page};
      for (const Method method : {Method::kPost, Method::kPut, Method::kPatch, Method::kDelete}) {
        const Error error = ErrorOf(reply, method);
        EXPECT_EQ(error.code, ErrorCode::kUnknownOutcome) << status << page;
        EXPECT_EQ(error.cause, kNotFromApiServer);
      }
    }
  }
  EXPECT_EQ(ErrorOf({.status = 429}, Method::kDelete).code, ErrorCode::kTooManyRequests);
  EXPECT_EQ(ErrorOf({.status = 404, .body = "404 page not found\n"}, Method::kPatch).code,
            ErrorCode::kUnknownOutcome);
}

TEST(CheckStatus, RT3_RetryAfterIsClamped) {
  const auto wait = [](const std::string& details, std::optional<seconds> header = {}) {
    return ErrorOf({.status = 429, .body = Status(429, "x", "m", details), .retry_after = header})
        .retry_after;
  };
  EXPECT_EQ(wait("{}"), std::nullopt);
  EXPECT_EQ(wait(R"({"retryAfterSeconds":7})"), seconds(7));
  EXPECT_EQ(wait(R"({"retryAfterSeconds":99999999999})"), seconds(120));
  EXPECT_EQ(wait(R"({"retryAfterSeconds":9223372036854775807})"), seconds(120));
  EXPECT_EQ(wait(R"({"retryAfterSeconds":-5})"), std::nullopt);
  EXPECT_EQ(wait(R"({"retryAfterSeconds":0})", seconds(4)), seconds(4));
  EXPECT_EQ(wait("{}", seconds(86'400)), seconds(120));
  EXPECT_EQ(wait("{}", seconds(-1)), seconds(0));
}

TEST(CheckStatus, LW6_VersionInTheFutureIsGone) {
  const std::string details =
      R"({"causes":[{"reason":"ResourceVersionTooLarge","message":"m"}],"retryAfterSeconds":1})";
  EXPECT_EQ(ErrorOf({.status = 504, .body = Status(504, "Timeout", "m", details)}).code,
            ErrorCode::kGone);
}

TEST(CheckStatus, MessageNamesStatusAndReason) {
  EXPECT_EQ(ErrorOf({.status = 403, .body = Status(403, "Forbidden", "pods is forbidden")}).message,
            "403 Forbidden: pods is forbidden");
  EXPECT_EQ(ErrorOf({.status = 404, .body = "404 page not found\n"}).message,
            "404: 404 page not found ");
  EXPECT_EQ(ErrorOf({.status = 503}).message, "503: no explanation");
  EXPECT_EQ(ErrorOf({.status = 502, .body = " <html><body>x</body></html>"}).message,
            "502: the answer is a page of HTML, perhaps from a proxy in between");
  EXPECT_EQ(ErrorOf({.status = 500, .body = R"({"kind":"Other","code":404})"}).message,
            R"(500: {"kind":"Other","code":404})");
}

TEST(CheckStatus, MessageIsOneBoundedLineOfUtf8) {
  std::string long_text;
  for (int i = 0; i < 5000; ++i) long_text += "\xC3\xA9";
  const Error error = ErrorOf({.status = 500, .body = Status(500, "x", long_text)});
  EXPECT_LE(error.message.size(), 2048U);
  EXPECT_GE(error.message.size(), 2040U);
  EXPECT_TRUE(json::IsUtf8(error.message));
  for (const char* prefix : {"", "a"}) {  // The bound falls between characters, and inside of one.
    const Error other = ErrorOf({.status = 500, .body = prefix + long_text});
    EXPECT_TRUE(json::IsUtf8(other.message));
    EXPECT_EQ(other.message.find('?'), std::string::npos);
  }
  EXPECT_EQ(ErrorOf({.status = 500, .body = "a\nb\tc\x7F\xFF\xC3\xA9"}).message,
            "500: a b c ?\xC3\xA9");
}

TEST(CheckStatus, HugeBodyIsNotParsed) {
  const Error error = ErrorOf({.status = 500, .body = std::string(3U << 20U, '[')});
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_LE(error.message.size(), 2048U);
}

TEST(StatusError, WA5_CodeOfTheStatusCounts) {
  json::Parser parser;
  const auto error = [&](const std::string& text, int http_status) {
    return StatusError(*parser.Parse(text), http_status);
  };
  EXPECT_EQ(error(Status(410, "Expired"), 200).code, ErrorCode::kGone);
  EXPECT_EQ(error(Status(410, "Expired"), 200).message, "410 Expired: m");
  EXPECT_EQ(error(Status(429, "TooManyRequests"), 0).code, ErrorCode::kTooManyRequests);
  EXPECT_EQ(error(R"({"kind":"Status","reason":"Expired","message":"m"})", 410).code,
            ErrorCode::kGone);
}

TEST(StatusError, WA5_WhatIsNotAStatusCountsAs500) {
  json::Parser parser;
  for (const char* text : {"null", "[]", "\"x\"", "{}", R"({"kind":"Pod","code":410})",
                           R"({"kind":"Status","code":"x"})", R"({"kind":"Status","code":200})",
                           R"({"kind":"Status","code":99999999999999})"}) {
    const Error error = StatusError(*parser.Parse(text), 0);
    EXPECT_EQ(error.code, ErrorCode::kUnavailable) << text;
    EXPECT_EQ(error.message.substr(0, 3), "500") << text;
  }
}

TEST(CheckStatus, REV3_F12_Only404OfTheApiServerProvesThatAnObjectIsAbsent) {
  const auto error = [](const std::string& body, Method method = Method::kGet) {
    return ErrorOf({.status = 404, .body = body}, method);
  };
  for (const Method method : {Method::kGet, Method::kPatch, Method::kDelete}) {
    const Error object =
        error(Status(404, "NotFound", "m", R"({"name":"a","kind":"pods"})"), method);
    EXPECT_TRUE(ProvesAbsence(object, kPods, "a"));
    EXPECT_FALSE(ProvesAbsence(object, kPods, "other") || ProvesAbsence(object, kPods, ""));
    EXPECT_FALSE(ProvesAbsence(object, kNodes, "a"));
    // A server of another version, in an upgrade of the control plane.
    const Error unnamed = error(Status(404, "NotFound"), method);
    EXPECT_EQ(unnamed.code, ErrorCode::kNotFound);
    EXPECT_FALSE(ProvesAbsence(unnamed, kPods, "a") || ProvesAbsence(unnamed, kPods, ""));
  }
  for (const char* page : {"<html>default backend - 404</html>", ""}) {
    EXPECT_FALSE(ProvesAbsence(error(page), kPods, "a")) << page;
    EXPECT_EQ(error(page).code, ErrorCode::kUnavailable);
  }
  EXPECT_EQ(error("404 page not found\n").code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kube
