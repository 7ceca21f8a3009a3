#include "controller/api/types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "controller/api/names.h"
#include "pkg/json/utf8.h"
#include "pkg/kube/api/resource.h"
#include "test/fixtures/files.h"

namespace api {
namespace {

template <typename T>
base::Result<T> DecodeWith(base::Result<T> (*decode)(json::View), const std::string& text) {
  json::Parser parser;
  return decode(TRY(parser.Parse(text)));
}

template <typename T>
T Decode(base::Result<T> (*decode)(json::View), const std::string& text) {
  const base::Result<T> decoded = DecodeWith(decode, text);
  EXPECT_TRUE(decoded) << decoded.error().message;
  return decoded.value_or(T());
}

json::Value Json(const std::string& text) {
  const base::Result<json::Value> parsed = json::Parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : json::Value();
}

// An object with this metadata, and `rest` beside it.
std::string Object(const std::string& metadata, const std::string& rest = "") {
  return R"({"metadata": {"name": "n", "namespace": "ns", "uid": "u", "resourceVersion": "7")" +
         (metadata.empty() ? "" : ", " + metadata) + "}" + (rest.empty() ? "" : ", " + rest) + "}";
}

constexpr const char* kOurLabel = R"("labels": {"resource.nvidia.com/computeDomain": "uid-1"})";

TEST(Names, AreThoseOfTheContract) {
  EXPECT_EQ(DaemonName("uid-1"), "computedomain-daemon-uid-1");
  EXPECT_EQ(DaemonName("uid-1").find("compute-domain-daemon-"), std::string::npos)
      << "a daemon would take its own line in the hosts file for a peer's";
  EXPECT_EQ(CliqueName("uid-1", "c.3"), "uid-1.c.3");
  EXPECT_EQ(kDomainLabel, "resource.nvidia.com/computeDomain");
  EXPECT_EQ(kFinalizer, "resource.nvidia.com/computeDomain");
  EXPECT_EQ(kTargetLabel, "resource.nvidia.com/computeDomainTarget");
  EXPECT_EQ(kCliqueLabel, "resource.nvidia.com/computeDomain.cliqueID");
  EXPECT_EQ(kComputeDomains.QualifiedName(), "computedomains.resource.nvidia.com");
  EXPECT_EQ(kComputeDomains.ApiVersion(), "resource.nvidia.com/v1beta1");
  EXPECT_EQ(kComputeDomainCliques.QualifiedName(), "computedomaincliques.resource.nvidia.com");
}

TEST(DecodeComputeDomain, NvidiasControllerIsKnownByItsWritesOfStatus) {
  const auto foreign_write = [](const std::string& entries) {
    return Decode(DecodeComputeDomain, Object(R"("managedFields": [)" + entries + "]"))
        .foreign_write;
  };
  const auto entry = [](const std::string& manager, const std::string& time,
                        const std::string& subresource) {
    return R"({"manager": ")" + manager + R"(", "time": ")" + time + R"(", "subresource": ")" +
           subresource + "\"}";
  };
  const std::string first = "2026-11-27T00:00:01Z", second = "2026-11-27T00:00:02Z";
  const std::string nvidias = "compute-domain-controller";
  EXPECT_EQ(foreign_write(""), "");
  EXPECT_EQ(foreign_write(entry("cdom", first, "status")), "");
  EXPECT_EQ(foreign_write(entry(nvidias, first, "status")), first);
  EXPECT_EQ(foreign_write(entry(nvidias, second, "status") + "," + entry(nvidias, first, "status")),
            second);
  EXPECT_EQ(foreign_write(entry(nvidias, first, "")), "")
      << "a user may name a manager so, and may not write status";
  EXPECT_EQ(foreign_write(entry(nvidias, std::string(500, '9'), "status")).size(), 20U);
}

TEST(DecodeComputeDomain, EveryFieldArrives) {
  const ComputeDomain domain = Decode(DecodeComputeDomain, Object(R"("generation": 3)", R"(
    "spec": {"numNodes": 2, "channel": {"resourceClaimTemplate": {"name": "t"},
                                        "allocationMode": "All"}},
    "status": {"status": "Ready", "observedGeneration": 3, "members": "1/2", "cliqueCount": 1,
      "nodes": [{"name": "node-0", "ipAddress": "10.0.0.1", "cliqueID": "c.1", "index": 4,
                 "status": "Ready"},
                {"name": "node-1", "ipAddress": "10.0.0.2", "cliqueID": "", "index": -1}],
      "cliques": [{"id": "c.1", "members": 2, "ready": 1}],
      "conditions": [{"type": "Ready", "status": "False", "reason": "R", "message": "M",
                      "observedGeneration": 3, "lastTransitionTime": "2026-01-01T00:00:00Z"}]})"));
  EXPECT_EQ(domain.meta.generation, 3);
  EXPECT_TRUE(domain.has_spec);
  EXPECT_EQ(domain.num_nodes, 2);
  EXPECT_EQ(domain.template_name, "t");
  EXPECT_EQ(domain.allocation_mode, "All");
  const DomainStatus expected = {
      .status = "Ready",
      .nodes = {{.node = "node-0", .ip = "10.0.0.1", .clique = "c.1", .index = 4, .ready = true},
                {.node = "node-1", .ip = "10.0.0.2", .clique = "", .index = -1, .ready = false}},
      .observed_generation = 3,
      .conditions = {{.type = "Ready",
                      .status = "False",
                      .reason = "R",
                      .message = "M",
                      .observed_generation = 3,
                      .last_transition_time = "2026-01-01T00:00:00Z"}},
      .members = "1/2",
      .cliques = {{.id = "c.1", .members = 2, .ready = 1}}};
  EXPECT_EQ(domain.status, expected);
  EXPECT_EQ(domain.status.Find("Ready")->reason, "R");
  EXPECT_EQ(domain.status.Find("Accepted"), nullptr);
}

TEST(DecodeComputeDomain, H13_DomainWithoutSpecOrWithOddOnesIsAValueLikeAnyOther) {
  const ComputeDomain bare = Decode(DecodeComputeDomain, Object(""));
  EXPECT_FALSE(bare.has_spec);
  EXPECT_EQ(bare.status, DomainStatus());
  const ComputeDomain modeless = Decode(
      DecodeComputeDomain, Object("", R"("spec": {"channel": {"resourceClaimTemplate": "t"}})"));
  EXPECT_TRUE(modeless.has_spec);
  EXPECT_EQ(modeless.allocation_mode, "Single");
  EXPECT_EQ(modeless.template_name, "");
  EXPECT_EQ(modeless.num_nodes, 0) << "P3: it may be absent";
  EXPECT_FALSE(Decode(DecodeComputeDomain, Object("", R"("spec": {"channel": "none"})")).has_spec);
}

TEST(Decode, ObjectWithoutIdentityIsRefused) {
  for (const char* missing : {"name", "uid", "resourceVersion"}) {
    SCOPED_TRACE(missing);
    json::Value object = Json(Object(""));
    object["metadata"].Erase(missing);
    const std::string text = json::Serialize(object);
    const auto refuses = [&](auto* decode) {
      const auto decoded = DecodeWith(decode, text);
      return !decoded && decoded.error().code == base::ErrorCode::kInvalid;
    };
    EXPECT_TRUE(refuses(DecodeComputeDomain));
    EXPECT_TRUE(refuses(DecodeDaemonSet));
    EXPECT_TRUE(refuses(DecodeResourceClaimTemplate));
    EXPECT_TRUE(refuses(DecodeClique));
    EXPECT_TRUE(refuses(DecodeDaemonPod));
    EXPECT_TRUE(refuses(DecodeResourceClaim));
    EXPECT_TRUE(refuses(DecodeNode));
  }
}

TEST(Decode, FieldsOfAWrongTypeAreEmpty) {
  const std::string odd =
      Object(R"("labels": ["x"])", R"("spec": 1, "status": "x", "daemons": {"a": 1})");
  EXPECT_EQ(Decode(DecodeDaemonSet, odd).domain, "");
  EXPECT_TRUE(Decode(DecodeClique, odd).daemons.empty());
  EXPECT_FALSE(Decode(DecodeDaemonPod, odd).ready);
  EXPECT_TRUE(Decode(DecodeResourceClaim, odd).consumers.empty());
  EXPECT_FALSE(Decode(DecodeNode, odd).ready);
  EXPECT_EQ(Decode(DecodeComputeDomain, odd).status, DomainStatus());
}

TEST(DecodeComputeDomain, G12_PlacementIsALabelAndItsGroupsAnAnnotation) {
  const ComputeDomain domain = Decode(
      DecodeComputeDomain,
      Object(R"("labels": {"cdom.dev/placement": "clique", "cdom.dev/placement-group-label": "no"},
                "annotations": {"cdom.dev/placement": "no",
                                "cdom.dev/placement-group-label": "example.com/rank"})"));
  EXPECT_EQ(domain.placement, "clique");
  EXPECT_EQ(domain.placement_group, "example.com/rank");
  const ComputeDomain odd =
      Decode(DecodeComputeDomain, Object(R"("labels": {"cdom.dev/placement": 1},
                                            "annotations": ["cdom.dev/placement-group-label"])"));
  EXPECT_EQ(odd.placement, "");
  EXPECT_EQ(odd.placement_group, "");
}

TEST(DecodeComputeDomain, REV3_W7_KeysOfOursThatMeanNothing_AreKept_UpToABound) {
  using Keys = std::vector<std::string>;
  const ComputeDomain domain =
      Decode(DecodeComputeDomain,
             Object(R"("labels": {"app": "a", "cdom.dev/placement": "clique", "cdom.dev/gpus": "1"},
                "annotations": {"cdom.dev/gpus": "4", "cdom.dev/pausd": "true", "cdom.dev/a\n": "",
                                "cdom.dev/": "", "other.dev/pausd": ""})"));
  EXPECT_EQ(domain.unknown_annotations, Keys{"cdom.dev/pausd"});
  EXPECT_EQ(domain.unknown_labels, Keys{"cdom.dev/gpus"});
  json::Value object = json::Value::Object(
      {{"metadata", json::Value::Object({{"name", "a"}, {"uid", "u"}, {"resourceVersion", "5"}})}});
  for (int i = 0; i < 5000; ++i) {
    object["metadata"]["labels"]["cdom.dev/x" + std::to_string(i)] = "";
  }
  EXPECT_EQ(Decode(DecodeComputeDomain, json::Serialize(object)).unknown_labels.size(), 32U);
}

TEST(DecodeComputeDomain, F5_GpusAreAskedForByAnnotationsAlone) {
  const ComputeDomain domain = Decode(
      DecodeComputeDomain, Object(R"("labels": {"cdom.dev/gpus": "8", "cdom.dev/gpu-class": "no"},
                "annotations": {"cdom.dev/gpus": "4", "cdom.dev/gpu-class": "gpu.example.com"})"));
  EXPECT_EQ(domain.gpus, "4");
  EXPECT_EQ(domain.gpu_class, "gpu.example.com");
  const ComputeDomain odd =
      Decode(DecodeComputeDomain, Object(R"("annotations": {"cdom.dev/gpus": 4})"));
  EXPECT_EQ(odd.gpus, "");
  EXPECT_EQ(odd.gpu_class, "");
}

TEST(DecodeClaimTemplate, DomainAndTargetAreItsLabels) {
  const ResourceClaimTemplate decoded =
      Decode(DecodeResourceClaimTemplate,
             Object(R"("labels": {"resource.nvidia.com/computeDomain": "uid-1",
          "resource.nvidia.com/computeDomainTarget": "Workload"})"));
  EXPECT_EQ(decoded.domain, "uid-1");
  EXPECT_EQ(decoded.target, kTargetWorkload);
  EXPECT_EQ(Decode(DecodeDaemonSet, Object(kOurLabel)).domain, "uid-1");
}

std::string CliqueNamed(const std::string& name, const std::string& daemons = "[]") {
  return R"({"metadata": {"name": ")" + name + R"(", "uid": "u", "resourceVersion": "7", )" +
         kOurLabel + R"(}, "daemons": )" + daemons + "}";
}

TEST(DecodeClaimTemplate, C13_LabelsItsClaimsOnlyWithItsOwnDomain) {
  const auto labels_claims = [&](const std::string& spec) {
    return Decode(DecodeResourceClaimTemplate,
                  Object(kOurLabel, R"("spec": {"metadata": {)" + spec + "}}"))
        .labels_claims;
  };
  EXPECT_TRUE(labels_claims(kOurLabel));
  EXPECT_FALSE(labels_claims(R"("labels": {"resource.nvidia.com/computeDomain": "uid-2"})"));
  EXPECT_FALSE(labels_claims(""));
}

TEST(DecodeClaim, C13_IsLabelledOnlyWithTheDomainThatItsDaemonConfigNames) {
  const auto is_labelled = [](const std::string& label, const std::string& kind) {
    return Decode(DecodeResourceClaim,
                  Object(R"("labels": {"resource.nvidia.com/computeDomain": ")" + label + R"("})",
                         R"("spec": {"devices": {"config": [{"opaque": {
                             "driver": "compute-domain.nvidia.com", "parameters": {"kind": ")" +
                             kind + R"(", "domainID": "uid-1"}}}]}})"))
        .is_labelled;
  };
  EXPECT_TRUE(is_labelled("uid-1", "ComputeDomainDaemonConfig"));
  EXPECT_FALSE(is_labelled("uid-2", "ComputeDomainDaemonConfig"));
  EXPECT_FALSE(is_labelled("uid-1", "ComputeDomainChannelConfig"));
}

TEST(DecodeClique, ItsNameSaysWhichCliqueItIs) {
  const Clique clique = Decode(DecodeClique, CliqueNamed("uid-1.c.1", R"([
      {"nodeName": "node-0", "ipAddress": "10.0.0.1", "cliqueID": "c.1", "index": 0,
       "status": "Ready"}, {"nodeName": "node-1", "ipAddress": "", "cliqueID": "c.1"}])"));
  EXPECT_EQ(clique.domain, "uid-1");
  EXPECT_EQ(clique.id, "c.1");
  EXPECT_EQ(clique.daemons,
            (std::vector<Member>{
                {.node = "node-0", .ip = "10.0.0.1", .clique = "c.1", .index = 0, .ready = true},
                {.node = "node-1", .clique = "c.1", .index = -1}}));
  EXPECT_TRUE(clique.is_labelled);
}

TEST(DecodeClique, REV4_K5_ItsNameIdentifiesItWhateverItsLabelSays) {
  const Clique clique = Decode(DecodeClique, CliqueNamed("uid-2.c.1"));
  EXPECT_EQ(clique.domain, "uid-2");
  EXPECT_EQ(clique.id, "c.1");
  EXPECT_FALSE(clique.is_labelled);
}

TEST(LastWriter, IsTheNewestClientOtherThanCdom) {
  const auto writer = [](const std::string& fields) {
    return Decode(DecodeDaemonSet, R"({"metadata":{"name":"a","namespace":"n","uid":"u",)"
                                   R"("resourceVersion":"1","managedFields":[)" +
                                       fields + "]}}")
        .last_writer;
  };
  const auto entry = [](const char* manager, int second, const char* subresource = "") {
    return R"({"manager":")" + std::string(manager) + R"(","time":"2026-01-01T00:00:0)" +
           std::to_string(second) + R"(Z","subresource":")" + subresource + R"("})";
  };
  EXPECT_EQ(writer(""), "");
  EXPECT_EQ(writer(entry("cdom", 1)), "");
  EXPECT_EQ(writer(entry("cdom", 1) + "," + entry("kyverno", 1)), "kyverno");
  EXPECT_EQ(writer(entry("kyverno", 1) + "," + entry("cdom", 2)), "");
  EXPECT_EQ(writer(entry("a", 2) + "," + entry("b", 3) + "," + entry("cdom", 2)), "b");
  EXPECT_EQ(writer(entry("cdom", 1) + "," + entry("kube-controller-manager", 2, "status")), "");
}

