#include "node/plugin/rules/garbage.h"

#include <gtest/gtest.h>

#include "pkg/base/rfc3339.h"

namespace plugin {
namespace {

constexpr const char* kDomain = "0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10";
constexpr const char* kOther = "11111111-7b1d-4f39-8a55-3f3d0a4a9e10";
using Names = std::vector<std::string>;

const NodeIdentity kSelf = {.node = "node-a", .driver_namespace = "driver", .clique = "f.1"};

CheckpointClaim EntryOf(ClaimState state, DeviceType type = DeviceType::kChannel) {
  return {
      .state = state, .groups = {{.type = type, .domain = kDomain}}, .name = "c", .ns = "train"};
}
CheckpointClaim AbortedAt(const std::string& time) {
  return {.state = ClaimState::kAborted, .aborted_at = time};
}
NodeResidue ResidueAt(const std::string& time) { return {.now = base::ParseTime(time).value()}; }

TEST(FindGarbage, H7_FilesOfClaimsThatNobodyNotedGo) {
  Checkpoint checkpoint;
  checkpoint.claims["a"] = EntryOf(ClaimState::kCompleted);
  const GarbagePlan garbage = FindGarbage(kSelf, checkpoint, {.specs = {"a", "b"}});
  EXPECT_EQ(garbage.remove_specs, Names{"b"});
}

TEST(FindGarbage, H6_ALabelThatNoClaimNeedsGoes) {
  Checkpoint checkpoint;
  EXPECT_TRUE(FindGarbage(kSelf, checkpoint, {.node_domain = kDomain}).unlabel);
  EXPECT_FALSE(FindGarbage(kSelf, checkpoint, {}).unlabel);
  checkpoint.claims["a"] = EntryOf(ClaimState::kStarted);
  EXPECT_FALSE(FindGarbage(kSelf, checkpoint, {.node_domain = kDomain}).unlabel);
  EXPECT_TRUE(FindGarbage(kSelf, checkpoint, {.node_domain = kOther}).unlabel);
  checkpoint.claims["a"] = EntryOf(ClaimState::kCompleted, DeviceType::kDaemon);
  EXPECT_TRUE(FindGarbage(kSelf, checkpoint, {.node_domain = kDomain}).unlabel);
  checkpoint.claims["a"] = EntryOf(ClaimState::kAborted);
  EXPECT_TRUE(FindGarbage(kSelf, checkpoint, {.node_domain = kDomain}).unlabel);
}

TEST(FindGarbage, ALabelStaysWhileItCannotBeToldWhoNeedsIt) {
  Checkpoint checkpoint;
  checkpoint.claims["a"] = {.state = ClaimState::kStarted};
  EXPECT_FALSE(FindGarbage(kSelf, checkpoint, {.node_domain = kDomain}).unlabel);
  NodeIdentity host = kSelf;
  host.host_managed = true;
  EXPECT_FALSE(FindGarbage(host, {}, {.node_domain = kDomain}).unlabel);
}

TEST(FindGarbage, WhatWasAbortedIsForgottenWhenNoLatePrepareCanCome) {
  Checkpoint checkpoint;
  checkpoint.claims["young"] = AbortedAt("2026-11-23T03:00:00Z");
  checkpoint.claims["old"] = AbortedAt("2026-11-23T02:58:00Z");
  checkpoint.claims["never"] = AbortedAt("");
  checkpoint.claims["tomorrow"] = AbortedAt("2026-11-24T03:00:00Z");
  const GarbagePlan garbage = FindGarbage(kSelf, checkpoint, ResidueAt("2026-11-23T03:01:00Z"));
  EXPECT_EQ(garbage.forget, (Names{"never", "old", "tomorrow"}));
  EXPECT_TRUE(garbage.has_aborted) << "a young one";
  checkpoint.claims.erase("young");
  EXPECT_FALSE(FindGarbage(kSelf, checkpoint, ResidueAt("2026-11-23T03:01:00Z")).has_aborted);
}

TEST(FindGarbage, REV3_N1_ClaimsThatHoldSomethingAreLookedUp) {
  Checkpoint checkpoint;
  checkpoint.claims["a"] = EntryOf(ClaimState::kStarted);
  checkpoint.claims["b"] = EntryOf(ClaimState::kCompleted);
  checkpoint.claims["c"] = EntryOf(ClaimState::kAborted);
  checkpoint.claims["old"] = {.state = ClaimState::kCompleted};  // Whose name is not known.
  EXPECT_EQ(FindGarbage(kSelf, checkpoint, {}).look_up, (Names{"a", "b"}));
}

TEST(FindGarbage, Oracle3_AFolderGoesWhenItsDomainIsGoneAndNoClaimNamesIt) {
  Checkpoint checkpoint;
  const NodeResidue residue = {.folders = {kDomain, kOther, ".."}, .domains_gone = {kDomain, ".."}};
  EXPECT_EQ(FindGarbage(kSelf, checkpoint, residue).remove_folders, Names{kDomain});
  checkpoint.claims["a"] = EntryOf(ClaimState::kCompleted, DeviceType::kDaemon);
  EXPECT_TRUE(FindGarbage(kSelf, checkpoint, residue).remove_folders.empty());
}

TEST(FindGarbage, REV3_N6_LabelThatNoClaimNeedsMayStayForAWhile) {
  EXPECT_FALSE(FindGarbage(kSelf, {}, {.keeps_label = true, .node_domain = kDomain}).unlabel);
}

TEST(FindGarbage, REV3_N14_LabelThatAPreparedChannelNeedsIsPutBack) {
  Checkpoint checkpoint;
  checkpoint.claims["a"] = EntryOf(ClaimState::kCompleted);
  const NodeResidue residue = {.domains_alive = {kDomain}};
  EXPECT_EQ(FindGarbage(kSelf, checkpoint, residue).relabel, kDomain);
  EXPECT_EQ(FindGarbage(kSelf, checkpoint, {}).relabel, "") << "the domain is being deleted";
  NodeResidue labelled = residue;
  labelled.node_domain = kOther;
  EXPECT_EQ(FindGarbage(kSelf, checkpoint, labelled).relabel, "") << "the node is another's";
  NodeIdentity host = kSelf;
  host.host_managed = true;
  EXPECT_EQ(FindGarbage(host, checkpoint, residue).relabel, "");
  checkpoint.claims["a"] = EntryOf(ClaimState::kStarted);
  EXPECT_EQ(FindGarbage(kSelf, checkpoint, residue).relabel, "") << "its prepare will label";
  checkpoint.claims["a"] = EntryOf(ClaimState::kCompleted, DeviceType::kDaemon);
  EXPECT_EQ(FindGarbage(kSelf, checkpoint, residue).relabel, "");
}

TEST(UsedDomains, REV3_N10_AbortedClaimUsesNone) {
  Checkpoint checkpoint;
  checkpoint.claims["a"] = EntryOf(ClaimState::kAborted);
  EXPECT_TRUE(UsedDomains(checkpoint).empty());
  checkpoint.claims["b"] = EntryOf(ClaimState::kCompleted, DeviceType::kDaemon);
  EXPECT_EQ(UsedDomains(checkpoint), std::set<std::string>{kDomain});
}

ClaimToPrepare ClaimOf(const std::string& uid, const std::string& device, const std::string& ns) {
  const bool is_channel = device.starts_with("channel");
  auto claim = DecodeResourceClaim(
      R"({"metadata":{"name":"c","namespace":")" + ns + R"(","uid":")" + uid +
      R"(","resourceVersion":"1"},"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"compute-domain.nvidia.com","pool":"node-a","device":")" +
      device +
      R"("}],"config":[{"source":"FromClaim","opaque":{"driver":"compute-domain.nvidia.com","parameters":{"apiVersion":"resource.nvidia.com/v1beta1","kind":")" +
      (is_channel ? "ComputeDomainChannelConfig" : "ComputeDomainDaemonConfig") +
      R"(","domainID":")" + kDomain + R"("}}}]}}}})");
  EXPECT_TRUE(claim) << claim.error().message;
  return *claim;
}

