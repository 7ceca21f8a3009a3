#include <gtest/gtest.h>

#include "controller/resource_claim_template/render.h"

namespace resource_claim_template {
namespace {

api::ComputeDomain MakeDomain() {
  return {
      .meta = {.key = {.ns = "team-a", .name = "train"}, .uid = "uid-1", .resource_version = "7"},
      .has_spec = true,
      .template_name = "train-channel",
      .allocation_mode = "Single"};
}

json::Value Json(const char* text) {
  const base::Result<json::Value> parsed = json::Parse(text);
  EXPECT_TRUE(parsed);
  return parsed ? *parsed : json::Value();
}

// Whole: the kubelet plugin decodes the parameters strictly, so that one field more makes every pod
// of the domain fail (contract 1.3, 6.3).
TEST(RenderDaemonTemplate, IsThatOfTheContract) {
  EXPECT_EQ(RenderDaemon("uid-1", "cdom-system"), Json(R"({
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {
      "name": "computedomain-daemon-uid-1",
      "namespace": "cdom-system",
      "labels": {
        "resource.nvidia.com/computeDomain": "uid-1",
        "resource.nvidia.com/computeDomainTarget": "Daemon"
      }
    },
    "spec": {"spec": {"devices": {
      "requests": [{
        "name": "daemon",
        "exactly": {"deviceClassName": "compute-domain-daemon.nvidia.com"}
      }],
      "config": [{
        "requests": ["daemon"],
        "opaque": {
          "driver": "compute-domain.nvidia.com",
          "parameters": {
            "apiVersion": "resource.nvidia.com/v1beta1",
            "kind": "ComputeDomainDaemonConfig",
            "domainID": "uid-1"
          }
        }
      }]
    }}}
  })"));
}

TEST(RenderWorkloadTemplate, R6_IsThatOfTheContractAndOwnedByItsDomain) {
  EXPECT_EQ(RenderWorkload(MakeDomain()), Json(R"({
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {
      "name": "train-channel",
      "namespace": "team-a",
      "labels": {
        "resource.nvidia.com/computeDomain": "uid-1",
        "resource.nvidia.com/computeDomainTarget": "Workload"
      },
      "ownerReferences": [{
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "name": "train",
        "uid": "uid-1",
        "controller": true
      }]
    },
    "spec": {"spec": {"devices": {
      "requests": [{
        "name": "channel",
        "exactly": {"deviceClassName": "compute-domain-default-channel.nvidia.com"}
      }],
      "config": [{
        "requests": ["channel"],
        "opaque": {
          "driver": "compute-domain.nvidia.com",
          "parameters": {
            "apiVersion": "resource.nvidia.com/v1beta1",
            "kind": "ComputeDomainChannelConfig",
            "domainID": "uid-1",
            "allocationMode": "Single"
          }
        }
      }]
    }}}
  })"));
}

TEST(RenderWorkloadTemplate, P6_AllocationModeIsTheDomains) {
  api::ComputeDomain domain = MakeDomain();
  domain.allocation_mode = "All";
  const json::Value rendered = RenderWorkload(domain);
  EXPECT_EQ(rendered["spec"]["spec"]["devices"]["config"]
                .items()[0]["opaque"]["parameters"]["allocationMode"]
                .AsString(),
            "All");
}

TEST(RenderWorkloadTemplate, B40_NameThatHoldsJsonOrYamlStaysAName) {
  const std::string name = "x\", \"namespace\": \"kube-system\"}\n---\nkind: ClusterRole # {{ . }}";
  api::ComputeDomain domain = MakeDomain();
  domain.template_name = name;
  const auto sent = json::Parse(json::Serialize(RenderWorkload(domain)));
  ASSERT_TRUE(sent);
  EXPECT_EQ((*sent)["metadata"]["name"].AsString(), name);
  EXPECT_EQ((*sent)["metadata"]["namespace"].AsString(), "team-a");
  EXPECT_EQ(sent->members().size(), 4U);
}

}  // namespace
}  // namespace resource_claim_template
