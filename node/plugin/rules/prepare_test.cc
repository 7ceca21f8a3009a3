#include "node/plugin/rules/prepare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "node/plugin/rules/cdi_names.h"
#include "pkg/base/rfc3339.h"

namespace plugin {
namespace {

constexpr const char* kDomain = "0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10";
constexpr const char* kOther = "11111111-7b1d-4f39-8a55-3f3d0a4a9e10";

ClaimToPrepare ClaimOf(const std::string& uid, const std::string& device, const std::string& ns,
                       const std::string& domain = kDomain, const std::string& more = "") {
  const bool is_channel = device.starts_with("channel");
  auto claim = DecodeResourceClaim(
      R"({"metadata":{"name":"c-)" + uid + R"(","namespace":")" + ns + R"(","uid":")" + uid +
      R"(","resourceVersion":"1"},"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"compute-domain.nvidia.com","pool":"node-a","device":")" +
      device + "\"" + more +
      R"(}],"config":[{"source":"FromClaim","opaque":{"driver":"compute-domain.nvidia.com","parameters":{"apiVersion":"resource.nvidia.com/v1beta1","kind":")" +
      (is_channel ? "ComputeDomainChannelConfig" : "ComputeDomainDaemonConfig") +
      R"(","domainID":")" + domain +
      R"("}}}]}},"reservedFor":[{"resource":"pods","name":"p","uid":")" + uid + R"("}]}})");
  EXPECT_TRUE(claim) << claim.error().message;
  return *claim;
}

const ClaimToPrepare kChannel = ClaimOf("a", "channel-0", "train");
const ClaimToPrepare kDaemon = ClaimOf("d", "daemon-0", "driver");

// The claim as the API server has it when another pod has come to use it.
ClaimToPrepare WithAnotherPod(ClaimToPrepare claim) {
  std::string status = claim.status.text();
  status.replace(status.find(R"("name":"p")"), 10, R"("name":"q")");
  claim.status = ClaimStatus::Decode(status).value();
  return claim;
}

using Kinds = std::vector<std::size_t>;
// The alternatives of ClaimStep, as they come.
template <typename... Steps>
Kinds KindsOf() {
  return {ClaimStep(Steps()).index()...};
}

const std::vector<PreparedGroup>& GroupsIn(const ClaimStep& step) {
  return std::get<AnswerKubelet>(step).groups;
}
// Why it waits or is refused.
const std::string& ErrorIn(const ClaimStep& step) {
  const auto* wait = std::get_if<WaitForChange>(&step);
  return wait != nullptr ? wait->reason : std::get<AnswerKubelet>(step).error;
}
bool IsLast(const ClaimStep& step) {
  return std::holds_alternative<AnswerKubelet>(step) || std::holds_alternative<WaitForChange>(step);
}

// A node, and what is known of the cluster there; does what the rule says.
struct Node {
  NodeIdentity self = {.node = "node-a",
                       .driver_namespace = "driver",
                       .clique = "f.1",
                       .folder = "/plugin",
                       .channel_major = 235,
                       .management = cdi::DeviceNode{.path = "/dev/nvidia-caps/nvidia-cap512",
                                                     .host_path = "/dev/nvidia-caps/nvidia-cap512",
                                                     .major = 236,
                                                     .minor = 512}};
  Checkpoint checkpoint = {};
  std::string label = {};
  std::map<std::string, cdi::Spec> specs = {};
  bool has_driver_spec = true;
  bool has_folder = false;
  bool is_ready = true;
  // The claim of the domain's daemon, which is prepared before each channel.
  std::optional<CheckpointClaim> daemon =
      CheckpointClaim{.state = ClaimState::kCompleted,
                      .groups = {{.type = DeviceType::kDaemon, .domain = kDomain}}};
  NodeObservation known = {.domain = DomainIdentity{.uid = kDomain, .name = "dom", .ns = "train"},
                           .node_read = true,
                           .called = base::ParseTime("2026-11-23T03:00:00Z").value()};
  Kinds done = {};

  NodeObservation See(const std::string& uid) const {
    NodeObservation observed = known;
    observed.node_domain = label;
    observed.is_ready = is_ready;
    observed.has_driver_spec = has_driver_spec;
    observed.has_folder = has_folder;
    const auto it = specs.find(uid);
    observed.has_spec = it != specs.end();
    if (observed.has_spec) observed.spec = it->second;
    return observed;
  }

  Checkpoint SeenCheckpoint() const {
    Checkpoint seen = checkpoint;
    if (daemon) seen.claims["daemon"] = *daemon;
    return seen;
  }

  ClaimStep PrepareStep(const ClaimToPrepare& claim) const {
    return Prepare(self, claim.uid, &claim, SeenCheckpoint(), See(claim.uid));
  }
  ClaimStep PrepareUnread(const std::string& uid) const {
    return Prepare(self, uid, nullptr, SeenCheckpoint(), See(uid));
  }
  ClaimStep UnprepareStep(const std::string& uid) const {
    return Unprepare(self, uid, SeenCheckpoint(), See(uid));
  }