TEST(DecodeClique, Z7_NameThatIsNoLabelsValueIsNobodysClique) {
  EXPECT_EQ(Decode(DecodeClique, CliqueNamed("uid-1." + std::string(63, 'a'))).id.size(), 63U);
  EXPECT_EQ(Decode(DecodeClique, CliqueNamed("uid-1." + std::string(64, 'a'))).id, "");
  EXPECT_EQ(Decode(DecodeClique, CliqueNamed("uid-1.c-")).id, "");
}

TEST(DecodeClique, Z9_EntryOfNoNodeIsNoneAndOneOfNoAddressHasNone) {
  const Clique clique = Decode(DecodeClique, CliqueNamed("uid-1.c.1", R"([
      {"nodeName": "\u001b[31mnode-0", "ipAddress": "10.0.0.1", "index": 0},
      {"nodeName": "", "index": 1},
      {"nodeName": "node-2", "ipAddress": "10.0.0.1\u202e", "index": 2},
      {"nodeName": "node-3", "ipAddress": "fd00::1", "index": 3}])"));
  EXPECT_EQ(clique.daemons, (std::vector<Member>{{.node = "node-2", .index = 2},
                                                 {.node = "node-3", .ip = "fd00::1", .index = 3}}));
}

TEST(DecodeClique, S3_IndexThatNoIntHoldsIsNoneRatherThanAnothers) {
  for (const char* index : {"4294967296", "-4294967297", "99999999999999999999", "1.5"}) {
    const Clique clique = Decode(
        DecodeClique,
        CliqueNamed("uid-1.c.1", R"([{"nodeName": "a", "index": )" + std::string(index) + "}]"));
    ASSERT_EQ(clique.daemons.size(), 1U);
    EXPECT_EQ(clique.daemons[0].index, -1) << index;
  }
}

