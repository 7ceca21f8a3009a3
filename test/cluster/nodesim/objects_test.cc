#include "test/cluster/nodesim/objects.h"

#include <gtest/gtest.h>

#include <string>

namespace nodesim {
namespace {

template <typename T>
T Decode(base::Result<T> (*decode)(json::View), const std::string& text) {
  json::Parser parser;
  const auto parsed = parser.Parse(text);
  EXPECT_TRUE(parsed) << text;
  auto decoded = decode(*parsed);
  EXPECT_TRUE(decoded) << text;
  return *std::move(decoded);
}

constexpr const char* kOurs = "73de0384-716f-480e-8caa-00bce7016114";
constexpr const char* kTheirs = "73de0384-716f-480e-8caa-00bce7016115";

const std::string kMeta =
    R"("metadata":{"name":"x","namespace":"n","uid":"u","resourceVersion":"1"})";

// A claim with one channel, and these configurations.
Grant ChannelWith(const std::string& configs) {
  const Claim claim =
      Decode(DecodeResourceClaim,
             "{" + kMeta + R"(,"status":{"allocation":{"devices":{"results":[{"driver":)" +
                 R"("compute-domain.nvidia.com","pool":"node-000","device":"channel-0",)" +
                 R"("request":"channel"}],"config":[)" + configs + "]}}}}");
  EXPECT_EQ(claim.grants.size(), 1U);
  return claim.grants.front();
}

std::string Config(const std::string& source, const std::string& requests,
                   const std::string& parameters) {
  return R"({"source":")" + source + R"(","requests":[)" + requests +
         R"(],"opaque":{"driver":"compute-domain.nvidia.com","parameters":)" + parameters + "}}";
}

std::string Channel(const std::string& domain, const std::string& more = "") {
  return R"({"apiVersion":"resource.nvidia.com/v1beta1","kind":"ComputeDomainChannelConfig",)" +
         (R"("domainID":")" + domain + "\"" + more + "}");
}

TEST(DecodeClaim, ConfigurationOfTheClaimWinsOverThatOfItsClass) {
  const Grant grant = ChannelWith(Config("FromClaim", "", Channel(kOurs)) + "," +
                                  Config("FromClass", "", Channel(kTheirs)));
  EXPECT_EQ(grant.domain, kOurs);
  EXPECT_EQ(grant.kind, DeviceKind::kChannel);
  EXPECT_EQ(grant.problem, "");
}

TEST(DecodeClaim, ConfigurationForAnotherRequestDoesNotCount) {
  const Grant grant = ChannelWith(Config("FromClaim", R"("channel")", Channel(kOurs)) + "," +
                                  Config("FromClaim", R"("other")", Channel(kTheirs)));
  EXPECT_EQ(grant.domain, kOurs);
}

TEST(DecodeClaim, ConfigurationOfAnotherDriverDoesNotCount) {
  const Grant grant = ChannelWith(
      Config("FromClaim", "", Channel(kOurs)) +
      R"(,{"source":"FromClaim","opaque":{"driver":"gpu.nvidia.com","parameters":{"kind":"X"}}})");
  EXPECT_EQ(grant.domain, kOurs);
}

TEST(DecodeClaim, UnknownFieldOfAConfigurationIsAPermanentProblem) {
  const Grant grant =
      ChannelWith(Config("FromClaim", "", Channel(kOurs, R"(,"namespace":"default")")));
  EXPECT_NE(grant.problem.find("unknown field \"namespace\""), std::string::npos) << grant.problem;
  EXPECT_TRUE(grant.problem_is_permanent);
}

TEST(DecodeClaim, ChannelWithTheConfigurationOfADaemonIsAProblem) {
  const std::string daemon =
      R"({"apiVersion":"resource.nvidia.com/v1beta1","kind":"ComputeDomainDaemonConfig","domainID":")" +
      std::string(kOurs) + "\"}";
  EXPECT_EQ(ChannelWith(Config("FromClaim", R"("channel")", daemon)).problem,
            "the configuration for request channel is not one for device channel-0");
}

TEST(DecodeClaim, ChannelWithoutADomainIsAProblemThatMayPass) {
  const Grant grant = ChannelWith("");
  EXPECT_NE(grant.problem, "");
  EXPECT_FALSE(grant.problem_is_permanent);
}

TEST(DecodeClaim, DevicesOfOtherDriversAreNoGrants) {
  const Claim claim = Decode(
      DecodeResourceClaim,
      "{" + kMeta +
          R"(,"status":{"allocation":{"devices":{"results":[{"driver":"gpu.nvidia.com",)" +
          R"("pool":"p","device":"gpu-0","request":"gpu"}]}},"reservedFor":[)" +
          R"({"resource":"pods","name":"p","uid":"pu"},{"apiGroup":"x","resource":"jobs","name":"j","uid":"ju"}]}})");
  EXPECT_TRUE(claim.allocated);
  EXPECT_TRUE(claim.grants.empty());
  ASSERT_EQ(claim.reserved_for.size(), 1U);
  EXPECT_EQ(claim.reserved_for[0].uid, "pu");
}