  void Apply(const ClaimStep& step, const std::string& uid, const ClaimToPrepare* claim) {
    done.push_back(step.index());
    auto& claims = checkpoint.claims;
    if (std::holds_alternative<CheckpointStarted>(step)) {
      claims[uid] = {.status = claim->status, .name = claim->name, .ns = claim->ns};
    } else if (const auto* set = std::get_if<LabelNode>(&step)) {
      EXPECT_EQ(label, "");
      label = set->domain;
    } else if (std::holds_alternative<CreateDomainFolder>(step)) {
      has_folder = true;
    } else if (const auto* write = std::get_if<WriteSpec>(&step)) {
      specs[uid] = write->spec;
    } else if (const auto* completed = std::get_if<CheckpointCompleted>(&step)) {
      claims[uid].state = ClaimState::kCompleted;
      claims[uid].groups = completed->groups;
    } else if (std::holds_alternative<RemoveSpec>(step)) {
      specs.erase(uid);
    } else if (const auto* removed = std::get_if<UnlabelNode>(&step)) {
      EXPECT_EQ(label, removed->domain);
      label.clear();
    } else if (std::holds_alternative<CheckpointAborted>(step)) {
      claims[uid].state = ClaimState::kAborted;
      claims[uid].aborted_at = "2026-11-23T03:00:00Z";
    } else if (std::holds_alternative<RemoveFromCheckpoint>(step)) {
      claims.erase(uid);
    } else {
      ADD_FAILURE() << step.index();
    }
  }

  // Until it waits or answers, or `most` things are done.
  ClaimStep PrepareAll(const ClaimToPrepare& claim, int most = 20) {
    ClaimStep step = PrepareStep(claim);
    for (; most > 0 && !IsLast(step); --most) {
      Apply(step, claim.uid, &claim);
      step = PrepareStep(claim);
    }
    return step;
  }
  ClaimStep UnprepareAll(const std::string& uid, int most = 20) {
    ClaimStep step = UnprepareStep(uid);
    for (; most > 0 && !IsLast(step); --most) {
      Apply(step, uid, nullptr);
      step = UnprepareStep(uid);
    }
    return step;
  }
};

// An answer with devices, which nothing is wrong with.
testing::AssertionResult IsPrepared(const ClaimStep& step) {
  const auto* answer = std::get_if<AnswerKubelet>(&step);
  if (answer != nullptr && answer->error.empty() && answer->groups.size() == 1) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << step.index() << " " << (IsLast(step) ? ErrorIn(step) : "");
}
bool IsRefused(const ClaimStep& step) {
  return std::holds_alternative<AnswerKubelet>(step) && !ErrorIn(step).empty();
}
bool Waits(const ClaimStep& step) {
  return std::holds_alternative<WaitForChange>(step) && !ErrorIn(step).empty();
}

TEST(Prepare, H16_AChannelIsGivenInThisOrderAndNothingBesideItsDevice) {
  Node node;
  const ClaimStep step = node.PrepareAll(kChannel);
  ASSERT_TRUE(IsPrepared(step));
  EXPECT_EQ(node.done, (KindsOf<CheckpointStarted, LabelNode, WriteSpec, CheckpointCompleted>()));
  EXPECT_EQ(GroupsIn(step)[0].devices[0].cdi_ids,
            std::vector<std::string>{"k8s.compute-domain.nvidia.com/claim=a-channel-0"});
  EXPECT_EQ(GroupsIn(step)[0].devices[0].requests, std::vector<std::string>{"r"});
  const cdi::Edits& edits = node.specs.at("a").devices.at(0).edits;
  ASSERT_EQ(edits.nodes.size(), 1U);
  EXPECT_EQ(edits.nodes[0].path, "/dev/nvidia-caps-imex-channels/channel0");
  EXPECT_EQ(edits.nodes[0].major, 235);
  EXPECT_TRUE(edits.mounts.empty());
  EXPECT_TRUE(edits.env.empty());
  EXPECT_EQ(node.label, kDomain);
}

TEST(Prepare, ADaemonIsGivenItsDomainAndItsFolder) {
  Node node;
  const ClaimStep step = node.PrepareAll(kDaemon);
  ASSERT_TRUE(IsPrepared(step));
  EXPECT_EQ(node.done,
            (KindsOf<CheckpointStarted, CreateDomainFolder, WriteSpec, CheckpointCompleted>()));
  EXPECT_EQ(GroupsIn(step)[0].devices[0].cdi_ids,
            (std::vector<std::string>{"k8s.compute-domain.nvidia.com/device=all",
                                      "k8s.compute-domain.nvidia.com/claim=d-daemon-0"}));
  const cdi::Edits& edits = node.specs.at("d").devices.at(0).edits;
  EXPECT_EQ(edits.env,
            (std::vector<std::string>{
                "CLIQUE_ID=f.1", "COMPUTE_DOMAIN_UUID=0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10",
                "COMPUTE_DOMAIN_NAME=dom", "COMPUTE_DOMAIN_NAMESPACE=train"}));
  ASSERT_EQ(edits.mounts.size(), 1U);
  EXPECT_EQ(edits.mounts[0].host_path, "/plugin/domains/0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10");
  EXPECT_EQ(edits.mounts[0].container_path, "/imexd");
  EXPECT_EQ(edits.nodes, std::vector{*node.self.management});
  EXPECT_EQ(node.label, "");
}