std::string Pod(const std::string& labels, const std::string& phase, const std::string& ready) {
  return Object(R"("labels": {)" + labels + "}",
                R"("spec": {"nodeName": "node-0"}, "status": {"podIP": "10.0.0.1", "phase": ")" +
                    phase + R"(", "conditions": [{"type": "Initialized", "status": "True"},
                    {"type": "Ready", "status": ")" +
                    ready + R"("}]})");
}

TEST(DecodeDaemonPod, B49_CliqueLabelIsAbsentEmptyOrAClique) {
  EXPECT_EQ(Decode(DecodeDaemonPod, Pod("", "Running", "True")).clique, std::nullopt);
  EXPECT_EQ(Decode(DecodeDaemonPod,
                   Pod(R"("resource.nvidia.com/computeDomain.cliqueID": "")", "Running", "True"))
                .clique,
            "");
  const DaemonPod pod = Decode(DecodeDaemonPod, Pod(R"("resource.nvidia.com/computeDomain": "uid-1",
          "resource.nvidia.com/computeDomain.cliqueID": "c.1")",
                                                    "Running", "True"));
  EXPECT_EQ(pod.clique, "c.1");
  EXPECT_EQ(pod.domain, "uid-1");
  EXPECT_EQ(pod.node, "node-0");
  EXPECT_EQ(pod.ip, "10.0.0.1");
  EXPECT_FALSE(pod.controller_writes);
}

TEST(DecodeDaemonPod, ReadyTakesPhaseAndCondition) {
  struct Row {
    const char* phase;
    const char* condition;
    bool ready;
    bool terminal;
  };
  for (const Row& row :
       {Row{"Running", "True", true, false}, Row{"Running", "False", false, false},
        Row{"Pending", "True", false, false}, Row{"Succeeded", "True", false, true},
        Row{"Failed", "False", false, true}}) {
    const DaemonPod pod = Decode(DecodeDaemonPod, Pod("", row.phase, row.condition));
    EXPECT_EQ(pod.ready, row.ready) << row.phase << row.condition;
    EXPECT_EQ(pod.terminal, row.terminal) << row.phase;
  }
}

