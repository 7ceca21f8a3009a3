// A domain's life under the rights that NVIDIA's chart grants, and under fewer than ours.
#include <gtest/gtest.h>

#include "pkg/kube/client/patch_by_put.h"
#include "test/fixtures/nvidia_permissions.h"
#include "test/fixtures/pass_world.h"

namespace compute_domain {
namespace {

using fixtures::Converged;
using fixtures::Fresh;
using fixtures::JustDeleted;
using fixtures::kUserNs;
using fixtures::MapServer;
using fixtures::PassWorld;
using fixtures::WithoutClaims;
using std::chrono::seconds;
using Lines = std::vector<std::string>;

struct PermissionsWorld : PassWorld {
  using MayDo = std::function<bool(const kube::Permission&)>;
  explicit PermissionsWorld(const Observed& observed,
                            const MayDo& may = fixtures::IsNvidiasPermission)
      : PassWorld(observed) {
    server.Intercept([this, may](const std::string& line) -> std::optional<MapServer::Reply> {
      const std::size_t space = line.find(' ');
      http::Request request = {.path = line.substr(space + 1)};
      for (const http::Method method :
           {http::Method::kPost, http::Method::kPut, http::Method::kPatch, http::Method::kDelete}) {
        if (http::ToString(method) == line.substr(0, space)) request.method = method;
      }
      kube::Permission permission = kube::PermissionFor(request);
      if (permission.verb.empty()) {
        permission.verb = "list";
        for (const fixtures::Grant& grant : fixtures::NvidiasGrants()) {
          const bool is_it =
              line.find("/" + std::string(grant.resource) + "?") != std::string::npos;
          if (is_it) permission.resource = grant.resource;
        }
      }
      if (may(permission)) return {};
      refused.push_back(permission.verb + " " + permission.resource);
      return MapServer::Fail(403, "Forbidden", fixtures::ForbiddenMessage(permission));
    });
  }
  // Lines of the log that say so of a right.
  int Said(const std::string& permission) const {
    return static_cast<int>(std::ranges::count_if(logger.lines(), [&](const auto& line) {
      return line.text.find("Continuing without a permission") != std::string::npos &&
             line.text.find(permission) != std::string::npos;
    }));
  }
  Lines refused = {};
};

TEST(RefusedPermissions, C20_K2_DomainIsProvidedForUnderNvidiasRights) {
  PermissionsWorld world(WithoutClaims(Fresh()));
  EXPECT_LT(world.Settle(), 20);
  EXPECT_EQ(world.server.Count(Kind::kDaemonSet), 1U);
  EXPECT_EQ(world.server.Count(Kind::kClaimTemplate), 2U);
  EXPECT_EQ(world.Domain()["metadata"]["finalizers"].items().size(), 1U);
  EXPECT_EQ(world.Condition("Provisioned")["status"].AsString(), "True");
  EXPECT_EQ(world.Condition("InUse")["status"].AsString(), "Unknown");
  EXPECT_EQ(world.Condition("InUse")["reason"].AsString(), "PermissionMissing");
  EXPECT_EQ(world.refused, (Lines{"patch computedomains", "patch computedomains/status"}));
  EXPECT_EQ(world.Said("patch computedomains/status"), 1);
}

TEST(RefusedPermissions, C20_K2_DomainEndsUnderNvidiasRightsOnceNoNodeIsLabelled) {
  PermissionsWorld world(WithoutClaims(JustDeleted()));
  world.Settle();
  EXPECT_EQ(world.server.Count(Kind::kDaemonSet), 1U) << "its job may run";
  EXPECT_TRUE(world.Ready().starts_with("Deleti")) << world.Ready();

  for (const char* node : {"node-0", "node-1"}) {  // As the kubelet plugin does.
    json::Value object = world.server.Get(Kind::kNode, {.name = node});
    object["metadata"]["labels"].Erase(api::kDomainLabel);
    world.server.Put({.kind = Kind::kNode, .object = std::move(object)});
  }
  world.Settle();
  EXPECT_EQ(world.server.Count(Kind::kDaemonSet), 0U);
  EXPECT_EQ(world.server.Count(Kind::kClaimTemplate), 0U);
  EXPECT_FALSE(world.Domain().IsNull()) << "its clique is still there";
  EXPECT_EQ(world.Said("delete computedomaincliques"), 1);

  for (const api::Clique& clique : Converged().children.cliques) {
    world.server.Remove(Kind::kClique, clique.meta.key);
  }
  for (const api::DaemonPod& pod : Converged().children.daemon_pods) {
    world.server.Remove(Kind::kDaemonPod, pod.meta.key);
  }
  world.Settle();
  EXPECT_TRUE(world.Domain().IsNull());
  EXPECT_LE(world.refused.size(), 8U);
  EXPECT_EQ(std::ranges::count(world.refused, "list "), 0) << "no claims are listed";
}

TEST(RefusedPermissions, C20_DomainGoesBeforeItsLabelsWhenTheGraceIsOver) {
  Observed observed = WithoutClaims(JustDeleted());
  observed.domain->meta.deletion_timestamp = "2026-01-01T11:00:00Z";
  PermissionsWorld world(observed);
  world.Settle();
  EXPECT_EQ(world.server.Count(Kind::kDaemonSet), 1U);
  world.clock.Advance(std::chrono::hours(1));
  world.Settle();
  EXPECT_EQ(world.server.Count(Kind::kDaemonSet), 0U);
  const json::Value node = world.server.Get(Kind::kNode, {.name = "node-0"});
  EXPECT_TRUE(node["metadata"]["labels"][api::kDomainLabel].IsNull());
  EXPECT_EQ(std::ranges::count(world.refused, "update nodes"), 0);
}

TEST(RefusedPermissions, C20_WhatIsRefusedOnceIsPutFromThenOn) {
  PermissionsWorld world(WithoutClaims(Fresh()));
  world.Settle();
  const std::size_t refused = world.refused.size();
  for (int i = 0; i < 5; ++i) {
    json::Value domain = world.Domain();
    domain["status"] = json::Value::Object();
    world.server.Put({.kind = Kind::kComputeDomain, .object = std::move(domain)});
    world.Settle();
    EXPECT_EQ(world.Condition("Provisioned")["status"].AsString(), "True");
  }
  EXPECT_EQ(world.refused.size(), refused);
  EXPECT_EQ(world.Said("computedomains/status"), 1);
}

// Sent as PATCH, which is refused, then GET and PUT: one write all the same.
TEST(RefusedPermissions, C10_CliqueWrittenByPut_CountsAsOneWrite) {
  Observed observed = fixtures::Marked();
  observed.children.daemon_pods.push_back(fixtures::MakePod("node-2", 2));
  observed.children.daemon_pods.back().controller_writes = true;
  observed.nodes["node-2"] = fixtures::MakeNode("node-2", "");
  fixtures::AddMissingClaims(observed);
  PermissionsWorld world(observed, [](const kube::Permission& permission) {
    return permission.verb != "patch" || permission.resource != "computedomaincliques";
  });
  EXPECT_FALSE(world.Run().error);
  EXPECT_EQ(world.refused, (Lines{"patch computedomaincliques"}));
  const auto batching = world.shared.Gather(fixtures::kUid).memory.clique_batching;
  ASSERT_EQ(batching.size(), 1U);
  EXPECT_EQ(batching.begin()->second.window, observed.facts.settings->status_window);
}

TEST(RefusedPermissions, C20_RightThatIsGrantedIsUsedAgain) {
  bool granted = false;
  PermissionsWorld world(WithoutClaims(Fresh()), [&](const kube::Permission& permission) {
    return granted || permission.verb != "patch";
  });
  world.Settle();
  granted = true;
  world.clock.Advance(seconds(30));
  json::Value domain = world.Domain();
  domain["status"] = json::Value::Object();
  world.server.Put({.kind = Kind::kComputeDomain, .object = std::move(domain)});
  world.server.ShowAll(world.cache);
  (void)world.Run();
  ASSERT_EQ(world.Writes().size(), 1U);
  EXPECT_TRUE(world.Writes()[0].starts_with("PATCH ")) << world.Writes()[0];
}

TEST(RefusedPermissions, C20_WhoeverChangedTheObjectMeanwhileIsNotOverwritten) {
  PermissionsWorld world(WithoutClaims(Fresh()));
  world.server.ShowAll(world.cache);
  json::Value domain = world.Domain();
  domain["metadata"]["labels"]["of"] = "a user";
  world.server.Put({.kind = Kind::kComputeDomain, .object = domain});
  const Outcome outcome = world.Run();
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, base::ErrorCode::kConflict);
  EXPECT_EQ(world.server.Count(Kind::kDaemonSet), 0U) << "the finalizer comes first";
  EXPECT_LT(world.Settle(), 20);
  EXPECT_EQ(world.Domain()["metadata"]["labels"]["of"].AsString(), "a user");
}

TEST(RefusedPermissions, C20_NoEventTellsOfWhatWasOnlyRead) {
  PermissionsWorld world(WithoutClaims(Fresh()));
  int told = 0;
  for (int i = 0; i < 5; ++i) {
    world.server.ShowAll(world.cache);
    const Outcome outcome = world.Run();
    told +=
        static_cast<int>(std::ranges::count(outcome.events, "Provisioned", &kube::Event::reason));
    world.clock.Advance(seconds(1));
  }
  EXPECT_LE(told, 1);
}

TEST(RefusedPermissions, C20_WithoutPatchAndUpdateItIsTheDomainsFailure) {
  PermissionsWorld world(WithoutClaims(Fresh()), [](const kube::Permission& permission) {
    return permission.resource != "computedomains" ||
           (permission.verb != "patch" && permission.verb != "update");
  });
  const Outcome outcome = world.Run();
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, base::ErrorCode::kForbidden);
  EXPECT_NE(outcome.error->message.find("cannot update"), std::string::npos);
  EXPECT_EQ(world.Said("patch computedomains,"), 0) << "there is no way around";
  EXPECT_TRUE(world.Ready().starts_with("Forbidden: ")) << world.Ready();
}