TEST(Prepare, REV4_P11_DaemonWithoutTheDriversCdiFile_Waits) {
  Node node;
  node.has_driver_spec = false;
  EXPECT_TRUE(Waits(node.PrepareAll(kDaemon)));
  EXPECT_TRUE(node.specs.empty());
  node.has_driver_spec = true;
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kDaemon)));
  // It is lost afterwards; the plugin may have been restarted, and reads the entry alone.
  node.has_driver_spec = false;
  EXPECT_TRUE(Waits(node.PrepareUnread("d")));
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kChannel))) << "a channel names no file of the driver";
}

// The plugin was restarted, and has not read ComputeDomains yet.
TEST(Prepare, REV4_P11_PreparedDaemonThatLostItsCdiFile_WaitsForItsDomain) {
  Node node;
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kDaemon)));
  const auto domain = std::exchange(node.known.domain, std::nullopt);
  node.specs.clear();
  EXPECT_TRUE(Waits(node.PrepareAll(kDaemon))) << "the answer would name a file that is not there";
  node.known.domain = domain;
  EXPECT_TRUE(IsPrepared(node.PrepareAll(kDaemon)));
  EXPECT_EQ(node.specs.size(), 1U);
}

TEST(Prepare, REV4_P1_PreparedDaemonOfNoDomain_IsRefusedWithARemedy) {
  Node node;
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kDaemon)));
  node.checkpoint.claims["d"].groups[0].domain = "../..";
  for (const bool has_all : {true, false}) {
    node.has_folder = node.has_driver_spec = has_all;
    EXPECT_NE(ErrorIn(node.PrepareUnread("d")).find("names no ComputeDomain: delete the pod"),
              std::string::npos);
  }
}

TEST(Prepare, REV4_P11_PreparedDaemonThatLostItsFolder_GetsItBack) {
  Node node;
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kDaemon)));
  node.has_folder = false;
  const ClaimStep step = node.PrepareUnread("d");
  ASSERT_TRUE(std::holds_alternative<CreateDomainFolder>(step));
  EXPECT_EQ(std::get<CreateDomainFolder>(step).domain, kDomain);
  node.has_folder = true;
  EXPECT_TRUE(IsPrepared(node.PrepareUnread("d")));
}

TEST(Prepare, WithoutAFabricThereIsNothingToAdd) {
  Node node;
  node.self.clique.clear();
  const ClaimStep step = node.PrepareAll(kChannel);
  ASSERT_TRUE(IsPrepared(step));
  EXPECT_TRUE(GroupsIn(step)[0].devices[0].cdi_ids.empty());
  EXPECT_TRUE(node.specs.empty());
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kDaemon)));
  EXPECT_TRUE(node.specs.at("d").devices.at(0).edits.nodes.empty());
}

TEST(Prepare, REV3_X5_ClaimOfAllChannelsOfADomainThatGivesOneIsRefused) {
  Node node;
  ClaimToPrepare all = kChannel;
  all.wanted->config.all_channels = true;
  EXPECT_NE(ErrorIn(node.PrepareAll(all)).find("gives each pod one channel"), std::string::npos);
  node.known.domain->has_all_channels = true;
  EXPECT_TRUE(IsPrepared(node.PrepareAll(all)));
}

TEST(Prepare, AllChannelsAreInOrderOfTheirPaths) {
  Node node;
  ClaimToPrepare all = kChannel;
  all.wanted->config.all_channels = true;
  node.known.domain->has_all_channels = true;
  ASSERT_TRUE(IsPrepared(node.PrepareAll(all)));
  const auto& nodes = node.specs.at("a").devices.at(0).edits.nodes;
  EXPECT_EQ(nodes.size(), 2048U);
  EXPECT_TRUE(std::ranges::is_sorted(nodes, {}, &cdi::DeviceNode::path));
}

TEST(Prepare, REV3_H1_NoNodeIsLabelledForADomainThatIsBeingDeleted) {
  Node node;
  node.known.domain->is_deleting = true;
  EXPECT_TRUE(Waits(node.PrepareAll(kChannel)));
  EXPECT_EQ(node.label, "");
  node.label = kDomain;  // As long as it has the label, its claims are prepared.
  EXPECT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
}

