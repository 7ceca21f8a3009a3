#include <gtest/gtest.h>

#include <map>

#include "controller/process/start_checks.h"
#include "pkg/kube/testing/fakes.h"

namespace process {
namespace {

// Namespaces by the path at which they are read.
class Namespaces final : public http::Transport {
 public:
  std::map<std::string, http::Response> replies;

  std::vector<base::Result<http::Response>> SendAll(
      const std::vector<http::Request>& requests) override {
    std::vector<base::Result<http::Response>> all;
    for (const http::Request& request : requests) all.emplace_back(replies.at(request.path));
    return all;
  }
};

TEST(DriverNamespaces, OneThatPoliciesTakeForATenantsIsNamedWithTheRemedy) {
  Namespaces namespaces;
  namespaces.replies = {
      {"/api/v1/namespaces/labelled",
       {.status = 200, .body = R"({"metadata":{"labels":{"cdom.dev/driver":"true"}}})"}},
      {"/api/v1/namespaces/plain", {.status = 200, .body = R"({"metadata":{"name":"plain"}})"}},
      {"/api/v1/namespaces/denied",
       {.status = 200, .body = R"({"metadata":{"labels":{"cdom.dev/driver":"false"}}})"}},
      {"/api/v1/namespaces/unread", {.status = 403, .body = "no"}},
      {"/api/v1/namespaces/hostile", {.status = 200, .body = "[["}},
  };
  kube::RecordingLogger logger;
  WarnOfUnlabelled({"labelled", "plain", "denied", "unread", "hostile"}, namespaces, logger, {});
  EXPECT_EQ(logger.Count(""), 2U);
  EXPECT_EQ(
      logger.Count("namespace=plain remedy=kubectl label namespace plain cdom.dev/driver=true"),
      1U);
  EXPECT_EQ(logger.Count("namespace=denied"), 1U);
}

}  // namespace
}  // namespace process
