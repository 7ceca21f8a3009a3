#include "controller/compute_domain/requests/action_result.h"

#include <gtest/gtest.h>

#include "controller/compute_domain/requests/action_requests.h"
#include "pkg/kube/client/request.h"
#include "test/fixtures/observed.h"

namespace compute_domain {
namespace {

Failure FailureOfBody(const std::string& body) {
  const auto reply =
      kube::CheckStatus(http::Response{.status = 403, .body = body}, http::Method::kPost);
  return FailureOf(reply.error()).value_or(Failure());
}

TEST(DescribeUndoing, REV4_K2_NamesTheWriterOfTheObjectItself) {
  Observed observed = fixtures::Converged();
  observed.domain->last_writer = "argocd";
  observed.children.daemon_sets[0].last_writer = "kyverno";
  const auto who = [&](const Action& action) { return DescribeUndoing(action, observed); };
  EXPECT_NE(who(WriteFinalizers{.kind = Kind::kComputeDomain, .object = observed.domain->meta})
                .find("(argocd)"),
            std::string::npos);
  EXPECT_NE(
      who(WritePodTemplate{.daemon_set = observed.children.daemon_sets[0].meta}).find("(kyverno)"),
      std::string::npos);
  EXPECT_EQ(who(RemoveNodeLabel{.node = "node-0"}).find('('), std::string::npos)
      << "nothing says who writes a Node";
}

TEST(FailureOf, M8_ForbiddenSaysWhatToDoAboutWhatForbidsIt) {
  struct Row {
    const char* body;
    const char* help;
  };
  const std::vector<Row> rows = {
      {R"({"kind": "Status", "code": 403, "reason": "Forbidden", "message":
          "daemonsets.apps is forbidden: User \"a\" cannot create resource \"daemonsets\""})",
       ". Grant the controller this permission (cdom's manifests have all of them: apply them "
       "again). It then "
       "continues."},
      {R"({"kind": "Status", "code": 403, "reason": "Forbidden", "message":
          "daemonsets.apps \"d\" is forbidden: exceeded quota: few, requested: count=1"})",
       ". Raise this quota, or free some of it. The controller then continues."},
      {R"({"kind": "Status", "code": 403, "reason": "Forbidden", "message":
          "daemonsets.apps \"d\" is forbidden: unable to create new content in namespace n because it is being terminated",
          "details": {"causes": [{"reason": "NamespaceTerminating"}]}})",
       ". The namespace is being deleted. The controller continues when a namespace of this name "
       "exists."},
      {R"({"kind": "Status", "code": 403, "reason": "Forbidden", "message":
          "ValidatingAdmissionPolicy 'p' denied request: no"})",
       ". Remove what forbids it. The controller then continues."},
  };
  for (const Row& row : rows) {
    const Failure failure = FailureOfBody(row.body);
    EXPECT_EQ(failure.reason, "Forbidden");
    EXPECT_TRUE(failure.message.ends_with(row.help)) << failure.message;
  }
}

TEST(FailureOf, RefusalOfOwnPolicy_NamesTheUser_AndTheFix) {
  const base::Error refused = {
      .code = base::ErrorCode::kForbidden,
      .message =
          "403 Forbidden: daemonsets.apps \"d\" is forbidden: ValidatingAdmissionPolicy "
          "'cdom-child-deletion' with binding 'cdom-child-deletion' denied request: ..."};
  EXPECT_EQ(FailureOf(refused, "cdom-admin")->message,
            "The policy cdom-child-deletion refuses this controller, which runs as user "
            "cdom-admin: run it as ServiceAccount cdom-controller, or name cdom-admin in the "
            "policy.");
  EXPECT_EQ(FailureOf(refused)->message,
            "The policy cdom-child-deletion refuses this controller: run it as ServiceAccount "
            "cdom-controller, or name its user in the policy.");
  EXPECT_EQ(FailureOf(refused, "system:serviceaccount:n:cdom-controller")->message,
            "The policy cdom-child-deletion refuses this controller, which runs as user "
            "system:serviceaccount:n:cdom-controller: allow that account to patch "
            "computedomains/status, by which the policy knows a controller.");
}

// A claim template of a user, who has the name of one of ours and may put anything into it.
TEST(DecodeHolder, S1_WhatOnlyAStrictReaderRefusesIsNoReasonNotToKnowWhoHasAName) {
  for (const std::string& parameters :
       {std::string(R"({"x":"\ud800"})"), std::string(600, '[') + std::string(600, ']'),
        std::string("\"\xff\xfe\"")}) {
    const auto holder = DecodeHolder(
        R"({"metadata":{"name":"a","namespace":"b","uid":"c","resourceVersion":"1"},"spec":)" +
        parameters + "}");
    ASSERT_TRUE(holder) << holder.error().message;
    EXPECT_EQ(holder->meta.uid, "c");
  }
}

TEST(FailureOf, WhatPassesByItselfIsNone) {
  EXPECT_FALSE(FailureOf({.code = base::ErrorCode::kUnavailable, .message = "refused"}));
}

// Each is a write that would hit whatever is there by now.
TEST(RequestsOf, T12_WriteThatNothingLocksIsNeverSent) {
  const Observed observed;
  const kube::ObjectMeta no_version = {.key = {.ns = "n", .name = "a"}, .uid = "u"};
  const kube::ObjectMeta no_uid = {.key = {.ns = "n", .name = "a"}, .resource_version = "1"};
  const std::vector<Action> actions = {
      Delete{.kind = Kind::kDaemonSet, .key = no_uid.key},
      WriteFinalizers{.kind = Kind::kComputeDomain, .object = no_uid},
      WriteStatus{.object = no_version},
      WriteClique{.clique = {.meta = no_version}},
      WritePodTemplate{.daemon_set = no_version},
      RemoveNodeLabel{.node = "a"},
  };
  for (const Action& action : actions) {
    EXPECT_DEATH((void)RequestsOf(action, observed), "CHECK") << Describe(action);
  }
}

}  // namespace
}  // namespace compute_domain