TEST(Prepare, Oracle1_NoChannelIsGivenBeforeTheNodeIsReady) {
  Node node;
  node.is_ready = false;
  EXPECT_TRUE(Waits(node.PrepareAll(kChannel)));
  EXPECT_EQ(node.done, (KindsOf<CheckpointStarted, LabelNode>()));
  EXPECT_TRUE(node.specs.empty());
  node.is_ready = true;
  EXPECT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
}

// The API server's word may be old: nobody may be there to write that the daemon has ended.
TEST(Prepare, REV4_Y7_ChannelWithoutADaemonOnItsNode_Waits) {
  Node node;
  const PreparedGroup group = {.type = DeviceType::kDaemon, .domain = kDomain};
  const auto admin = ClaimOf("e", "daemon-0", "driver", kDomain, R"(,"adminAccess":true)");
  for (const std::optional<CheckpointClaim>& daemon :
       {std::optional<CheckpointClaim>(), std::optional(StartedClaim(kDaemon)),
        std::optional(CheckpointClaim{.state = ClaimState::kAborted, .groups = {group}}),
        std::optional(CheckpointClaim{.state = ClaimState::kCompleted,
                                      .groups = {{.type = DeviceType::kDaemon, .domain = kOther}}}),
        std::optional(CheckpointClaim{
            .state = ClaimState::kCompleted, .status = admin.status, .groups = {group}})}) {
    node.daemon = daemon;
    const ClaimStep step = node.PrepareAll(kChannel);
    EXPECT_TRUE(Waits(step));
    EXPECT_EQ(ErrorIn(step),
              "no daemon of ComputeDomain " + std::string(kDomain) + " is prepared on node node-a");
    EXPECT_TRUE(node.specs.empty());
  }
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kDaemon)));
  EXPECT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
  Node host;
  host.self.host_managed = true;
  host.daemon.reset();
  EXPECT_TRUE(IsPrepared(host.PrepareAll(kChannel)));
}

TEST(Prepare, Oracle2_AClaimOfAnotherNamespaceIsRefusedBeforeAnythingIsWritten) {
  Node node;
  EXPECT_TRUE(IsRefused(node.PrepareAll(ClaimOf("a", "channel-0", "thieves"))));
  EXPECT_TRUE(node.done.empty());
}

TEST(Prepare, H2_S5_ADaemonsClaimOutsideOfTheDriversNamespaceIsRefused) {
  Node node;
  const ClaimStep step = node.PrepareAll(ClaimOf("d", "daemon-0", "train"));
  EXPECT_TRUE(IsRefused(step));
  EXPECT_NE(ErrorIn(step).find("only in namespace driver"), std::string::npos);
  EXPECT_TRUE(node.done.empty());
}

TEST(Prepare, H1_DomainThatIsAPath_IsNotedAndRefused) {
  Node node;
  const ClaimStep step = node.PrepareAll(ClaimOf("d", "daemon-0", "driver", "../../../etc"));
  EXPECT_TRUE(IsRefused(step));
  EXPECT_TRUE(std::get<AnswerKubelet>(step).is_permanent);
  EXPECT_EQ(node.done, Kinds{ClaimStep(CheckpointStarted()).index()});
  // The entry holds no device, no label and no folder, and is refused again without a write.
  EXPECT_FALSE(UseOf(node.checkpoint.claims.at("d")));
  EXPECT_TRUE(IsRefused(node.PrepareAll(ClaimOf("d", "daemon-0", "driver", "../../../etc"))));
  EXPECT_EQ(node.done.size(), 1U);
  node.UnprepareAll("d");
  EXPECT_EQ(node.done, (Kinds{ClaimStep(CheckpointStarted()).index(),
                              ClaimStep(CheckpointAborted()).index()}));
}

TEST(Prepare, H9_WhatIsHopelessIsSaidAtOnce) {
  Node node;
  ClaimToPrepare waiting = kChannel;
  waiting.is_allocated = false;
  EXPECT_TRUE(IsRefused(node.PrepareAll(waiting)));
  Node elsewhere;
  elsewhere.self.node = "node-b";
  EXPECT_TRUE(IsRefused(elsewhere.PrepareAll(kChannel)));
  node.known.domain.reset();
  node.known.domain_gone = true;
  EXPECT_TRUE(IsRefused(node.PrepareAll(kChannel)));
  EXPECT_TRUE(node.done.empty());
}

TEST(Prepare, H9_WhatItWaitedForIsSaidBeforeTheKubeletGivesUp) {
  Node node;
  node.is_ready = false;
  const ClaimStep waits = node.PrepareAll(kChannel);
  ASSERT_TRUE(Waits(waits));
  EXPECT_EQ(std::get<WaitForChange>(waits).until, node.known.since + kAnswerAfter);
  EXPECT_LT(kAnswerAfter, std::chrono::seconds(45));
  node.known.now = std::get<WaitForChange>(waits).until;
  const ClaimStep told = node.PrepareAll(kChannel);
  EXPECT_TRUE(IsRefused(told));
  EXPECT_EQ(ErrorIn(told), ErrorIn(waits));
}

