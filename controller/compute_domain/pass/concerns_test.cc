// Each concern of a domain fails, waits and is tried again by itself, and what is refused never
// takes readiness from a domain that is served.
#include <gtest/gtest.h>

#include "controller/compute_domain/rules/children.h"
#include "test/fixtures/pass_world.h"

namespace compute_domain {
namespace {

using fixtures::Converged;
using fixtures::JustDeleted;
using fixtures::kUserNs;
using fixtures::MapServer;
using fixtures::PassWorld;
using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr const char* kPatchDaemonSet = "PATCH /apis/apps/v1/namespaces/cdom-system/daemonsets";

// After an upgrade, or a changed setting: the DaemonSet has another template than it should.
Observed WithOldTemplate() {
  Observed observed = Converged();
  api::DaemonSet& set = observed.children.daemon_sets[0];
  set.template_hash = "of-the-version-before";
  set.template_generation = set.meta.generation = 1;
  for (api::DaemonPod& pod : observed.children.daemon_pods) {
    pod.template_hash = "of-the-version-before";
  }
  return observed;
}

std::string LabelOf(const PassWorld& world, const std::string& node) {
  return world.server.Get(Kind::kNode, {.name = node})["metadata"]["labels"][api::kDomainLabel]
      .AsString();
}

std::string StatusOf(const PassWorld& world) {
  return world.Domain()["status"]["status"].AsString();
}

void RunFor(minutes time, PassWorld& world) {
  for (const auto end = world.clock.Now() + time; world.clock.Now() < end;) {
    world.server.ShowAll(world.cache);
    (void)world.Run();
    world.clock.Advance(std::chrono::seconds(20));
  }
}

// As the garbage collector and the kubelets do, once the DaemonSet is gone.
void EndDaemonsWithTheirSet(const Observed& observed, PassWorld& world) {
  if (world.server.Count(Kind::kDaemonSet) != 0) return;
  for (const auto& pod : observed.children.daemon_pods) {
    world.server.Remove(Kind::kDaemonPod, pod.meta.key);
  }
  for (const auto& claim : observed.children.claims) {
    world.server.Remove(Kind::kClaim, claim.meta.key);
  }
}

struct Refusal {
  int status;
  const char* reason;
};
constexpr Refusal kRefusals[] = {{403, "Forbidden"},
                                 {422, "Invalid"},
                                 {500, "InternalError"},
                                 {503, "ServiceUnavailable"},
                                 {429, "TooManyRequests"}};

TEST(Concerns, REV3_F2_RefusedRepairLeavesAServingDomainReady) {
  for (const Refusal& refusal : kRefusals) {
    PassWorld world(WithOldTemplate());
    world.server.Refuse(kPatchDaemonSet, refusal.status, refusal.reason);
    const Outcome outcome = world.Run();
    EXPECT_TRUE(outcome.error) << "it is tried again";
    EXPECT_EQ(StatusOf(world), "Ready") << refusal.status;
    EXPECT_EQ(world.Condition("Ready")["status"].AsString(), "True") << refusal.status;
    EXPECT_EQ(world.Condition("Provisioned")["status"].AsString(), "True") << refusal.status;
    if (refusal.status != 403) continue;
    EXPECT_NE(world.Condition("Provisioned")["message"].AsString().find(" Not done yet: replace"),
              std::string::npos)
        << "it is told";
  }
}

// The pod of the job on node-1 has ended, and its plugin has taken the label off.
void LeaveNode1(const Observed& observed, PassWorld& world) {
  world.server.Remove(Kind::kDaemonPod, observed.children.daemon_pods[1].meta.key);
  world.server.Remove(Kind::kClaim, observed.children.claims[1].meta.key);
  json::Value node = world.server.Get(Kind::kNode, {.name = "node-1"});
  node["metadata"]["labels"].Erase(std::string(api::kDomainLabel));
  world.server.Put({Kind::kNode, node});
}

// Of its adoption, its cliques, and live reads, while a member leaves.
TEST(Concerns, REV3_F2_NoRefusedRequestTakesReadinessFromAServingDomain) {
  for (const char* request :
       {"PATCH /apis/resource.nvidia.com/v1beta1/namespaces/cdom-system/computedomaincliques",
        "GET /api/v1/namespaces/cdom-system/pods",
        "GET /apis/resource.nvidia.com/v1beta1/namespaces/cdom-system/computedomaincliques",
        "PATCH /apis/resource.k8s.io/v1/namespaces/team-a/resourceclaimtemplates",
        "GET /apis/resource.k8s.io/v1/namespaces/team-a/resourceclaims",
        "GET /apis/resource.nvidia.com/v1beta1/namespaces/team-a/computedomains"}) {
    Observed observed = Converged();
    for (api::ResourceClaimTemplate& found : observed.children.templates) {
      if (found.meta.key.ns == kUserNs) found.meta.owners.clear();  // To be adopted.
    }
    PassWorld world(observed);
    LeaveNode1(observed, world);
    world.server.Refuse(request, 403, "Forbidden", "authorizer timed out");
    for (int i = 0; i < 3; ++i) {
      world.server.ShowAll(world.cache);
      (void)world.Run();
      world.clock.Advance(minutes(1));
      EXPECT_EQ(StatusOf(world), "Ready") << request;
      EXPECT_EQ(world.Condition("Provisioned")["status"].AsString(), "True") << request;
    }
  }
}

TEST(Concerns, REV3_F2_LabelOfAnIdleNodeGoesWhileARepairIsRefused) {
  for (const Refusal& refusal : kRefusals) {
    Observed observed = WithOldTemplate();
    PassWorld world(observed);
    // The pod on node-1 and its claim are gone; its plugin died before it took the label off.
    world.server.Remove(Kind::kClaim, observed.children.claims[1].meta.key);
    world.server.Refuse(kPatchDaemonSet, refusal.status, refusal.reason);
    RunFor(minutes(3), world);
    EXPECT_EQ(LabelOf(world, "node-1"), "") << refusal.status;
    EXPECT_NE(LabelOf(world, "node-0"), "") << "it is in use";
  }
}

// An additional driver namespace that somebody deleted, and with it the RoleBinding: RBAC is asked
// before existence, so every LIST in it is refused.
TEST(Concerns, REV3_F1_DeletedAdditionalNamespaceHoldsNoDeletion) {
  Observed observed = JustDeleted();
  fixtures::EndWorkload(observed.children.claims);
  observed.facts.views.unreadable_namespaces = {fixtures::kOldDriverNs};
  PassWorld world(observed);
  world.server.Refuse("/namespaces/nvidia-system/", 403, "Forbidden",
                      "cannot list resource \"pods\" in the namespace nvidia-system");
  for (int i = 0; i < 10; ++i) {
    world.server.ShowAll(world.cache);
    (void)world.Run();
    EndDaemonsWithTheirSet(observed, world);
    world.clock.Advance(minutes(1));
  }
  const json::Value domain = world.Domain();
  EXPECT_TRUE(domain.IsNull() || domain["metadata"]["finalizers"].IsNull());
}

TEST(Concerns, REV3_F1_NamespaceInWhichSomethingWasSeenHoldsItsDomainAlone) {
  Observed observed = JustDeleted();
  fixtures::EndWorkload(observed.children.claims);
  observed.facts.views.unreadable_namespaces = {fixtures::kOldDriverNs};
  observed.children.daemon_sets[0].meta.key.ns = fixtures::kOldDriverNs;
  PassWorld world(observed);
  world.server.Refuse("/namespaces/nvidia-system/", 403, "Forbidden", "cannot list");
  for (int i = 0; i < 10; ++i) {
    world.server.ShowAll(world.cache);
    (void)world.Run();
    world.clock.Advance(minutes(1));
  }
  EXPECT_EQ(world.Domain()["metadata"]["finalizers"].items().size(), 1U);
}

// Its watches live, and each LIST there is a 500: one object in etcd cannot be decoded.
TEST(Concerns, REV4_K8_NamespaceThatDoesNotAnswerHoldsUpWhoHasSomethingThere) {
  enum class Has { kNothing, kADaemonSet, kPerhaps };
  for (const Has has : {Has::kNothing, Has::kADaemonSet, Has::kPerhaps}) {
    Observed observed = JustDeleted();
    fixtures::EndWorkload(observed.children.claims);
    observed.children.daemon_pods.clear();
    if (has == Has::kADaemonSet) {
      observed.children.daemon_sets[0].meta.key.ns = fixtures::kOldDriverNs;
    }
    if (has == Has::kPerhaps) {
      observed.facts.views.unknown_namespaces = {fixtures::kOldDriverNs};
    }
    PassWorld world(observed);
    world.server.Refuse("/namespaces/nvidia-system/", 500, "InternalError", "cannot decode");
    for (int i = 0; i < 20; ++i) {
      world.server.ShowAll(world.cache);
      (void)world.Run();
      for (const api::ResourceClaim& claim : observed.children.claims) {
        world.server.Remove(Kind::kClaim, claim.meta.key);
      }
      world.clock.Advance(minutes(1));
    }
    EXPECT_EQ(world.Domain().IsNull(), has == Has::kNothing) << static_cast<int>(has);
  }
}

TEST(Concerns, REV3_F1_MemberLeavesWhileAnAdditionalNamespaceIsRefused) {
  Observed observed = Converged();
  observed.facts.views.unreadable_namespaces = {fixtures::kOldDriverNs};
  PassWorld world(observed);
  LeaveNode1(observed, world);
  world.server.Refuse("/namespaces/nvidia-system/", 403, "Forbidden", "cannot list");
  RunFor(minutes(2), world);
  const json::Value clique = world.server.Get(Kind::kClique, observed.children.cliques[0].meta.key);
  EXPECT_EQ(StatusOf(world), "Ready");
  EXPECT_EQ(clique["daemons"].items().size(), 1U);
}

TEST(Concerns, REV3_F9_WhatAFailingPassWantsSoonIsNotForgotten) {
  Observed observed = WithOldTemplate();
  PassWorld world(observed);
  world.server.Refuse(kPatchDaemonSet, 403, "Forbidden", "denied");
  const auto run = [&] {
    world.server.ShowAll(world.cache);
    ReconcilePass pass(world.shared, fixtures::kUid);
    for (auto requests = pass.Next(); !requests.empty(); requests = pass.Next()) {
      std::vector<MapServer::Reply> replies;
      for (const http::Request& request : requests) replies.push_back(world.server.Serve(request));
      pass.HandleReplies(std::move(replies));
    }
    return EndOf(pass.outcome()).again_after.value_or(std::chrono::nanoseconds(0));
  };
  for (int i = 0; i < 14; ++i) world.clock.Advance(run());
  ASSERT_GT(run(), std::chrono::seconds(10)) << "its back-off is long by now";
  const auto daemon_is = [&](bool ready) {
    observed.children.daemon_pods[1].ready = ready;
    world.server.Put(fixtures::Store(observed.children.daemon_pods[1]));
  };
  const auto run_until_it_is = [&](const std::string& status) {
    auto again_after = run();
    for (int i = 0; i < 20 && StatusOf(world) != status; ++i) {
      world.clock.Advance(again_after);
      again_after = run();
    }
    return StatusOf(world) == status;
  };
  daemon_is(false);
  ASSERT_TRUE(run_until_it_is("NotReady"));
  daemon_is(true);
  ASSERT_TRUE(run_until_it_is("Ready"));
  world.clock.Advance(milliseconds(20));
  daemon_is(false);  // So soon after a write of the status that this one waits.
  const auto again_after = run();
  ASSERT_EQ(StatusOf(world), "Ready");
  EXPECT_GT(again_after, milliseconds(0));
  EXPECT_LT(again_after, milliseconds(200)) << "as status.h promises";
}

TEST(Concerns, REV3_F9_FailedActionIsTriedAgainHoweverSlowTheRestOfItsPassIs) {
  Observed observed = WithOldTemplate();
  PassWorld world(observed);
  world.server.Refuse(kPatchDaemonSet, 500, "InternalError");
  ReconcilePass pass(world.shared, fixtures::kUid);
  for (auto requests = pass.Next(); !requests.empty(); requests = pass.Next()) {
    std::vector<MapServer::Reply> replies;
    for (const http::Request& request : requests) replies.push_back(world.server.Serve(request));
    pass.HandleReplies(std::move(replies));
    world.clock.Advance(milliseconds(10));  // Longer than the first back-off.
  }
  ASSERT_TRUE(pass.outcome().error);
  EXPECT_EQ(EndOf(pass.outcome()).again_after, milliseconds(1));
}

TEST(Concerns, ActionThatFailsIsTriedAgainEverMoreRarelyAndHoldsUpNoOther) {
  Observed observed = WithOldTemplate();
  PassWorld world(observed);
  world.server.Refuse(kPatchDaemonSet, 500, "InternalError");
  int tries = 0;
  for (int i = 0; i < 100; ++i) {  // Something of the domain changes every 100 ms.
    world.server.ShowAll(world.cache);
    ReconcilePass pass(world.shared, fixtures::kUid);
    for (auto requests = pass.Next(); !requests.empty(); requests = pass.Next()) {
      std::vector<MapServer::Reply> replies;
      for (const http::Request& request : requests) {
        tries += request.method == http::Method::kPatch &&
                         request.path.find("/daemonsets/") != std::string::npos
                     ? 1
                     : 0;
        replies.push_back(world.server.Serve(request));
      }
      pass.HandleReplies(std::move(replies));
    }
    world.clock.Advance(milliseconds(100));
  }
  EXPECT_GE(tries, 5);
  EXPECT_LE(tries, 12) << "5 ms, and twice as long each time";
}

TEST(Concerns, REV3_F17_TemplateThatMayNotBeDeletedKeepsNothingElse) {
  for (const Refusal& refusal : kRefusals) {
    Observed observed = JustDeleted();
    fixtures::EndWorkload(observed.children.claims);
    PassWorld world(observed);
    world.server.Refuse("DELETE /apis/resource.k8s.io/v1/namespaces/team-a/resourceclaimtemplates",
                        refusal.status, refusal.reason,
                        "admission webhook denied the request: nothing is deleted in team-a");
    for (int i = 0; i < 20; ++i) {
      world.server.ShowAll(world.cache);
      (void)world.Run();
      EndDaemonsWithTheirSet(observed, world);
      world.clock.Advance(std::chrono::seconds(20));
    }
    EXPECT_EQ(world.server.Count(Kind::kDaemonSet), 0U) << refusal.status;
    EXPECT_EQ(LabelOf(world, "node-1"), "") << refusal.status;
    const json::Value domain = world.Domain();
    EXPECT_TRUE(domain.IsNull() || domain["metadata"]["finalizers"].IsNull())
        << "its owner reference takes the template";
  }
}

// The plugin's prepare goes on, and labels the node again as soon as the label is gone.
TEST(Concerns, REV3_H1_LabelThatComesBackIsRemovedEverMoreRarely) {
  Observed observed = JustDeleted();
  observed.facts.settings.Edit().deletion_grace = std::chrono::seconds(40);
  PassWorld world(observed);
  int removals = 0;
  world.server.Intercept([&](const std::string& line) -> std::optional<MapServer::Reply> {
    if (line != "PATCH /api/v1/nodes/node-1") return {};
    ++removals;
    json::Value node = world.server.Get(Kind::kNode, {.name = "node-1"});
    node["metadata"]["annotations"]["prepared"] = std::to_string(removals);
    world.server.Put({Kind::kNode, node});  // It has the label, once more.
    return MapServer::Ok(world.server.Get(Kind::kNode, {.name = "node-1"}));
  });
  for (int i = 0; i < 600; ++i) {
    world.server.ShowAll(world.cache);
    (void)world.Run();
    world.clock.Advance(milliseconds(100));
  }
  EXPECT_NE(world.Ready().find("the label of nodes/node-1, which its kubelet plugin sets again for "
                               "pods/train-1"),
            std::string::npos)
      << world.Ready();
  EXPECT_GE(removals, 5) << "it is not given up";
  EXPECT_LE(removals, 14) << "in twenty seconds";
}

}  // namespace
}  // namespace compute_domain