TEST(DecodeDaemonPod, OnlyTheMarkerWithItsOneValueHandsTheEntryToTheController) {
  EXPECT_TRUE(Decode(DecodeDaemonPod,
                     Pod(R"("cdom.dev/membership-writer": "controller")", "Running", "True"))
                  .controller_writes);
  EXPECT_FALSE(
      Decode(DecodeDaemonPod, Pod(R"("cdom.dev/membership-writer": "daemon")", "Running", "True"))
          .controller_writes);
}

std::string Config(const std::string& driver, const std::string& kind, const std::string& domain) {
  return R"({"requests": ["channel"], "opaque": {"driver": ")" + driver +
         R"(", "parameters": {"apiVersion": "resource.nvidia.com/v1beta1", "kind": ")" + kind +
         R"(", "domainID": ")" + domain + R"("}}})";
}

TEST(DecodeClaim, WhatWasAllocatedCountsBeforeWhatWasAskedFor) {
  const std::string asked =
      Config("compute-domain.nvidia.com", "ComputeDomainChannelConfig", "asked");
  const std::string got = Config("compute-domain.nvidia.com", "ComputeDomainChannelConfig", "got");
  const ResourceClaim claim = Decode(DecodeResourceClaim, Object("", R"(
      "spec": {"devices": {"config": [)" + asked + R"(]}},
      "status": {"allocation": {"devices": {
          "results": [{"driver": "gpu.nvidia.com", "pool": "other", "adminAccess": true},
                      {"driver": "compute-domain.nvidia.com", "pool": "node-0"}],
          "config": [)" + got + R"(]}},
        "reservedFor": [{"resource": "pods", "name": "train-0", "uid": "x"},
                        {"resource": "pods", "name": "train-1", "uid": "y"}]})"));
  EXPECT_EQ(claim.channel_domain, "got");
  EXPECT_EQ(claim.daemon_domain, "");
  EXPECT_EQ(claim.node, "node-0");
  EXPECT_FALSE(claim.admin_access) << "of another driver's device";
  EXPECT_EQ(claim.consumers, (std::vector<std::string>{"pods/train-0", "pods/train-1"}));

  const ResourceClaim waiting = Decode(
      DecodeResourceClaim, Object("", R"("spec": {"devices": {"config": [)" + asked + "]}}"));
  EXPECT_EQ(waiting.channel_domain, "asked");
  EXPECT_EQ(waiting.node, "");
  EXPECT_TRUE(waiting.consumers.empty());
}

TEST(DecodeClaim, OnlyOurDriversConfigsCountByTheirKind) {
  const auto decode = [](const std::string& config) {
    return Decode(DecodeResourceClaim,
                  Object("", R"("spec": {"devices": {"config": [)" + config + "]}}"));
  };
  EXPECT_EQ(decode(Config("gpu.nvidia.com", "ComputeDomainChannelConfig", "d")).channel_domain, "");
  EXPECT_EQ(decode(Config("compute-domain.nvidia.com", "GpuConfig", "d")).channel_domain, "");
  const ResourceClaim daemon =
      decode(Config("compute-domain.nvidia.com", "ComputeDomainDaemonConfig", "d"));
  EXPECT_EQ(daemon.daemon_domain, "d");
  EXPECT_EQ(daemon.channel_domain, "");
}

TEST(DecodeClaim, ClaimMeansTheSameInEachVersion) {
  for (const std::string& version : kube::kDraVersions) {
    SCOPED_TRACE(version);
    const std::string text = fixtures::ReadFile("resource_k8s_io/" + version + "/claim.json");
    const ResourceClaim claim = Decode(DecodeResourceClaim, text);
    EXPECT_EQ(claim.channel_domain, "uid-1");
    EXPECT_EQ(claim.node, "node-0");
    EXPECT_EQ(claim.consumers, std::vector<std::string>{"pods/train-0"});

    json::Value waiting = Json(text);
    waiting.Erase("status");
    EXPECT_EQ(Decode(DecodeResourceClaim, json::Serialize(waiting)).channel_domain, "uid-1");
    EXPECT_EQ(Decode(DecodeResourceClaim, json::Serialize(waiting)).node, "");
  }
}

TEST(DecodeClaim, OwnerAndAgeAreKeptOfOneThatWaitsAlone) {
  const auto decode = [](const std::string& pool) {
    return Decode(DecodeResourceClaim, Object(R"(
      "deletionTimestamp": "2026-11-21T03:04:05Z", "creationTimestamp": "2026-11-21T03:04:05Z",
      "finalizers": ["resource.kubernetes.io/delete-protection"],
      "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}])",
                                              R"("status": {"allocation": {"devices": {"results": [
        {"driver": "compute-domain.nvidia.com", "pool": ")" +
                                                  pool + R"("}]}}})"));
  };
  const ResourceClaim allocated = decode("node-0");
  EXPECT_TRUE(allocated.meta.deleting);
  EXPECT_EQ(allocated.meta.owners.capacity(), 0U);
  EXPECT_EQ(allocated.meta.finalizers.capacity(), 0U);
  EXPECT_EQ(allocated.meta.creation_timestamp, "");
  const ResourceClaim waiting = decode("");
  EXPECT_EQ(waiting.meta.owners.size(), 1U);
  EXPECT_EQ(waiting.meta.creation_timestamp, "2026-11-21T03:04:05Z");
}

TEST(DecodeClaim, AdminAccessIsSeen) {
  const ResourceClaim claim =
      Decode(DecodeResourceClaim, Object("", R"("status": {"allocation": {"devices": {
      "results": [{"driver": "compute-domain.nvidia.com", "pool": "node-0", "adminAccess": true},
                  {"driver": "compute-domain.nvidia.com", "pool": "node-0"}]}}})"));
  EXPECT_TRUE(claim.admin_access);
}

TEST(DecodeNode, ReadyIsTheConditionAndUnknownIsNot) {
  const auto ready = [](const char* status) {
    return Decode(DecodeNode, Object(kOurLabel, R"("status": {"conditions": [
        {"type": "MemoryPressure", "status": "True"}, {"type": "Ready", "status": ")" +
                                                    std::string(status) + R"("}]})"));
  };
  EXPECT_TRUE(ready("True").ready);
  EXPECT_FALSE(ready("False").ready);
  EXPECT_FALSE(ready("Unknown").ready);
  EXPECT_EQ(ready("True").domain, "uid-1");
}

// ---- Writing.

DomainStatus FullStatus() {
  return {
      .status = "NotReady",
      .nodes = {{.node = "node-0", .ip = "10.0.0.1", .clique = "c.1", .index = 4, .ready = true},
                {.node = "node-1", .ip = "10.0.0.2", .clique = "", .index = -1}},
      .observed_generation = 3,
      .conditions = {{.type = "Ready",
                      .status = "False",
                      .reason = "R",
                      .message = "M",
                      .observed_generation = 3,
                      .last_transition_time = "2026-01-01T00:00:00Z"}},
      .members = "1/2",
      .cliques = {{.id = "", .members = 1}, {.id = "c.1", .members = 1, .ready = 1}}};
}

