#include "controller/compute_domain/status/explanation/unlisted_claims.h"

#include <gtest/gtest.h>

#include "controller/compute_domain/plan/next_memory.h"
#include "controller/compute_domain/plan/planner.h"
#include "test/fixtures/next_memory.h"
#include "test/fixtures/observed.h"
#include "test/fixtures/plan.h"

namespace compute_domain {
namespace {

using Names = std::vector<std::string>;

// Nobody has read its pods.
Observed Converged() {
  Observed observed = fixtures::Converged();
  observed.memory.lists_claim.clear();
  return observed;
}

// The pods whose containers are to be looked at.
Names PodsToRead(const Observed& observed) {
  Names pods;
  for (const ReadUses& read :
       fixtures::Actions<ReadUses>(fixtures::PlanReconcile(observed, fixtures::Now()))) {
    EXPECT_EQ(read.ns, fixtures::kUserNs);
    for (const Use& use : read.uses) pods.push_back(use.pod);
  }
  return pods;
}

void Look(Observed& observed, const std::string& pod, bool lists) {
  for (const api::ResourceClaim& claim : observed.children.claims) {
    if (std::ranges::find(claim.consumers, "pods/" + pod) == claim.consumers.end()) continue;
    const UsesRead read = {.lists_claim = {{KeyOfUse(claim, pod), lists}}};
    observed.memory = NextMemory(std::move(observed.memory), read, fixtures::Now().monotonic);
  }
}

TEST(PlanUses, REV4_P27_EachPodIsReadOnceWhenAllMembersAreReady) {
  Observed observed = Converged();
  EXPECT_EQ(PodsToRead(observed), (Names{"train-0", "train-1"}));
  Look(observed, "train-0", true);
  EXPECT_EQ(PodsToRead(observed), Names{"train-1"});
  Look(observed, "train-1", false);
  EXPECT_EQ(PodsToRead(observed), Names{});
  observed = Converged();
  observed.children.daemon_pods[1].ready = false;
  EXPECT_EQ(PodsToRead(observed), Names{}) << "it forms";
  observed = Converged();
  fixtures::ConditionOf(observed.domain->status, "MembersReady").status = "False";
  EXPECT_EQ(PodsToRead(observed), Names{}) << "status comes first";
  observed.domain->status.conditions.clear();
  EXPECT_EQ(PodsToRead(observed), Names{}) << "nothing could say it";
}

TEST(PlanUses, REV4_P27_OfALargeDomainSomePodsAreRead) {
  Observed observed = Converged();
  api::ResourceClaim& shared = observed.children.claims[0];
  for (int i = 0; i < 100; ++i) shared.consumers.push_back("pods/more-" + std::to_string(i));
  shared.consumers.emplace_back("jobs/no-pod");
  EXPECT_EQ(PodsToRead(observed).size(), kUsesReadMax);
  for (const std::string& pod : PodsToRead(observed)) Look(observed, pod, true);
  EXPECT_EQ(PodsToRead(observed), Names{});
}

TEST(NextMemory, REV4_P27_WhatIsKnownOfAPodEndsWithItsClaim) {
  Observed observed = Converged();
  observed.memory.rendered.daemon_set = "of an earlier pass";
  Look(observed, "train-0", false);
  Look(observed, "train-1", true);
  EXPECT_EQ(NextMemory(observed, fixtures::Now()).lists_claim.size(), 2U);
  observed.children.claims.resize(1);
  EXPECT_EQ(NextMemory(observed, fixtures::Now()).lists_claim.size(), 1U);
  // So that the pods of a second large job are read.
  observed = Converged();
  observed.memory.rendered.daemon_set = "of an earlier pass";
  for (int i = 0; i < 100; ++i) {
    observed.children.claims[0].consumers.push_back("pods/more-" + std::to_string(i));
  }
  for (std::size_t i = 0; i < kUsesReadMax; ++i) {
    observed.memory.lists_claim["of an earlier job " + std::to_string(i)] = true;
  }
  EXPECT_TRUE(NextMemory(observed, fixtures::Now()).lists_claim.empty());
}

TEST(NextMemory, REV4_P27_NewProcessReadsNoPodsOfADomainThatSharesMemory) {
  for (const bool shares : {true, false}) {
    Observed observed = Converged();
    observed.memory = {};
    observed.domain->status = fixtures::StatusOf(observed);
    kube::Condition& shared = fixtures::ConditionOf(observed.domain->status, "MemoryShared");
    shared.status = shares ? "True" : "False";
    EXPECT_EQ(NextMemory(observed, fixtures::Now()).lists_claim.size(), shares ? 2U : 0U);
    observed.memory.rendered.daemon_set = "of an earlier pass";
    EXPECT_TRUE(NextMemory(observed, fixtures::Now()).lists_claim.empty()) << "they are new";
  }
}

TEST(FindUnlisted, REV4_P27_OnlyPodsOfNowAreNamed) {
  Observed observed = Converged();
  EXPECT_FALSE(FindUnlisted(observed));
  observed.memory.lists_claim["of-a-claim-that-is-gone/train-0"] = false;
  EXPECT_FALSE(FindUnlisted(observed));
  Look(observed, "train-1", false);
  EXPECT_NE(FindUnlisted(observed)->says.find("channel: pods/train-1. "), std::string::npos);
}

TEST(DecideStatus, REV4_P27_PodWithoutItsChannelIsNamedAndSharesNothing) {
  Observed observed = Converged();
  Look(observed, "train-0", false);
  Look(observed, "train-1", true);
  const api::DomainStatus status = fixtures::StatusOf(observed);
  EXPECT_EQ(fixtures::ReasonOf(status, "MemoryShared"), "ClaimNotListed");
  EXPECT_EQ(status.Find("MemoryShared")->status, "False");
  EXPECT_EQ(status.Find("MemoryShared")->message,
            "No container lists the claim that holds the channel: pods/train-0. They share no "
            "memory. Name it in resources.claims of the containers that need it, and create the "
            "pods again.");
  EXPECT_EQ(fixtures::ReasonOf(status, "Ready"), "ClaimNotListed");
  EXPECT_EQ(status.Find("Ready")->status, "True");
}

}  // namespace
}  // namespace compute_domain
