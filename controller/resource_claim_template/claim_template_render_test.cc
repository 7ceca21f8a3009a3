#include <gtest/gtest.h>

#include "controller/resource_claim_template/render.h"
#include "pkg/kube/api/resource.h"
#include "test/fixtures/files.h"

namespace resource_claim_template {
namespace {

api::ComputeDomain MakeDomain() {
  return {
      .meta = {.key = {.ns = "team-a", .name = "train"}, .uid = "uid-1", .resource_version = "7"},
      .has_spec = true,
      .template_name = "train-channel",
      .allocation_mode = "Single"};
}

// The object of a file in test/fixtures/resource_k8s_io.
json::Value Golden(const std::string& version, const std::string& name) {
  const auto parsed =
      json::Parse(fixtures::ReadFile("resource_k8s_io/" + version + "/" + name + ".json"));
  EXPECT_TRUE(parsed);
  return parsed ? *parsed : json::Value();
}

// Whole: the kubelet plugin decodes the parameters strictly, so that one field more makes every pod
// of the domain fail (contract 1.3, 6.3).
TEST(RenderDaemonTemplate, IsThatOfTheContractInEachVersion) {
  for (const std::string& version : kube::kDraVersions) {
    EXPECT_EQ(RenderDaemon("uid-1", "cdom-system", version), Golden(version, "daemon"));
  }
}

TEST(RenderWorkloadTemplate, R6_IsThatOfTheContractAndOwnedByItsDomainInEachVersion) {
  for (const std::string& version : kube::kDraVersions) {
    EXPECT_EQ(RenderWorkload(MakeDomain(), {}, version), Golden(version, "workload-single"));
  }
}

TEST(RenderWorkloadTemplate, P6_AllocationModeIsTheDomains) {
  api::ComputeDomain domain = MakeDomain();
  domain.allocation_mode = "All";
  for (const std::string& version : kube::kDraVersions) {
    EXPECT_EQ(RenderWorkload(domain, {}, version), Golden(version, "workload-all"));
  }
}

TEST(RenderWorkloadTemplate, F5_GpusAreASecondRequestThatTheConfigurationDoesNotGoFor) {
  for (const std::string& version : kube::kDraVersions) {
    const Gpus four = {.device_class = "gpu.nvidia.com", .count = 4};
    EXPECT_EQ(RenderWorkload(MakeDomain(), four, version), Golden(version, "workload-gpus"));
    const Gpus all = {.device_class = "gpu.example.com"};
    EXPECT_EQ(RenderWorkload(MakeDomain(), all, version), Golden(version, "workload-all-gpus"));
  }
}

TEST(RenderWorkloadTemplate, B40_NameThatHoldsJsonOrYamlStaysAName) {
  const std::string name = "x\", \"namespace\": \"kube-system\"}\n---\nkind: ClusterRole # {{ . }}";
  api::ComputeDomain domain = MakeDomain();
  domain.template_name = name;
  const auto sent = json::Parse(json::Serialize(RenderWorkload(domain, {}, "v1")));
  ASSERT_TRUE(sent);
  EXPECT_EQ((*sent)["metadata"]["name"].AsString(), name);
  EXPECT_EQ((*sent)["metadata"]["namespace"].AsString(), "team-a");
  EXPECT_EQ(sent->members().size(), 4U);
}

}  // namespace
}  // namespace resource_claim_template