TEST(EncodeStatus, B13_FieldsOfTheReferenceAreExactAndOursStandBesideThem) {
  EXPECT_EQ(Encode(FullStatus()), Json(R"({
    "status": "NotReady",
    "nodes": [{"name": "node-0", "ipAddress": "10.0.0.1", "cliqueID": "c.1", "index": 4,
               "status": "Ready"},
              {"name": "node-1", "ipAddress": "10.0.0.2", "cliqueID": "", "index": -1,
               "status": "NotReady"}],
    "observedGeneration": 3,
    "conditions": [{"type": "Ready", "status": "False", "reason": "R", "message": "M",
                    "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 3}],
    "members": "1/2",
    "cliqueCount": 1,
    "cliques": [{"id": "", "members": 1, "ready": 0}, {"id": "c.1", "members": 1, "ready": 1}]
  })"));
}

TEST(EncodeStatus, Q2_WhatIsWrittenIsReadBackEqual) {
  json::Value object = Json(Object(""));
  object["status"] = Encode(FullStatus());
  EXPECT_EQ(Decode(DecodeComputeDomain, json::Serialize(object)).status, FullStatus());
}

TEST(EncodeStatus, EmptyListsAreTakenAway) {
  const DomainStatus status = {.status = "Ready", .conditions = FullStatus().conditions};
  const json::Value encoded = Encode(status);
  ASSERT_NE(encoded.Find("nodes"), nullptr);
  EXPECT_TRUE(encoded["nodes"].IsNull());
  EXPECT_TRUE(encoded["cliques"].IsNull());
}

TEST(EncodeStatus, WithoutConditionsOnlyTheReferencesFieldsAreWritten) {
  DomainStatus status = FullStatus();
  status.conditions.clear();
  EXPECT_EQ(Encode(status).members().size(), 2U);
  EXPECT_EQ(Encode({.status = "Ready"}), Json(R"({"status": "Ready", "nodes": null})"));
}

TEST(EncodeDaemons, EntryHasTheFieldsOfTheContract) {
  EXPECT_EQ(EncodeDaemons({{.node = "node-0", .ip = "10.0.0.1", .clique = "c.1", .index = 4}}),
            Json(R"([{"nodeName": "node-0", "ipAddress": "10.0.0.1", "cliqueID": "c.1", "index": 4,
                      "status": "NotReady"}])"));
  EXPECT_EQ(EncodeDaemons({}), json::Value::Array());
}

TEST(EncodeHeld, IsReadBackFromTheCliquesAnnotation) {
  const std::vector<HeldIndex> held = {
      {.node = "node-a", .index = 3, .until = "2026-01-01T12:01:00Z"},
      {.node = "node-b.example", .index = 17, .until = "2026-01-01T12:02:00Z"}};
  const std::string text(EncodeHeld(held).AsString());
  EXPECT_EQ(text, "node-a=3@2026-01-01T12:01:00Z,node-b.example=17@2026-01-01T12:02:00Z");
  const auto decode = [](const std::string& value) {
    return Decode(DecodeClique, R"({"metadata": {"name": "c", "uid": "u", "resourceVersion": "1",
        "annotations": {"cdom.dev/held-indices": ")" +
                                    value + R"("}}})")
        .held;
  };
  EXPECT_EQ(decode(text), held);
  EXPECT_TRUE(EncodeHeld({}).IsNull()) << "takes the annotation away";
  for (const char* odd : {"", ",", "node-a", "node-a=3", "node-a@3=x", "node-a=x@t", "node-a=3x@t",
                          "node-a=99999999999@t"}) {
    EXPECT_TRUE(decode(odd).empty()) << odd;
  }
}

TEST(EncodeRebooted, IsReadBackFromTheCliquesAnnotation) {
  using Nodes = std::set<std::string>;
  const auto decode = [](const std::string& value) {
    return Decode(DecodeClique, R"({"metadata": {"name": "c", "uid": "u", "resourceVersion": "1",
        "annotations": {"cdom.dev/rebooted-nodes": ")" +
                                    value + R"("}}, "daemons": [
        {"nodeName": "a", "status": "NotReady"}, {"nodeName": "b.example", "status": "NotReady"},
        {"nodeName": "c", "status": "Ready"}]})")
        .rebooted;
  };
  EXPECT_EQ(decode(std::string(EncodeRebooted({"a", "b.example"}).AsString())),
            (Nodes{"a", "b.example"}));
  const std::string long_name(253, 'b');
  const Clique whole =
      Decode(DecodeClique, R"({"metadata": {"name": "c", "uid": "u", "resourceVersion": "1",
      "annotations": {"cdom.dev/rebooted-nodes": "a,)" +
                               long_name + R"(,z"}},
      "daemons": [{"nodeName": "z", "status": "NotReady"}]})");
  EXPECT_EQ(whole.rebooted, Nodes{"z"}) << "a rack has long names";
  EXPECT_TRUE(EncodeRebooted({}).IsNull()) << "takes the annotation away";
  EXPECT_EQ(decode("d,,a,a,"), Nodes{"a"}) << "only nodes that the clique lists";
  for (const char* odd : {"", ",", "c", "a b.example", "A", ",,,,", "a;b.example", "ab"}) {
    EXPECT_EQ(decode(odd), Nodes()) << odd;
  }
}

TEST(DecodeClique, HowManyAreOnTheirWayIsANumberOrNotSaid) {
  const auto decode = [](const std::string& annotations) {
    return Decode(DecodeClique, R"({"metadata": {"name": "c", "uid": "u", "resourceVersion": "1",
        "annotations": {)" + annotations +
                                    "}}}")
        .joining;
  };
  EXPECT_EQ(decode(R"("cdom.dev/joining": "5")"), 5);
  EXPECT_EQ(decode(R"("cdom.dev/joining": "0")"), 0);
  for (const char* odd : {"", R"("cdom.dev/joining": "")", R"("cdom.dev/joining": "-1")",
                          R"("cdom.dev/joining": "1x")", R"("cdom.dev/joining": "99999999999")"}) {
    EXPECT_EQ(decode(odd), std::nullopt) << odd;
  }
}

