#include <gtest/gtest.h>

#include <functional>

#include "controller/compute_domain/requests/action_requests.h"
#include "pkg/kube/api/resource.h"
#include "test/fixtures/observed.h"

namespace compute_domain {
namespace {

using Names = std::set<std::string>;

// A pod that lacks a device. `spec` is JSON.
http::Response Pod(const std::string& spec) {
  return {.status = 200,
          .body = R"({"spec": )" + spec + R"(, "status": {"conditions": [{"type": "PodScheduled",
              "status": "False", "reason": "Unschedulable",
              "message": "0/9 nodes are available: 9 cannot allocate all claims."}]}})"};
}

http::Response Nodes(const Names& names, const std::string& continue_token = "") {
  std::string items;
  for (const std::string& name : names) {
    items += (items.empty() ? "" : ",") + (R"({"metadata": {"name": ")" + name) + R"("}})";
  }
  return {.status = 200,
          .body = R"({"kind": "PartialObjectMetadataList", "metadata": {"continue": ")" +
                  continue_token + R"("}, "items": [)" + items + "]}"};
}

// Slices of nodes with so many GPUs.
http::Response Slices(const std::map<std::string, int>& gpus, const std::string& next = "") {
  std::string items;
  for (const auto& [node, count] : gpus) {
    std::string devices;
    for (int i = 0; i < count; ++i) {
      devices +=
          (i == 0 ? "" : ",") + std::string(R"({"attributes": {"type": {"string": "gpu"}}})");
    }
    items += (items.empty() ? "" : ",") + (R"({"spec": {"nodeName": ")" + node) +
             R"(", "devices": [)" + devices + "]}}";
  }
  return {.status = 200,
          .body = R"({"kind": "ResourceSliceList", "metadata": {"continue": ")" + next +
                  R"("}, "items": [)" + items + "]}"};
}

// Reads pods a and b.
class PodReads {
 public:
  std::vector<std::string> Ask() {
    std::vector<std::string> paths;
    for (const http::Request& request : RequestsOf(action_, observed, read_)) {
      paths.push_back(request.path);
    }
    return paths;
  }
  // Returns whether there is more to read.
  bool Take(const Replies& replies) {
    const ActionResult result = HandleReplies(action_, replies, observed, read_);
    EXPECT_FALSE(result.error);
    observed = Learn(observed, result.findings);
    if (result.gpus) gpus = result.gpus;
    if (!result.goes_on) memory_ = std::get<SchedulerMessagesRead>(result.memory.at(0));
    return result.goes_on;
  }
  // Where the pod may run. Null if it is not known to lack a device.
  std::shared_ptr<const PodReach> Reach(const std::string& pod) const {
    const auto it = memory_.reach.find(pod);
    return it == memory_.reach.end() ? nullptr : it->second;
  }

  // How many of the node were counted; none if they were not.
  std::optional<int> GpusOf(const std::string& node) const {
    if (!gpus) return {};
    return gpus->at(node).count;
  }

  Observed observed = fixtures::Converged();
  std::shared_ptr<const api::GpusByNode> gpus = {};

 private:
  const Action action_ = ReadPodConditions{.ns = fixtures::kUserNs, .names = {"a", "b"}};
  ActionProgress read_;
  SchedulerMessagesRead memory_;
};

const std::string kPinned = R"({"nodeSelector": {"zone": "a"}})";
const std::string kAnywhere = R"({"tolerations": [{"key": "gpu"}]})";
const http::Response kRuns = {.status = 200, .body = R"({"status": {"phase": "Running"}})"};

TEST(ReadPodConditions, PodsThatLackNoDeviceNeedNoMoreReads) {
  PodReads reads;
  EXPECT_EQ(reads.Ask().size(), 2U);
  EXPECT_FALSE(reads.Take({kRuns, base::Fail(base::ErrorCode::kNotFound, "no pod")}));
  EXPECT_EQ(reads.observed.evidence.scheduler_messages->started_pods, Names{"a"});
  EXPECT_FALSE(reads.Reach("a"));
}

TEST(ReadPodConditions, REV4_P12_NodesThatAPodSelectsAreAskedForOnceForAllPods) {
  PodReads reads;
  EXPECT_TRUE(reads.Take({Pod(kPinned), Pod(kPinned)}));
  EXPECT_EQ(reads.Ask(),
            std::vector<std::string>{"/api/v1/nodes?labelSelector=zone%3Da&limit=100"});
  EXPECT_FALSE(reads.Take({Nodes({"node-1", "node-2"})}));
  ASSERT_TRUE(reads.Reach("a"));
  EXPECT_EQ(reads.Reach("a")->nodes, (Names{"node-1", "node-2"}));
  EXPECT_EQ(reads.Reach("a"), reads.Reach("b"));
}