TEST(RefusedPermissions, C20_PolicysRefusalOfADeleteIsNoMissingRight) {
  Observed observed = JustDeleted();
  observed.children.claims.clear();
  observed.children.daemon_pods.clear();
  PassWorld world(observed);
  world.server.Refuse("DELETE /apis/resource.nvidia.com", 403, "Forbidden",
                      "ValidatingAdmissionPolicy 'ours' denied request: no");
  world.Settle(5);
  EXPECT_TRUE(world.Ready().starts_with("DeletionBlocked: delete ComputeDomainClique"))
      << world.Ready();
}

TEST(RefusedPermissions, K2_WithoutARightToDeletePodsNoDaemonIsReplacedAndThatIsSaid) {
  Observed observed = Converged();
  observed.facts.settings.Edit().rollout.policy = RolloutPolicy::kAlways;
  observed.children.daemon_sets[0].template_hash = "old";
  observed.children.daemon_sets[0].template_generation = 1;
  for (api::DaemonPod& pod : observed.children.daemon_pods) pod.template_hash = "older";
  PermissionsWorld world(observed, [](const kube::Permission& permission) {
    return permission.verb != "delete" || permission.resource != "pods";
  });
  for (int i = 0; i < 20; ++i) {
    world.server.ShowAll(world.cache);
    (void)world.Run();
    world.clock.Advance(seconds(1));
  }
  EXPECT_EQ(world.refused, (Lines{"delete pods"}));
  EXPECT_EQ(world.Said("delete pods"), 1);
  EXPECT_NE(world.Condition("Provisioned")["message"].AsString().find("may not delete pods"),
            std::string::npos);

  // Nothing but a timer starts the pass after the grant.
  world.server.Intercept({});
  world.Drive(std::chrono::hours(24));
  EXPECT_LT(world.server.Count(Kind::kDaemonPod), observed.children.daemon_pods.size());
}

}  // namespace
}  // namespace compute_domain