TEST(DecodeNode, OnlyTaintsThatSayMoreThanReadinessAndCordonAreKept) {
  const Node node = Decode(DecodeNode, Object("", R"(
      "spec": {"unschedulable": true,
               "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
                          {"key": "example.com/repair", "effect": "NoExecute"},
                          {"key": "team", "value": "a", "effect": "NoSchedule"},
                          {"key": "example.com/soft", "effect": "PreferNoSchedule"}]})"));
  EXPECT_TRUE(node.unschedulable);
  EXPECT_EQ(node.taints,
            (std::vector<std::string>{"example.com/repair:NoExecute", "team=a:NoSchedule"}));
  EXPECT_EQ(KeyOfTaint(node.taints[0]), "example.com/repair");
  EXPECT_EQ(KeyOfTaint(node.taints[1]), "team");
}

TEST(DecodeNode, G11_TaintOfKubernetesThatPeopleSetIsKept) {
  const Node node = Decode(DecodeNode, Object("", R"(
      "spec": {"taints": [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"},
                          {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]})"));
  EXPECT_EQ(node.taints, std::vector<std::string>{"node.kubernetes.io/out-of-service:NoExecute"});
}

TEST(DecodeDaemonPod, ReportOfImexIsReadOfDaemonsOfOursAlone) {
  const auto report = [](const std::string& labels, const std::string& value) {
    return Decode(DecodeDaemonPod, Object("\"labels\": {" + labels +
                                          "}, \"annotations\": {\"cdom.dev/imex\": " + value + "}"))
        .imex;
  };
  const std::string ours = R"("cdom.dev/membership-writer": "controller")";
  const std::string ready = R"("{\"state\":\"READY\",\"index\":3}")";
  EXPECT_EQ(report(ours, ready), (ImexReport{.index = 3, .state = "READY"}));
  EXPECT_EQ(report("", ready), std::nullopt);
  EXPECT_EQ(report(ours, R"("READY")"), std::nullopt);
  EXPECT_EQ(report(ours, R"({"state": "READY"})"), std::nullopt);
}

TEST(DecodeDaemonPod, B32_B55_WhatKeepsADaemonFromRunningIsKeptInTheKubeletsWords) {
  const auto trouble = [](const std::string& status) {
    return Decode(DecodeDaemonPod, Object("", "\"status\": {" + status + "}")).trouble;
  };
  EXPECT_EQ(trouble(R"("containerStatuses": [{"state": {"waiting": {
                "reason": "ImagePullBackOff", "message": "no such image"}}}])"),
            "ImagePullBackOff: no such image");
  EXPECT_EQ(trouble(R"("containerStatuses": [{"state": {"waiting": {
                "reason": "CrashLoopBackOff", "message": "back-off 10s"}},
                "lastState": {"terminated": {"message": "Address already in use"}}}])"),
            "CrashLoopBackOff: Address already in use");
  EXPECT_EQ(trouble(R"("conditions": [{"type": "PodScheduled", "status": "False",
                "reason": "Unschedulable", "message": "0/4 nodes are available"}])"),
            "Unschedulable: 0/4 nodes are available");
  EXPECT_EQ(trouble(R"("containerStatuses": [{"state": {"waiting": {
                "reason": "ContainerCreating"}}}])"),
            "")
      << "it is only starting";
  EXPECT_EQ(trouble(R"("phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [{"state": {"waiting": {"reason": "Odd"}}}])"),
            "");
  const std::string long_words(1000, 'x');
  EXPECT_LT(trouble(R"("containerStatuses": [{"state": {"waiting": {
                "reason": "A", "message": ")" +
                    long_words + R"("}}}])")
                .size(),
            250U);
}

TEST(DecodeDaemonPod, K3_OfAContainerThatIsNotMadeTheKubeletsWordsAreKept) {
  const DaemonPod pod = Decode(DecodeDaemonPod, Object("", R"("status": {"containerStatuses": [{
      "state": {"waiting": {"reason": "CreateContainerError",
                            "message": "CDI device injection failed"}},
      "lastState": {"terminated": {"message": "Successfully updated daemon info status"}}}]})"));
  EXPECT_EQ(pod.trouble, "CreateContainerError: CDI device injection failed");
}

TEST(DecodeDaemonPod, Z6_LongWordsEndWithAWholeCharacter) {
  for (int before = 190; before < 200; ++before) {
    const std::string words =
        std::string(static_cast<std::size_t>(before), 'x') + "\u20ac\u20ac\u20ac\u20ac";
    const DaemonPod pod = Decode(
        DecodeDaemonPod, Object("", R"("status": {"containerStatuses": [{"state": {"waiting": {
            "reason": "A", "message": ")" +
                                        words + R"("}}}]})"));
    EXPECT_TRUE(json::IsUtf8(pod.trouble)) << before;
  }
}

TEST(DecodeWaitingWords, AreTheSchedulersOfAPodWithoutANode) {
  EXPECT_EQ(DecodeUserPod(R"({"status": {"conditions": [{"type": "PodScheduled",
      "status": "False", "reason": "Unschedulable", "message": "cannot allocate all claims"}]}})")
                .unschedulable,
            "Unschedulable: cannot allocate all claims");
  EXPECT_EQ(DecodeUserPod(R"({"status": {"conditions": [{"type": "PodScheduled",
      "status": "True"}]}})")
                .unschedulable,
            "");
  EXPECT_EQ(DecodeUserPod("no JSON").unschedulable, "");
}

// Its claims are prepared then.
TEST(DecodeUserPod, PodThatRunsOrRanHasStarted) {
  for (const auto& [phase, has_started] : std::map<std::string, bool>{
           {"", false}, {"Pending", false}, {"Running", true}, {"Failed", true}}) {
    EXPECT_EQ(DecodeUserPod(R"({"status": {"phase": ")" + phase + R"("}})").has_started,
              has_started)
        << phase;
  }
}

// The labels and fields that a pod's spec asks a node for.
std::vector<std::string> SelectionsIn(const std::string& spec) {
  std::vector<std::string> found;
  for (const NodeSelection& one : DecodeUserPod(R"({"spec": )" + spec + "}").nodes) {
    found.push_back(one.labels + "|" + one.fields);
  }
  return found;
}

std::string Affinity(const std::string& terms) {
  return R"("affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": [)" +
         terms + "]}}}";
}

TEST(DecodeUserPod, REV4_P12_NodesThatItMayRunOnAreSelectorsOfAList) {
  using Selections = std::vector<std::string>;
  EXPECT_EQ(SelectionsIn("{}"), Selections());
  EXPECT_EQ(SelectionsIn(R"({"nodeSelector": {"a": "1", "b/c": "2"}})"), Selections{"a=1,b/c=2|"});
  const std::string expressions =
      R"({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "y"]},
          {"key": "b", "operator": "NotIn", "values": ["z"]}, {"key": "c", "operator": "Exists"},
          {"key": "d", "operator": "DoesNotExist"}, {"key": "e", "operator": "Gt", "values": ["4"]},
          {"key": "f", "operator": "Lt", "values": ["9"]}]})";
  EXPECT_EQ(SelectionsIn("{" + Affinity(expressions) + "}"),
            Selections{"a in (x,y),b notin (z),c,!d,e>4,f<9|"});
  const std::string fields =
      R"({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
         {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n2"]}]})";
  EXPECT_EQ(SelectionsIn(R"({"nodeSelector": {"a": "1"}, )" + Affinity(fields) + "}"),
            (Selections{"a=1|metadata.name=n1", "a=1|metadata.name!=n2"}));
}