TEST(ReadPodConditions, PodThatMayRunAnywhereNeedsNoListOfNodes) {
  PodReads reads;
  EXPECT_FALSE(reads.Take({Pod(kAnywhere), kRuns}));
  EXPECT_FALSE(reads.Reach("a")->nodes);
  EXPECT_EQ(reads.Reach("a")->tolerations,
            (std::set<api::Toleration>{{.key = "gpu", .value = ""}}));
}

TEST(ReadPodConditions, NodesThatAreTooManyOrNotReadCountAsAll) {
  for (const Reply& reply :
       std::vector<Reply>{Nodes({"node-1"}, "more"), base::Unavailable("no server"),
                          http::Response{.status = 200, .body = "{}"},
                          http::Response{.status = 200, .body = "?"}}) {
    PodReads reads;
    EXPECT_TRUE(reads.Take({Pod(kPinned), kRuns}));
    EXPECT_FALSE(reads.Take({reply}));
    ASSERT_TRUE(reads.Reach("a"));
    EXPECT_FALSE(reads.Reach("a")->nodes);
  }
}

TEST(ReadPodConditions, NodesOfAllAlternativesOfAnAffinityCount) {
  PodReads reads;
  const std::string affinity =
      R"({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
          {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]},
           {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-9"]}]}]}}}})";
  EXPECT_TRUE(reads.Take({Pod(affinity), kRuns}));
  EXPECT_EQ(reads.Ask(), (std::vector<std::string>{
                             "/api/v1/nodes?labelSelector=zone&limit=100",
                             "/api/v1/nodes?fieldSelector=metadata.name%3Dnode-9&limit=100"}));
  EXPECT_FALSE(reads.Take({Nodes({"node-1"}), Nodes({"node-9"})}));
  EXPECT_EQ(reads.Reach("a")->nodes, (Names{"node-1", "node-9"}));
}

TEST(ReadPodConditions, OfMoreSelectionsThanAreAskedForOnlyTheFirstAre) {
  PodReads reads;
  const auto terms = [](int from) {
    std::string all;
    for (int i = from; i < from + 4; ++i) {
      all += (i == from ? "" : ",") + (R"({"matchExpressions": [{"key": "k)" + std::to_string(i)) +
             R"(", "operator": "Exists"}]})";
    }
    return R"({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
               {"nodeSelectorTerms": [)" +
           all + "]}}}}";
  };
  EXPECT_TRUE(reads.Take({Pod(terms(0)), Pod(terms(4))}));
  EXPECT_EQ(reads.Ask().size(), 5U);
  EXPECT_FALSE(reads.Take({Nodes({"n"}), Nodes({}), Nodes({}), Nodes({}), Nodes({})}));
  EXPECT_EQ(reads.Reach("a")->nodes, Names{"n"});
  EXPECT_FALSE(reads.Reach("b")->nodes);
}

TEST(ReadPodConditions, REV4_7_GpusAreCountedOverAllPagesWhereTheDomainAsksForThem) {
  PodReads reads;
  reads.observed.domain->gpus = "8";
  EXPECT_TRUE(reads.Take({Pod(kPinned), Pod(kAnywhere)}));
  ASSERT_EQ(reads.Ask().size(), 2U);
  EXPECT_EQ(reads.Ask()[1],
            "/apis/resource.k8s.io/v1/resourceslices?fieldSelector=spec.driver%3Dgpu.nvidia.com&"
            "limit=100");
  EXPECT_TRUE(reads.Take({Nodes({"node-1"}), Slices({{"node-1", 2}, {"node-2", 4}}, "next")}));
  EXPECT_NE(reads.Ask().at(0).find("continue=next"), std::string::npos);
  EXPECT_FALSE(reads.Take({Slices({{"node-1", 2}})}));
  EXPECT_EQ(reads.GpusOf("node-1"), 4) << "two slices of one node";
  EXPECT_EQ(reads.GpusOf("node-2"), 4);
}

TEST(ReadPodConditions, GpusThatCannotBeReadAreNotKnown) {
  for (const Reply& reply :
       std::vector<Reply>{base::Unavailable("no server"), Nodes({}), Slices({}, "next")}) {
    PodReads reads;
    reads.observed.domain->gpus = "8";
    EXPECT_TRUE(reads.Take({Pod(kAnywhere), kRuns}));
    if (reads.Take({reply})) {
      EXPECT_FALSE(reads.Take({Slices({}, "next")}));
    }
    EXPECT_TRUE(reads.Reach("a"));
    EXPECT_FALSE(reads.gpus);
  }
}