TEST(Prepare, H4_ADomainThatIsNotKnownYetIsWaitedFor) {
  Node node;
  node.known.domain.reset();
  EXPECT_TRUE(Waits(node.PrepareAll(kChannel)));
  EXPECT_TRUE(Waits(node.PrepareAll(kDaemon)));
  EXPECT_TRUE(node.done.empty());
}

TEST(Prepare, ANodeOfAnotherDomainIsWaitedForAndItsLabelLeft) {
  Node node;
  node.checkpoint.claims["b"] = StartedClaim(ClaimOf("b", "channel-0", "train", kOther));
  node.label = kOther;
  EXPECT_TRUE(Waits(node.PrepareAll(kChannel)));
  EXPECT_EQ(node.label, kOther);
  node.known.node_read = false;
  EXPECT_TRUE(Waits(node.PrepareAll(kChannel)));
}

TEST(Prepare, Oracle4_TwoClaimsNeverHoldOneChannel) {
  Node node;
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
  const ClaimToPrepare second = ClaimOf("b", "channel-0", "train");
  const ClaimStep step = node.PrepareAll(second);
  EXPECT_TRUE(Waits(step));
  EXPECT_NE(ErrorIn(step).find("train/c-a"), std::string::npos);
  EXPECT_TRUE(Waits(
      node.PrepareAll(ClaimOf("e", "channel-0", "train", kDomain, R"(,"adminAccess":true)"))));
  EXPECT_FALSE(node.specs.contains("b"));
  ASSERT_TRUE(ErrorIn(node.UnprepareAll("a")).empty());
  EXPECT_TRUE(IsPrepared(node.PrepareAll(second)));
}

TEST(Prepare, AnAdministratorsClaimForADaemonIsInNobodysWay) {
  Node node;
  const ClaimToPrepare admin =
      ClaimOf("e", "daemon-0", "driver", kDomain, R"(,"adminAccess":true)");
  ASSERT_TRUE(IsPrepared(node.PrepareAll(admin)));
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kDaemon)));
  EXPECT_TRUE(Waits(node.PrepareAll(ClaimOf("f", "daemon-0", "driver"))));
}

TEST(Prepare, REV4_Y3_FullCheckpoint_MakesChannelsWaitAndNoDaemon) {
  Node node;
  const std::string name(60'000, 'x');
  const auto large = ClaimStatus::Decode(R"({"reservedFor":[{"name":")" + name + R"("}]})");
  std::size_t bytes = 0;
  for (int i = 0; bytes < dra::kStatusesMax; ++i) {
    bytes += large->text().size();
    node.checkpoint.claims["other-" + std::to_string(i)] = {.state = ClaimState::kAborted,
                                                            .status = *large};
  }
  const ClaimStep full = node.PrepareAll(kChannel);
  EXPECT_TRUE(Waits(full));
  EXPECT_NE(ErrorIn(full).find("the checkpoint is full"), std::string::npos);
  EXPECT_FALSE(node.checkpoint.claims.contains("a"));
  EXPECT_TRUE(IsPrepared(node.PrepareAll(kDaemon)));
  node.checkpoint.claims.erase("other-0");
  EXPECT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
}

TEST(Prepare, H5_AnEntryWithoutAllocationHoldsItsDevice) {
  Node node;
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
  node.checkpoint.claims["a"].status = {};
  EXPECT_TRUE(Waits(node.PrepareAll(ClaimOf("b", "channel-0", "train"))));
  EXPECT_TRUE(ErrorIn(node.UnprepareAll("a")).empty());
  EXPECT_TRUE(node.checkpoint.claims.empty());
  EXPECT_EQ(node.label, "");
}

TEST(Prepare, OneThatIsPreparedIsAnsweredAsItWas) {
  Node node;
  const ClaimStep first = node.PrepareAll(kChannel);
  node.is_ready = false;
  node.done.clear();
  EXPECT_EQ(GroupsIn(node.PrepareAll(kChannel)), GroupsIn(first));
  EXPECT_TRUE(node.done.empty());
}

TEST(Prepare, H8_ASpecThatWasLostIsWrittenAgain) {
  Node node;
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kDaemon)));
  const auto specs = node.specs;
  node.specs.clear();
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kDaemon)));
  EXPECT_EQ(node.specs, specs);
}

TEST(Prepare, ASpecOfAnotherTimeIsReplaced) {
  Node node;
  node.specs["a"] = {.kind = "old/spec"};
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
  EXPECT_EQ(node.specs.at("a").kind, kClaimKind);
  Node bare;
  bare.self.clique.clear();
  bare.specs["a"] = {.kind = "old/spec"};
  ASSERT_TRUE(IsPrepared(bare.PrepareAll(kChannel)));
  EXPECT_TRUE(bare.specs.empty());
}