TEST(DecodeUserPod, SelectorsThatAreTooLongToAskForSelectAll) {
  std::string terms;
  for (int i = 0; i < 6; ++i) {
    terms += (i == 0 ? "" : ",") +
             std::string(R"({"matchExpressions": [{"key": "a", "operator": "Exists"}]})");
  }
  EXPECT_TRUE(SelectionsIn("{" + Affinity(terms) + "}").empty());
  EXPECT_TRUE(
      SelectionsIn(R"({"nodeSelector": {"a": ")" + std::string(3000, 'x') + R"("}})").empty());
}

TEST(DecodeUserPod, REV4_P12_TolerationsAreComparedAsKubernetesDoesIt) {
  const auto tolerates = [](const std::string& toleration, std::string_view taint) {
    const UserPod pod = DecodeUserPod(R"({"spec": {"tolerations": [)" + toleration + "]}}");
    EXPECT_EQ(pod.tolerations.size(), 1U) << toleration;
    return std::ranges::any_of(pod.tolerations,
                               [&](const auto& one) { return Tolerates(one, taint); });
  };
  const std::string of_key = R"({"key": "team", "operator": "Exists"})";
  EXPECT_TRUE(tolerates(of_key, "team=a:NoSchedule"));
  EXPECT_TRUE(tolerates(of_key, "team:NoExecute"));
  EXPECT_FALSE(tolerates(of_key, "teams=a:NoSchedule"));
  const std::string of_value = R"({"key": "team", "value": "a"})";
  EXPECT_TRUE(tolerates(of_value, "team=a:NoSchedule"));
  EXPECT_FALSE(tolerates(of_value, "team=b:NoSchedule"));
  EXPECT_FALSE(tolerates(of_value, "team:NoSchedule"));
  EXPECT_FALSE(tolerates(R"({"key": "team", "operator": "Equal"})", "team=a:NoSchedule"));
  EXPECT_TRUE(tolerates(R"({"key": "team", "operator": "Equal"})", "team:NoSchedule"));
  EXPECT_TRUE(tolerates(R"({"key": "team", "operator": "Gt", "value": "4"})", "team=3:NoSchedule"))
      << "it is not known";
  EXPECT_TRUE(tolerates(R"({"operator": "Exists"})", "team=a:NoSchedule"));
  const std::string of_effect = R"({"operator": "Exists", "effect": "NoExecute"})";
  EXPECT_TRUE(tolerates(of_effect, "team=a:NoExecute"));
  EXPECT_FALSE(tolerates(of_effect, "team=a:NoSchedule"));
}

TEST(DecodeUserPod, OnlySoManyTolerationsAreKept) {
  std::string many;
  for (int i = 0; i < 1000; ++i) {
    many += (i == 0 ? "" : ",") + (R"({"key": "k)" + std::to_string(i)) + R"("})";
  }
  EXPECT_EQ(DecodeUserPod(R"({"spec": {"tolerations": [)" + many + "]}}").tolerations.size(), 64U);
}

// However long the message is: what is kept of it may be cut.
TEST(DecodeUserPod, PodThatLacksADeviceIsKnownByTheWholeMessage) {
  const auto lacks = [](const std::string& status, const std::string& message) {
    return DecodeUserPod(R"({"status": {"conditions": [{"type": "PodScheduled", "status": ")" +
                         status + R"(", "message": ")" + message + R"("}]}})")
        .lacks_device;
  };
  EXPECT_TRUE(lacks("False", std::string(300, 'x') + " 3 cannot allocate all claims"));
  EXPECT_FALSE(lacks("True", "3 cannot allocate all claims"));
  EXPECT_FALSE(lacks("False", "3 Insufficient cpu"));
}

TEST(DecodeUserPod, REV4_P27_ClaimsThatNoContainerListsAreNamed) {
  const auto unlisted = [](const std::string& containers) {
    return DecodeUserPod(R"({"spec": {"resourceClaims": [
        {"name": "made", "resourceClaimTemplateName": "t"},
        {"name": "named", "resourceClaimName": "shared"}, {"name": "not-made-yet"}], )" +
                         containers + R"(}, "status": {"resourceClaimStatuses": [
        {"name": "other", "resourceClaimName": "x"},
        {"name": "made", "resourceClaimName": "pod-made-x2b"}]}})")
        .unlisted_claims;
  };
  using Claims = std::set<std::string>;
  const std::string lists_made = R"({"resources": {"claims": [{"name": "made"}]}})";
  EXPECT_EQ(unlisted(R"("containers": [{}])"), (Claims{"pod-made-x2b", "shared"}));
  EXPECT_EQ(unlisted(R"("containers": [{}, )" + lists_made + "]"), Claims{"shared"});
  EXPECT_EQ(unlisted(R"("containers": [{}], "initContainers": [)" + lists_made + "]"),
            Claims{"shared"});
  EXPECT_EQ(unlisted(R"("containers": [], "resources": {"claims": [{"name": "named"}]})"),
            Claims{"pod-made-x2b"});
}

TEST(CountGpus, WholeGpusCountInEachVersionOfASlice) {
  GpusByNode gpus;
  for (const char* slice :
       {R"({"spec": {"nodeName": "a", "devices": [{"attributes": {"type": {"string": "gpu"}}},
            {"attributes": {"type": {"string": "mig"}}}]}})",
        R"({"spec": {"nodeName": "a", "devices": [{"basic": {"attributes":
            {"type": {"string": "gpu"}}}}]}})",
        R"({"spec": {"nodeName": "b", "devices": []}})", R"({"spec": {"allNodes": true}})"}) {
    json::Parser parser;
    const auto view = parser.Parse(slice);
    ASSERT_TRUE(view);
    CountGpus(*view, gpus);
  }
  EXPECT_EQ(gpus, (GpusByNode{{"a", {.count = 2}}, {"b", {}}}));
}

TEST(CountGpus, OfAPoolTheNewestGenerationCounts) {
  GpusByNode gpus;
  for (const char* generation : {"2", "1", "3", "2"}) {
    const std::string slice = R"({"spec": {"nodeName": "a", "pool": {"generation": )" +
                              std::string(generation) +
                              R"(}, "devices": [{"attributes": {"type": {"string": "gpu"}}}]}})";
    json::Parser parser;
    const auto view = parser.Parse(slice);
    ASSERT_TRUE(view);
    CountGpus(*view, gpus);
  }
  EXPECT_EQ(gpus, (GpusByNode{{"a", {.count = 1, .generation = 3}}}));
}