TEST(DecodePod, ClaimThatWasMadeFromATemplateIsFoundThroughTheStatus) {
  const Pod pod = Decode(
      DecodePod,
      "{" + kMeta + R"(,"spec":{"resourceClaims":[{"name":"a","resourceClaimTemplateName":"t"},)" +
          R"({"name":"b","resourceClaimName":"own"},{"name":"c","resourceClaimTemplateName":"t"},)" +
          R"({"name":"d","resourceClaimTemplateName":"t"}]},"status":{"resourceClaimStatuses":[)" +
          R"({"name":"a","resourceClaimName":"made"},{"name":"d"}]}})");
  ASSERT_EQ(pod.claims.size(), 4U);
  EXPECT_EQ(pod.claims[0].claim_name, "made");
  EXPECT_EQ(pod.claims[1].claim_name, "own");
  EXPECT_EQ(pod.claims[2].claim_name, "");
  EXPECT_TRUE(pod.claims[2].needed) << "not made yet";
  EXPECT_FALSE(pod.claims[3].needed) << "the control plane says that none is needed";
}

TEST(DecodePod, CliqueLabelThatIsEmptyIsNotAbsent) {
  EXPECT_FALSE(Decode(DecodePod, "{" + kMeta + "}").clique_label.has_value());
  const Pod pod = Decode(
      DecodePod,
      R"({"metadata":{"name":"x","uid":"u","resourceVersion":"1","labels":{)"
      R"("resource.nvidia.com/computeDomain.cliqueID":"","cdom.dev/membership-writer":"controller"}}})");
  EXPECT_EQ(pod.clique_label, "");
  EXPECT_TRUE(pod.controller_writes_membership);
}

TEST(DecodePod, PodOfADaemonSetDoesNotEndByItself) {
  Pod pod;
  pod.meta.owners = {{.kind = "DaemonSet", .controller = true}};
  EXPECT_FALSE(pod.RunsToCompletion());
  pod.meta.owners = {{.kind = "Job", .controller = true}};
  EXPECT_TRUE(pod.RunsToCompletion());
  pod.meta.owners.clear();
  EXPECT_FALSE(pod.RunsToCompletion()) << "it restarts always";
  pod.restart = Pod::Restart::kOnFailure;
  EXPECT_TRUE(pod.RunsToCompletion());
}

TEST(DecodePod, StatusTellsWhatTheContainersDo) {
  const Pod pod = Decode(
      DecodePod,
      "{" + kMeta + R"(,"status":{"phase":"Running","podIP":"10.0.0.1","conditions":[)" +
          R"({"type":"Ready","status":"True"},{"type":"ContainersReady","status":"True"},)" +
          R"({"type":"Initialized","status":"True"}],"containerStatuses":[)" +
          R"({"restartCount":2,"state":{"running":{}}},{"restartCount":0,"state":{"running":{}}}]}})");
  EXPECT_EQ(pod.status, (PodStatus{.phase = "Running",
                                   .pod_ip = "10.0.0.1",
                                   .initialized = true,
                                   .ready = true,
                                   .containers = Containers::kRunning,
                                   .restarts = 2}));
}

TEST(DecodeClique, EverythingThatADaemonWritesBackIsKept) {
  const Clique clique = Decode(
      DecodeClique,
      R"({"metadata":{"name":"d.c","namespace":"n","uid":"u","resourceVersion":"7",)"
      R"("labels":{"l":"1"},"annotations":{"a":"2"},"ownerReferences":[{"apiVersion":"apps/v1",)"
      R"("kind":"DaemonSet","name":"ds","uid":"du","controller":true,"blockOwnerDeletion":false}]},)"
      R"("daemons":[{"nodeName":"node-000","ipAddress":"10.0.0.1","cliqueID":"c","index":3,)"
      R"("status":"Ready"}]})");
  EXPECT_EQ(clique.labels.at("l"), "1");
  EXPECT_EQ(clique.annotations.at("a"), "2");
  ASSERT_EQ(clique.owners.size(), 1U);
  EXPECT_EQ(clique.owners[0].block_owner_deletion, false);
  EXPECT_EQ(
      *clique.Find("node-000"),
      (Member{
          .node = "node-000", .ip = "10.0.0.1", .clique_id = "c", .index = 3, .status = "Ready"}));
  EXPECT_EQ(clique.Find("node-001"), nullptr);
}

TEST(Pod, HasTheReportOfItsDaemon) {
  const Pod pod =
      Decode(DecodePod, std::string(R"({"metadata":{"name":"x","namespace":"n","uid":"u",)") +
                            R"("resourceVersion":"1","annotations":{"cdom.dev/imex":)" +
                            R"("{\"index\":3,\"state\":\"READY\",\"started\":\"t\"}"}}})");
  ASSERT_TRUE(pod.imex);
  EXPECT_EQ(pod.imex->index, 3);
}

}  // namespace
}  // namespace nodesim