// Else two calls would replace each other's entry as long as both wait.
TEST(Prepare, REV4_Y9_ClaimOfTwoPods_IsWrittenOnce) {
  Node node;
  node.is_ready = false;
  ASSERT_TRUE(Waits(node.PrepareAll(kChannel)));
  EXPECT_TRUE(Waits(node.PrepareStep(WithAnotherPod(kChannel))));
  // Another allocation of the claim is another thing.
  const ClaimToPrepare other =
      ClaimOf("a", "channel-0", "train", kDomain, R"(,"adminAccess":true)");
  EXPECT_TRUE(std::holds_alternative<CheckpointStarted>(node.PrepareStep(other)));
}

TEST(Prepare, OneThatWasTakenBackMeanwhileIsStale) {
  Node node;
  node.is_ready = false;
  static_cast<void>(node.PrepareAll(kChannel));
  ASSERT_TRUE(ErrorIn(node.UnprepareAll("a")).empty());
  node.is_ready = true;
  EXPECT_TRUE(IsRefused(node.PrepareAll(kChannel)));
  EXPECT_TRUE(IsPrepared(node.PrepareAll(WithAnotherPod(kChannel))));
}

// Y10: during a rolling update a call waits in the old instance, and the new one unprepares.
TEST(Prepare, REV4_Y10_UnprepareByAYoungerInstance_EndsAPrepareThatWaits) {
  Node node;
  node.known.has_elder = true;
  ASSERT_TRUE(ErrorIn(node.UnprepareAll("a")).empty());
  EXPECT_EQ(node.done, KindsOf<CheckpointAborted>());
  node.known.called -= std::chrono::seconds(1);
  EXPECT_EQ(ErrorIn(node.PrepareAll(kChannel)),
            "stale prepare: the claim was unprepared in the meantime");
  node.known.called += std::chrono::seconds(1);
  EXPECT_TRUE(IsPrepared(node.PrepareAll(kChannel))) << "the kubelet has asked again";
  // What was prepared leaves a mark, too.
  ASSERT_TRUE(ErrorIn(node.UnprepareAll("a")).empty());
  node.known.called -= std::chrono::seconds(1);
  EXPECT_TRUE(IsRefused(node.PrepareAll(kChannel)));
}

TEST(Prepare, TheHostsImexNeedsNoLabelAndIsAskedItself) {
  Node node;
  node.self.host_managed = true;
  node.is_ready = false;
  EXPECT_TRUE(Waits(node.PrepareAll(kChannel)));
  node.is_ready = true;
  EXPECT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
  EXPECT_EQ(node.label, "");
  EXPECT_TRUE(IsRefused(node.PrepareAll(kDaemon)));
  node.label = kDomain;
  EXPECT_TRUE(ErrorIn(node.UnprepareAll("a")).empty());
  EXPECT_EQ(node.label, kDomain);
  Node bare;
  bare.self.host_managed = true;
  bare.self.clique.clear();
  bare.is_ready = false;
  EXPECT_TRUE(IsPrepared(bare.PrepareAll(kChannel)));
}

TEST(Prepare, ClaimNotRead_IsFetched) {
  Node node;
  EXPECT_TRUE(std::holds_alternative<FetchClaim>(node.PrepareUnread("a")));
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
  node.specs.clear();
  EXPECT_TRUE(std::holds_alternative<FetchClaim>(node.PrepareUnread("a")));
}

TEST(Prepare, CompletedClaim_IsAnsweredUnread) {
  Node node;
  const ClaimStep first = node.PrepareAll(kChannel);
  ASSERT_TRUE(IsPrepared(first));
  EXPECT_EQ(GroupsIn(node.PrepareUnread("a")), GroupsIn(first));
  Node bare;
  bare.self.clique.clear();
  ASSERT_TRUE(IsPrepared(bare.PrepareAll(kChannel)));
  EXPECT_TRUE(IsPrepared(bare.PrepareUnread("a")));
}

TEST(Prepare, HostThatIsNotRead_LetsOnlyPreparedClaimsBeAnswered) {
  Node node;
  node.known.no_host = "NVIDIA's driver is not loaded";
  EXPECT_TRUE(std::holds_alternative<FetchClaim>(node.PrepareUnread("a"))) << "meanwhile";
  EXPECT_EQ(ErrorIn(node.PrepareStep(kChannel)), "NVIDIA's driver is not loaded");
  EXPECT_TRUE(node.checkpoint.claims.empty());
  node.known.no_host.clear();
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
  node.known.no_host = "NVIDIA's driver is not loaded";
  EXPECT_TRUE(IsPrepared(node.PrepareUnread("a")));
}

TEST(Prepare, OtherDriver_IsReadBeforeItsNumbersAreWritten) {
  Node node;
  node.known.other_driver = "NVIDIA's driver has changed";
  EXPECT_EQ(ErrorIn(node.PrepareAll(kChannel)), "NVIDIA's driver has changed");
  EXPECT_TRUE(node.specs.empty());
  EXPECT_EQ(node.label, kDomain) << "so that the daemon starts meanwhile";
  node.known.other_driver.clear();
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
  node.specs.clear();
  node.known.other_driver = "NVIDIA's driver has changed";
  EXPECT_EQ(ErrorIn(node.PrepareStep(kChannel)), "NVIDIA's driver has changed");
}