TEST(DecodeDaemonPod, B47_B55_OfALogTheLineThatTellsMostIsKept) {
  const auto trouble = [](const std::string& log) {
    return Decode(DecodeDaemonPod, Object("", R"("status": {"containerStatuses": [{"state": {
        "waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"message": ")" +
                                                  log + R"("}}}]})"))
        .trouble;
  };
  EXPECT_EQ(trouble(R"(starting\nno CDI device\n)"), "CrashLoopBackOff: no CDI device");
  EXPECT_EQ(trouble(R"(starting\nFailed to allocate Imex: NV_ERR_IN_USE\nexiting\n)"),
            "CrashLoopBackOff: Failed to allocate Imex: NV_ERR_IN_USE");
  EXPECT_EQ(trouble(""), "CrashLoopBackOff");
  EXPECT_EQ(trouble(R"(\u001b[2J\u009bgone)"), "CrashLoopBackOff:  [2J gone") << "S9";
}

TEST(DecodeClique, B37_NameSaysWhoseItIsWithoutALabel) {
  const Clique clique = Decode(DecodeClique, R"({"metadata": {"name": "uid-1.c.1",
      "namespace": "cdom-system", "uid": "u", "resourceVersion": "1"}})");
  EXPECT_EQ(clique.domain, "uid-1");
  EXPECT_EQ(clique.id, "c.1");
  EXPECT_FALSE(clique.is_labelled);
}

TEST(DecodeClaim, B29_ChannelIsKnownByItsDevice) {
  const auto has_channel = [](const std::string& device) {
    return Decode(DecodeResourceClaim, R"({"metadata": {"name": "c", "namespace": "n", "uid": "u",
        "resourceVersion": "1"}, "status": {"allocation": {"devices": {"results": [{
        "driver": "compute-domain.nvidia.com", "pool": "node-0", "device": ")" +
                                           device + R"("}]}}}})")
        .has_channel;
  };
  EXPECT_TRUE(has_channel("channel-0"));
  EXPECT_FALSE(has_channel("daemon-0"));
}

// What a tenant may write as large as the API server takes it, kept in a projection.
TEST(Decode, REV3_F4_WhatAUserWritesIsKeptUpToABound) {
  json::Value object = json::Value::Object({{"kind", "Any"}});
  json::Value& meta = object["metadata"] = json::Value::Object(
      {{"name", "a"}, {"namespace", "tenant"}, {"uid", "u"}, {"resourceVersion", "5"}});
  for (int i = 0; i < 5000; ++i) {
    meta["finalizers"].Append("example.com/" + std::string(200, 'x') + std::to_string(i));
    meta["ownerReferences"].Append(json::Value::Object({{"apiVersion", std::string(5000, 'v')},
                                                        {"kind", std::string(5000, 'k')},
                                                        {"name", std::string(5000, 'n')},
                                                        {"uid", std::string(5000, 'u')}}));
  }
  meta["finalizers"].Append(kFinalizer);
  const std::string large(250'000, 'x');
  for (const std::string_view key :
       {kDeletionGraceAnnotation, kPausedAnnotation, kDaemonRollAnnotation, kGpusAnnotation,
        kGpuClassAnnotation, kPlacementGroupAnnotation, kTemplateHashAnnotation}) {
    meta["annotations"][std::string(key)] = large;
  }
  object["spec"]["devices"]["config"] = json::Value::Array({json::Value::Object(
      {{"opaque",
        json::Value::Object({{"driver", kDriver},
                             {"parameters", json::Value::Object({{"kind", kChannelConfigKind},
                                                                 {"domainID", large}})}})}})});
  const std::string text = json::Serialize(object);
  json::Parser parser;
  const json::View view = *parser.Parse(text);
  constexpr std::size_t kMost = 16 << 10;
  const auto size_of = [](const auto& decoded) {
    std::size_t size = 0;
    kube::ObjectMeta copy = decoded->meta;
    for (const std::string& name : copy.finalizers) size += name.size();
    for (const kube::OwnerReference& owner : copy.owners) {
      size += owner.api_version.size() + owner.kind.size() + owner.name.size() + owner.uid.size();
    }
    EXPECT_TRUE(copy.HasFinalizer(kFinalizer));
    EXPECT_FALSE(copy.is_whole);
    return size;
  };
  EXPECT_LT(size_of(DecodeClique(view)), kMost) << "root on a node writes it";
  const auto domain = DecodeComputeDomain(view);
  EXPECT_LT(size_of(domain) + domain->deletion_grace.size() + domain->paused.size() +
                domain->daemon_roll.size() + domain->gpus.size() + domain->gpu_class.size() +
                domain->placement_group.size(),
            kMost);
  const auto found = DecodeResourceClaimTemplate(view);
  EXPECT_LT(size_of(found) + found->template_hash.size(), kMost);
  const auto claim = DecodeResourceClaim(view);
  EXPECT_LT(size_of(claim) + claim->channel_domain.size(), kMost);
  EXPECT_EQ(claim->channel_domain, "") << "no UID looks like that";
}

// Each daemon finds its own pod among the owners, or writes itself into them again and again.
TEST(Decode, OwnersOfACliqueThatArePodsAreKept) {
  json::Value object = json::Value::Object({{"kind", "ComputeDomainClique"}});
  object["metadata"] = json::Value::Object(
      {{"name", "a.b"}, {"namespace", "n"}, {"uid", "u"}, {"resourceVersion", "5"}});
  const auto add = [&](const char* kind, int i) {
    object["metadata"]["ownerReferences"].Append(
        json::Value::Object({{"apiVersion", "v1"},
                             {"kind", kind},
                             {"name", "o" + std::to_string(i)},
                             {"uid", "u" + std::to_string(i)}}));
  };
  for (int i = 0; i < 72; ++i) add("Pod", i);
  json::Parser parser;
  std::string text = json::Serialize(object);
  auto clique = DecodeClique(*parser.Parse(text));
  ASSERT_TRUE(clique);
  EXPECT_EQ(clique->meta.owners.size(), 72U);
  EXPECT_EQ(clique->meta.owners.back().uid, "u71");
  EXPECT_TRUE(clique->meta.is_whole);
  for (int i = 0; i < 5000; ++i) add(i % 2 == 0 ? "Pod" : "Other", 100 + i);
  text = json::Serialize(object);
  clique = DecodeClique(*parser.Parse(text));
  EXPECT_EQ(clique->meta.owners.size(), 1008U);
  EXPECT_FALSE(clique->meta.is_whole);
}

}  // namespace
}  // namespace api