TEST(Rebuild, H8_ClaimsWhoseSpecsAreThereWerePrepared) {
  const std::vector<ClaimToPrepare> claims = {ClaimOf("a", "channel-0", "train"),
                                              ClaimOf("d", "daemon-0", "driver"),
                                              ClaimOf("x", "daemon-0", "driver")};
  const Checkpoint rebuilt = Rebuild(kSelf, "boot", claims, {.specs = {"a", "d", "stranger"}});
  ASSERT_EQ(rebuilt.claims.size(), 2U);
  EXPECT_EQ(rebuilt.boot_id, "boot");
  EXPECT_EQ(rebuilt.claims.at("a").state, ClaimState::kCompleted);
  EXPECT_EQ(rebuilt.claims.at("a").groups.at(0).devices.at(0).cdi_ids,
            Names{"k8s.compute-domain.nvidia.com/claim=a-channel-0"});
  EXPECT_EQ(rebuilt.claims.at("d").groups.at(0).domain, kDomain);
}

// Whether they were, and to whom the domain belongs, the kubelet's next question shows; until then
// the label stays.
TEST(Rebuild, Oracle2_WithoutAFabricClaimsOfTheLabelsDomainWereBegun) {
  NodeIdentity bare = kSelf;
  bare.clique.clear();
  const std::vector<ClaimToPrepare> claims = {ClaimOf("a", "channel-0", "train")};
  const NodeResidue residue = {.node_domain = kDomain};
  const Checkpoint rebuilt = Rebuild(bare, "boot", claims, residue);
  ASSERT_EQ(rebuilt.claims.size(), 1U);
  EXPECT_EQ(rebuilt.claims.at("a").state, ClaimState::kStarted);
  EXPECT_TRUE(rebuilt.claims.at("a").groups.empty());
  EXPECT_FALSE(FindGarbage(bare, rebuilt, residue).unlabel);
  EXPECT_TRUE(Rebuild(bare, "boot", claims, {.node_domain = kOther}).claims.empty());
}

TEST(Rebuild, H2_ClaimsThatWouldNotBePreparedAreNot) {
  ClaimToPrepare waiting = ClaimOf("a", "channel-0", "train");
  waiting.is_allocated = false;
  const NodeResidue residue = {.specs = {"a", "d"}};
  EXPECT_TRUE(
      Rebuild(kSelf, "boot", {waiting, ClaimOf("d", "daemon-0", "train")}, residue).claims.empty());
  NodeIdentity elsewhere = kSelf;
  elsewhere.node = "node-b";
  EXPECT_TRUE(
      Rebuild(elsewhere, "boot", {ClaimOf("a", "channel-0", "train")}, residue).claims.empty());
  EXPECT_TRUE(Rebuild(kSelf, "boot", {ClaimOf("a", "gpu-0", "train")}, residue).claims.empty());
}

}  // namespace
}  // namespace plugin