TEST(Prepare, Restore_OfAClaimThatIsNotPreparedAnyMoreDoesNothing) {
  Node node;
  node.known.is_restore = true;
  EXPECT_TRUE(std::holds_alternative<AnswerKubelet>(node.PrepareUnread("a")));
  node.checkpoint.claims["a"] = StartedClaim(kChannel);
  EXPECT_TRUE(GroupsIn(node.PrepareStep(kChannel)).empty());
  node.known.is_restore = false;
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
  node.known.is_restore = true;
  node.specs.clear();
  EXPECT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
  EXPECT_EQ(node.specs.size(), 1U);
}

TEST(Rule, CheckpointThatIsRebuilt_MakesAllClaimsWait) {
  Node node;
  node.specs["a"] = {};
  node.known.rebuilding = "the checkpoint is rebuilt";
  EXPECT_EQ(ErrorIn(node.PrepareStep(kChannel)), "the checkpoint is rebuilt");
  EXPECT_EQ(ErrorIn(node.UnprepareStep("a")), "the checkpoint is rebuilt");
  EXPECT_TRUE(Waits(node.UnprepareStep("a")));
}

TEST(Unprepare, Oracle3_NothingIsLeft) {
  Node node;
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
  node.done.clear();
  EXPECT_TRUE(ErrorIn(node.UnprepareAll("a")).empty());
  EXPECT_EQ(node.done, (KindsOf<RemoveSpec, UnlabelNode, RemoveFromCheckpoint>()));
  EXPECT_TRUE(node.specs.empty());
  EXPECT_TRUE(node.checkpoint.claims.empty());
  EXPECT_EQ(node.label, "");
}

TEST(Unprepare, H7_AFileThatNobodyNotedIsRemoved) {
  Node node;
  node.specs["a"] = {};
  EXPECT_TRUE(ErrorIn(node.UnprepareAll("a")).empty());
  EXPECT_TRUE(node.specs.empty());
}

TEST(Unprepare, REV4_P1_UnpreparedEntryWithoutAUid_KeepsNoLabel) {
  Node node;
  const ClaimToPrepare bad = ClaimOf("bad", "channel-0", "train", "../x");
  node.checkpoint.claims["bad"] = {.status = bad.status, .name = "c-bad", .ns = "train"};
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
  ASSERT_EQ(node.label, kDomain);
  EXPECT_TRUE(ErrorIn(node.UnprepareAll("a")).empty());
  EXPECT_EQ(node.label, "");
  EXPECT_TRUE(ErrorIn(node.UnprepareAll("bad")).empty());
  EXPECT_EQ(node.checkpoint.claims.at("bad").state, ClaimState::kAborted);
}

TEST(Unprepare, REV4_P1_PreparedEntryOfUnknownUse_KeepsTheLabel) {
  Node node;
  const ClaimToPrepare bad = ClaimOf("bad", "channel-0", "train", "../x");
  node.checkpoint.claims["bad"] = {
      .state = ClaimState::kCompleted, .status = bad.status, .name = "c-bad", .ns = "train"};
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
  EXPECT_TRUE(ErrorIn(node.UnprepareAll("a")).empty());
  EXPECT_EQ(node.label, kDomain);
}

TEST(Unprepare, OneThatNobodyKnowsIsDone) {
  EXPECT_TRUE(std::holds_alternative<AnswerKubelet>(Node().UnprepareStep("zzz")));
}

TEST(Unprepare, TheLabelOfAnotherDomainIsLeft) {
  Node node;
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
  node.label = kOther;
  EXPECT_TRUE(ErrorIn(node.UnprepareAll("a")).empty());
  EXPECT_EQ(node.label, kOther);
}

TEST(Unprepare, ADaemonsClaimLeavesTheLabel) {
  Node node;
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kDaemon)));
  EXPECT_TRUE(ErrorIn(node.UnprepareAll("d")).empty());
  EXPECT_EQ(node.label, kDomain);
}

TEST(Unprepare, TheLabelStaysWhileAnotherClaimOfTheDomainNeedsIt) {
  Node node;
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
  node.checkpoint.claims["b"] = {.status = ClaimOf("b", "channel-0", "train").status};
  EXPECT_TRUE(ErrorIn(node.UnprepareAll("a")).empty());
  EXPECT_EQ(node.label, kDomain);
  EXPECT_TRUE(ErrorIn(node.UnprepareAll("b")).empty());
  EXPECT_EQ(node.label, "");
}

TEST(Unprepare, ANodeThatCannotBeReadIsWaitedForAndToldInTime) {
  Node node;
  ASSERT_TRUE(IsPrepared(node.PrepareAll(kChannel)));
  node.known.node_read = false;
  EXPECT_TRUE(Waits(node.UnprepareAll("a")));
  EXPECT_TRUE(node.checkpoint.claims.contains("a"));
  node.known.now = node.known.since + kAnswerAfter;
  EXPECT_TRUE(IsRefused(node.UnprepareAll("a")));
}