TEST(ReadPodConditions, PageOfSlicesThatIsTooLargeIsReadInSmallerOnes) {
  PodReads reads;
  reads.observed.domain->gpus = "8";
  EXPECT_TRUE(reads.Take({Pod(kAnywhere), kRuns}));
  EXPECT_TRUE(reads.Take({base::Fail(base::ErrorCode::kTooLarge, "passed its bound")}));
  EXPECT_EQ(reads.Ask().at(0).find("limit=100"), std::string::npos) << reads.Ask().at(0);
  EXPECT_FALSE(reads.Take({Slices({{"node-1", 4}})}));
  EXPECT_EQ(reads.GpusOf("node-1"), 4);
}

TEST(ReadPodConditions, GpusAreCountedOnlyIfItHelpsAndNobodyDidLately) {
  for (const auto& change : std::vector<std::function<void(Observed&)>>{
           [](Observed& o) { o.domain->gpu_class = "mine"; },
           [](Observed& o) { o.domain->gpus = "All"; },
           [](Observed& o) { o.facts.cluster.gpus.is_old = false; }}) {
    PodReads reads;
    reads.observed.domain->gpus = "8";
    change(reads.observed);
    EXPECT_FALSE(reads.Take({Pod(kAnywhere), kRuns}));
  }
}

// Each of 64 pods of 256 KiB.
TEST(ReadUses, REV4_P27_PodsAreReadAFewAtATime) {
  Observed observed = fixtures::Converged();
  ReadUses read_uses = {.ns = fixtures::kUserNs};
  for (int i = 0; i < 20; ++i) {
    const std::string pod = "pod-" + std::to_string(i);
    read_uses.uses.push_back({.pod = pod, .claim = "claim", .key = pod});
  }
  const Action action = read_uses;
  ActionProgress read;
  std::vector<std::size_t> requests;
  ActionResult result = {.goes_on = true};
  while (result.goes_on) {
    const Requests asked = RequestsOf(action, observed, read);
    requests.push_back(asked.size());
    EXPECT_EQ(asked.front().response_bytes_max, 256U << 10);
    result = HandleReplies(action, Replies(asked.size(), kRuns), observed, read);
  }
  EXPECT_EQ(requests, (std::vector<std::size_t>{8, 8, 4}));
  EXPECT_EQ(std::get<UsesRead>(result.memory.at(0)).lists_claim.size(), 20U);
}

TEST(ReadUses, REV4_P27_PodThatIsNotAnsweredIsReadWithTheNextPass) {
  Observed observed = fixtures::Converged();
  const Action action = ReadUses{
      .ns = fixtures::kUserNs,
      .uses = {{.pod = "a", .claim = "c", .key = "1/a"}, {.pod = "b", .claim = "c", .key = "2/b"}}};
  ActionProgress read;
  const ActionResult result =
      HandleReplies(action, {kRuns, base::Unavailable("no server")}, observed, read);
  EXPECT_FALSE(result.goes_on);
  EXPECT_EQ(std::get<UsesRead>(result.memory.at(0)).lists_claim,
            (std::map<std::string, bool>{{"1/a", true}}));
}

TEST(ReadUses, REV4_P27_PodThatIsNotReadIsNotAccused) {
  Observed observed = fixtures::Converged();
  const Action action = ReadUses{.ns = fixtures::kUserNs,
                                 .uses = {{.pod = "a", .claim = "claim-a", .key = "1/a"},
                                          {.pod = "b", .claim = "claim-b", .key = "2/b"},
                                          {.pod = "c", .claim = "claim-c", .key = "3/c"}}};
  ActionProgress read;
  EXPECT_EQ(RequestsOf(action, observed, read).at(2).path, "/api/v1/namespaces/team-a/pods/c");
  const http::Response unlisted = {
      .status = 200,
      .body = R"({"spec": {"resourceClaims": [{"name": "x", "resourceClaimName": "claim-a"}]}})"};
  const ActionResult result = HandleReplies(
      action, {unlisted, unlisted, base::Fail(base::ErrorCode::kTooLarge, "passed its bound")},
      observed, read);
  EXPECT_FALSE(result.error);
  EXPECT_EQ(std::get<UsesRead>(result.memory.at(0)).lists_claim,
            (std::map<std::string, bool>{{"1/a", false}, {"2/b", true}, {"3/c", true}}));
}

}  // namespace
}  // namespace compute_domain
