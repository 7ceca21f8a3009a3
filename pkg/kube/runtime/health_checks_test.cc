#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pkg/kube/runtime/health_server.h"

namespace kube {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;

HealthCheck Good(const std::string& name) {
  return {.name = name, .run = [] { return Result<void>(); }};
}
HealthCheck Bad(const std::string& name) {
  return {.name = name, .run = []() -> Result<void> {
            return Fail(ErrorCode::kUnavailable, "pods not listed yet");
          }};
}

TEST(HealthChecks, AnswerIsOkOrAListOfWhatFailed) {
  struct Row {
    std::vector<HealthCheck> checks;
    http::ServerRequest request;
    int status;
    std::string body;
  };
  const std::vector<HealthCheck> good = {Good("queue"), Good("caches")};
  const std::vector<HealthCheck> mixed = {Good("queue"), Bad("caches")};
  const std::vector<Row> rows = {
      {{}, {.path = "/readyz"}, 200, "ok"},
      {good, {.path = "/readyz"}, 200, "ok"},
      {good, {.path = "/readyz/"}, 200, "ok"},
      {good,
       {.path = "/readyz", .query = {{"verbose", ""}}},
       200,
       "[+]queue ok\n[+]caches ok\nreadyz check passed\n"},
      {mixed,
       {.path = "/readyz"},
       500,
       "[+]queue ok\n[-]caches failed: pods not listed yet\nreadyz check failed\n"},
      {mixed, {.path = "/readyz", .query = {{"exclude", "caches"}}}, 200, "ok"},
      {mixed,
       {.path = "/readyz", .query = {{"exclude", "caches"}, {"exclude", "x"}, {"verbose", "1"}}},
       200,
       "[+]queue ok\n[+]caches excluded: ok\nreadyz check passed\n"},
      {mixed,
       {.path = "/readyz", .query = {{"exclude", "queue"}}},
       500,
       "[+]queue excluded: ok\n[-]caches failed: pods not listed yet\nreadyz check failed\n"},
      {mixed, {.path = "/readyz/queue"}, 200, "ok"},
      {mixed, {.path = "/readyz/caches"}, 500, "caches failed: pods not listed yet\n"},
      {mixed, {.path = "/readyz/none"}, 404, "there is no such check\n"},
  };
  for (const Row& row : rows) {
    const http::ServerReply reply = AnswerHealth("readyz", row.checks, row.request);
    EXPECT_EQ(reply.status, row.status) << row.request.path;
    EXPECT_EQ(reply.body, row.body) << row.request.path;
  }
}

TEST(HealthChecks, Notes_FollowAnAnswer_AndChangeNoStatus) {
  const std::vector<std::string> notes = {"Gate A is not supported.", "B."};
  const auto answer = [&](const HealthCheck& check, const http::ServerRequest& request) {
    return AnswerHealth("readyz", {check}, request, notes);
  };
  const std::string noted = "note: Gate A is not supported.\nnote: B.\n";
  EXPECT_EQ(answer(Good("queue"), {.path = "/readyz"}).status, 200);
  EXPECT_EQ(answer(Good("queue"), {.path = "/readyz"}).body, "ok\n" + noted);
  EXPECT_EQ(answer(Good("queue"), {.path = "/readyz", .query = {{"verbose", ""}}}).body,
            "[+]queue ok\n" + noted + "readyz check passed\n");
  EXPECT_EQ(answer(Bad("queue"), {.path = "/readyz"}).status, 500);
  EXPECT_EQ(answer(Bad("queue"), {.path = "/readyz"}).body,
            "[-]queue failed: pods not listed yet\n" + noted + "readyz check failed\n");
  EXPECT_EQ(answer(Good("queue"), {.path = "/readyz/queue"}).body, "ok");
}

}  // namespace
}  // namespace kube