TEST(Unprepare, AnEntryThatNobodyCanReadIsForgotten) {
  Node node;
  node.checkpoint.claims["a"] = {.state = ClaimState::kCompleted};
  EXPECT_TRUE(ErrorIn(node.UnprepareAll("a")).empty());
  EXPECT_TRUE(node.checkpoint.claims.empty());
}

// The process may end after each thing that it does; the kubelet asks again.
TEST(Rule, Oracle5_WhereverTheProcessEndsTheKubeletsNextTryGetsThere) {
  for (const ClaimToPrepare& claim : {kChannel, kDaemon}) {
    Node whole;
    const ClaimStep expected = whole.PrepareAll(claim);
    for (int ends_after = 0; ends_after <= 5; ++ends_after) {
      Node node;
      static_cast<void>(node.PrepareAll(claim, ends_after));
      EXPECT_EQ(GroupsIn(node.PrepareAll(claim)), GroupsIn(expected)) << ends_after;
      EXPECT_EQ(node.specs, whole.specs);
      EXPECT_EQ(node.checkpoint, whole.checkpoint);
      EXPECT_EQ(node.label, whole.label);
    }
  }
}

TEST(Rule, Oracle3_Oracle5_WhereverItEndsTakingItBackLeavesNothing) {
  for (const ClaimToPrepare& claim : {kChannel, kDaemon}) {
    for (int prepared = 0; prepared <= 5; ++prepared) {
      for (int ends_after = 0; ends_after <= 4; ++ends_after) {
        Node node;
        static_cast<void>(node.PrepareAll(claim, prepared));
        static_cast<void>(node.UnprepareAll(claim.uid, ends_after));
        EXPECT_TRUE(std::holds_alternative<AnswerKubelet>(node.UnprepareAll(claim.uid)));
        EXPECT_TRUE(node.specs.empty());
        EXPECT_EQ(node.label, "");
        // One that was not ready is remembered for a while, lest a late prepare finds it new.
        for (const auto& [uid, entry] : node.checkpoint.claims) {
          EXPECT_EQ(entry.state, ClaimState::kAborted);
        }
      }
    }
  }
}

TEST(Prepare, REV3_N1_WithdrawnCallChangesNothingMore) {
  Node node;
  node.known.is_withdrawn = true;
  EXPECT_EQ(ErrorIn(node.PrepareStep(kChannel)), "the kubelet has cancelled the call");
  EXPECT_EQ(ErrorIn(node.PrepareUnread("a")), "the kubelet has cancelled the call");
}

TEST(Unprepare, REV3_N1_WithdrawnCallChangesNothingMore) {
  Node node;
  node.specs["a"] = {};
  node.known.is_withdrawn = true;
  EXPECT_EQ(ErrorIn(node.UnprepareStep("a")), "the kubelet has cancelled the call");
}

TEST(Unprepare, REV3_N6_LabelMayStayForAWhile) {
  Node node;
  node.checkpoint.claims["a"] = StartedClaim(kChannel);
  node.checkpoint.claims["a"].state = ClaimState::kCompleted;
  node.label = kDomain;
  EXPECT_TRUE(std::holds_alternative<UnlabelNode>(node.UnprepareStep("a")));
  node.known.keeps_label = true;
  const ClaimStep removed = node.UnprepareStep("a");
  ASSERT_TRUE(std::holds_alternative<RemoveFromCheckpoint>(removed));
  EXPECT_TRUE(std::get<RemoveFromCheckpoint>(removed).keeps_label);
  node.checkpoint.claims["a"].state = ClaimState::kStarted;
  const ClaimStep aborted = node.UnprepareStep("a");
  ASSERT_TRUE(std::holds_alternative<CheckpointAborted>(aborted));
  EXPECT_TRUE(std::get<CheckpointAborted>(aborted).keeps_label);
}

TEST(Prepare, REV3_N6_LabelOfAnotherDomainThatNoClaimNeedsIsRemoved) {
  Node node;
  node.checkpoint.claims["a"] = StartedClaim(kChannel);
  node.label = kOther;
  const ClaimStep step = node.PrepareStep(kChannel);
  ASSERT_TRUE(std::holds_alternative<UnlabelNode>(step));
  EXPECT_EQ(std::get<UnlabelNode>(step).domain, kOther);
  node.checkpoint.claims["b"] = StartedClaim(ClaimOf("b", "channel-0", "train", kOther));
  EXPECT_TRUE(std::holds_alternative<WaitForChange>(node.PrepareStep(kChannel)));
  // An entry that does not tell may need it.
  node.checkpoint.claims["b"] = {.state = ClaimState::kStarted};
  EXPECT_TRUE(std::holds_alternative<WaitForChange>(node.PrepareStep(kChannel)));
}

}  // namespace
}  // namespace plugin
