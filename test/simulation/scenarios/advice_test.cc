// What the controller advises for pods that find no channel is done as it says, and the pods run.
// The advice is taken as a value: no text is read.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "controller/compute_domain/status/explanation/shortage.h"
#include "test/simulation/apiserver/contract.h"
#include "test/simulation/cluster/peers.h"
#include "test/simulation/scenarios/replica.h"

namespace simulation {
namespace {

using compute_domain::Advice;
using json::Value;
using std::chrono::minutes;
using std::chrono::seconds;
using Do = Advice::Do;
using Labels = std::map<std::string, std::string>;

constexpr const char* kNs = "team";
constexpr const char* kRack = "nvidia.com/gpu.clique";
// The controller looks at a pod that waits within this time.
constexpr minutes kLooksWithin{6};

// Nodes a0 to a2 and b0 to b3 in the cliques a and b, and one controller.
class Town {
 public:
  Town() {
    cluster_.AddNamespace(kNs);
    for (const char* name : {"a0", "a1", "a2", "b0", "b1", "b2", "b3"}) {
      const std::string clique(1, name[0]);
      cluster_.AddNode(name, clique);
      EXPECT_TRUE(store()
                      .Edit("gpu-feature-discovery", Kind::kNode, {.name = name},
                            [&](Value& node) { node["metadata"]["labels"][kRack] = clique; })
                      .ok());
    }
    RunFor(seconds(5));
  }

  void CreateDomain(const std::string& name, const std::string& placement = "") {
    uids_[name] = cluster_.CreateDomain(Key(name), name + "-channel");
    if (!placement.empty()) {
      Edit(Kind::kComputeDomain, name, [&](Value& domain) {
        domain["metadata"]["labels"][std::string(api::kPlacementLabel)] = placement;
      });
    }
    RunFor(seconds(5));
  }
  void AskForGpus(const std::string& domain, int number) {
    Edit(Kind::kComputeDomain, domain, [&](Value& object) {
      object["metadata"]["annotations"][std::string(api::kGpusAnnotation)] = std::to_string(number);
    });
    RunFor(seconds(5));
  }
  void GiveGpus(const std::string& node, int number) {
    Value devices = Value::Array();
    for (int i = 0; i < number; ++i) {
      const Value type = Value::Object({{"string", "gpu"}});
      devices.Append(Value::Object(
          {{"name", "gpu-" + std::to_string(i)}, {"attributes", Value::Object({{"type", type}})}}));
    }
    const Value pool =
        Value::Object({{"name", node}, {"generation", 1}, {"resourceSliceCount", 1}});
    Value slice = Value::Object({{"metadata", Value::Object({{"name", "gpus-of-" + node}})},
                                 {"spec", Value::Object({{"driver", "gpu.nvidia.com"},
                                                         {"nodeName", node},
                                                         {"pool", pool},
                                                         {"devices", std::move(devices)}})}});
    ASSERT_TRUE(store().Create("gpu-plugin", Kind::kSlice, "", std::move(slice)).ok());
  }
  // The pod runs only on nodes with these labels, and if it follows, only in the clique of those
  // pods of its domain that have a node, as the placement policy has it.
  void StartPod(const std::string& name, const std::string& domain, const Labels& where = {},
                bool follows = false) {
    Value claim = Value::Object({{"name", "channel"}});
    if (store().Get(Kind::kClaim, Key(domain))) {
      claim["resourceClaimName"] = domain;
    } else {
      claim["resourceClaimTemplateName"] = domain + "-channel";
    }
    Value selector = Value::Object({});
    for (const auto& [key, value] : where) selector[key] = value;
    const Value work = WorkThatLists("channel");
    const Value labels = Value::Object({{"domain", domain}});
    Value pod =
        Value::Object({{"metadata", Value::Object({{"name", name}, {"labels", labels}})},
                       {"spec", Value::Object({{"nodeSelector", std::move(selector)},
                                               {"containers", Value::Array({work})},
                                               {"resourceClaims", Value::Array({claim})}})}});
    if (follows) {
      const Value term = Value::Object(
          {{"topologyKey", kRack}, {"labelSelector", Value::Object({{"matchLabels", labels}})}});
      const Value required =
          Value::Object({{"requiredDuringSchedulingIgnoredDuringExecution", Value::Array({term})}});
      pod["spec"]["affinity"] = Value::Object({{"podAffinity", required}});
    }
    ASSERT_TRUE(store().Create("user", Kind::kPod, kNs, std::move(pod)).ok());
  }
  // The pods job-0, job-1 and so on of the domain `job`.
  void StartJob(int pods, const Labels& where = {}) {
    for (int i = 0; i < pods; ++i) StartPod("job-" + std::to_string(i), "job", where, true);
  }
  void EndJob(int pods) {
    for (int i = 0; i < pods; ++i) EndPod("job-" + std::to_string(i));
  }
  void EndPod(const std::string& name) {
    (void)store().Delete("user", Kind::kPod, Key(name));
    RunFor(seconds(60));
  }
  // A claim of the class of channels that names no domain, as a user may write one.
  void CreateStray(const std::string& name) {
    const Value exactly =
        Value::Object({{"deviceClassName", "compute-domain-default-channel.nvidia.com"}});
    const Value request = Value::Object({{"name", "channel"}, {"exactly", exactly}});
    const Value config = Value::Object(
        {{"requests", Value::Array({"channel"})},
         {"opaque", Value::Object({{"driver", kDriver},
                                   {"parameters", Value::Object({{"kind", kChannelConfig}})}})}});
    const Value devices =
        Value::Object({{"requests", Value::Array({request})}, {"config", Value::Array({config})}});
    Value claim = Value::Object({{"metadata", Value::Object({{"name", name}})},
                                 {"spec", Value::Object({{"devices", devices}})}});
    ASSERT_TRUE(store().Create("user", Kind::kClaim, kNs, std::move(claim)).ok());
  }
  void CreateClaimOfGpus(const std::string& name, int number) {
    const Value exactly = Value::Object({{"deviceClassName", "gpu.nvidia.com"}, {"count", number}});
    const Value request = Value::Object({{"name", "gpus"}, {"exactly", exactly}});
    const Value devices = Value::Object({{"requests", Value::Array({request})}});
    Value claim = Value::Object({{"metadata", Value::Object({{"name", name}})},
                                 {"spec", Value::Object({{"devices", devices}})}});
    ASSERT_TRUE(store().Create("user", Kind::kClaim, kNs, std::move(claim)).ok());
  }
  void Delete(Kind kind, const std::string& name) {
    EXPECT_TRUE(store().Delete("user", kind, Key(name)).ok()) << name;
    RunFor(seconds(60));
  }

  void RunFor(std::chrono::microseconds time) {
    const Time end = cluster_.now() + time;
    while (cluster_.now() < end) {
      while (cluster_.Settle() > 0 || replica_.Step()) {
      }
      Time due = std::min(end, replica_.NextDue().value_or(end));
      due = std::min(due, cluster_.NextDue().value_or(end));
      cluster_.Advance(
          std::max<std::chrono::microseconds>(due - cluster_.now(), seconds(0) + kTick));
    }
  }

  bool Runs(const std::string& pod) const {
    const ObjectPtr found = cluster_.store().Get(Kind::kPod, Key(pod));
    return found && (*found)["status"]["phase"].AsString() == "Running";
  }
  bool JobRuns(int pods) const {
    for (int i = 0; i < pods; ++i) {
      if (!Runs("job-" + std::to_string(i))) return false;
    }
    return true;
  }
  bool IsAllocated(const std::string& claim) const {
    const ObjectPtr found = cluster_.store().Get(Kind::kClaim, Key(claim));
    return found && !AllocatedNode(*found).empty();
  }
  // What the controller advises the owner of the domain. Empty if nothing.
  std::optional<Advice> AdviceOn(const std::string& domain) {
    const auto observed = replica_.controller().shared().Gather(uids_.at(domain));
    const auto shortage = compute_domain::FindShortage(observed);
    if (!shortage) return {};
    return shortage->advice;
  }
  Cluster& cluster() { return cluster_; }
  static kube::ObjectKey Key(const std::string& name) { return {kNs, name}; }

 private:
  static constexpr std::chrono::microseconds kTick{1'000};

  ObjectStore& store() { return cluster_.store(); }
  void Edit(Kind kind, const std::string& name, const std::function<void(Value&)>& change) {
    EXPECT_TRUE(store().Edit("user", kind, Key(name), change).ok());
  }

  Cluster cluster_;
  Replica replica_{cluster_.server(),
                   {.elects = false, .controller_writes = true},
                   [this](const http::Request& request) {
                     return cluster_.server().Handle("controller-1", request);
                   }};
  std::map<std::string, kube::Uid> uids_;
};

Labels On(const std::string& node) { return {{"kubernetes.io/hostname", node}}; }
Labels InRack(const std::string& clique) { return {{kRack, clique}}; }

TEST(Advice, REV4_P12_NodeWithoutPluginIsNamed_AndThePodRunsWhenThePluginDoes) {
  Town town;
  town.cluster().agent("a0").StopPlugin(town.cluster().now());
  town.RunFor(minutes(1));
  town.CreateDomain("other");
  town.StartPod("other", "other", On("b0"));
  town.CreateDomain("job");
  town.StartPod("job", "job", On("a0"));
  town.RunFor(kLooksWithin);
  EXPECT_FALSE(town.Runs("job"));
  const auto advice = town.AdviceOn("job");
  ASSERT_TRUE(advice);
  ASSERT_EQ(*advice, (Advice{.what = Do::kInstallPlugin, .objects = {"a0"}}));
  for (const std::string& node : advice->objects) town.cluster().agent(node).StartPlugin();
  town.RunFor(minutes(2));
  EXPECT_TRUE(town.Runs("job"));
  EXPECT_FALSE(town.AdviceOn("job"));
}

// The other one is on a node where the pod cannot run: who deletes it has harmed another, in vain.
TEST(Advice, REV4_P12_OnlyTheClaimThatIsInTheWayIsToBeDeleted) {
  Town town;
  town.CreateStray("in-the-way");
  town.StartPod("thief", "in-the-way", On("a0"));
  town.CreateStray("elsewhere");
  town.StartPod("neighbour", "elsewhere", On("b0"));
  town.RunFor(seconds(30));
  ASSERT_TRUE(town.IsAllocated("elsewhere"));
  town.CreateDomain("job");
  town.StartPod("job", "job", On("a0"));
  town.RunFor(kLooksWithin);
  EXPECT_FALSE(town.Runs("job"));
  const auto advice = town.AdviceOn("job");
  ASSERT_TRUE(advice);
  ASSERT_EQ(*advice,
            (Advice{.what = Do::kDeleteClaims, .objects = {std::string(kNs) + "/in-the-way"}}));
  town.Delete(Kind::kPod, "thief");
  town.Delete(Kind::kClaim, "in-the-way");
  town.RunFor(minutes(1));
  EXPECT_TRUE(town.Runs("job"));
}

TEST(Advice, DomainsThatHoldTheNodesAreWaitedFor_AndNoOthers) {
  Town town;
  for (const char* name : {"near", "far"}) town.CreateDomain(name);
  town.StartPod("near", "near", On("a0"));
  town.StartPod("far", "far", On("b0"));
  town.RunFor(seconds(30));
  town.CreateDomain("job");
  town.StartPod("job", "job", On("a0"));
  town.RunFor(kLooksWithin);
  const auto advice = town.AdviceOn("job");
  ASSERT_TRUE(advice);
  ASSERT_EQ(*advice,
            (Advice{.what = Do::kWaitForDomains, .objects = {std::string(kNs) + "/near"}}));
  town.EndPod("near");
  town.RunFor(minutes(2));
  EXPECT_TRUE(town.Runs("job"));
  EXPECT_TRUE(town.Runs("far"));
}

TEST(Advice, PodsOfTheDomainItselfAreWaitedFor) {
  Town town;
  town.CreateDomain("job");
  town.StartPod("first", "job", On("a0"));
  town.RunFor(seconds(30));
  town.StartPod("second", "job", On("a0"));
  town.RunFor(kLooksWithin);
  ASSERT_EQ(town.AdviceOn("job"), (Advice{.what = Do::kWaitForOwnPods}));
  town.EndPod("first");
  town.RunFor(minutes(2));
  EXPECT_TRUE(town.Runs("second"));
}

TEST(Advice, REV4_7_SoManyGpusAsANodeHasAreAskedFor_AndThePodRuns) {
  Town town;
  for (const char* node : {"a0", "b0"}) town.GiveGpus(node, 4);
  town.GiveGpus("b1", 2);
  town.CreateDomain("job");
  town.AskForGpus("job", 8);
  town.StartPod("job", "job");
  town.RunFor(kLooksWithin);
  EXPECT_FALSE(town.Runs("job"));
  const auto advice = town.AdviceOn("job");
  ASSERT_TRUE(advice);
  ASSERT_EQ(*advice, (Advice{.what = Do::kAskForGpus, .number = 4}));
  town.AskForGpus("job", advice->number);
  town.EndPod("job");
  town.StartPod("job", "job");
  town.RunFor(minutes(2));
  EXPECT_TRUE(town.Runs("job"));
}

TEST(Advice, REV4_7_GpusThatPodsOfNoDomainUseAreWaitedFor) {
  Town town;
  town.GiveGpus("a0", 4);
  town.GiveGpus("a1", 2);
  town.CreateClaimOfGpus("theirs", 4);
  town.StartPod("other", "theirs");
  town.RunFor(seconds(30));
  ASSERT_TRUE(town.IsAllocated("theirs"));
  town.CreateDomain("job");
  town.AskForGpus("job", 4);
  town.StartPod("job", "job");
  town.RunFor(kLooksWithin);
  EXPECT_FALSE(town.Runs("job"));
  ASSERT_EQ(town.AdviceOn("job"), (Advice{.what = Do::kWaitForDevices}));
  town.Delete(Kind::kPod, "other");
  town.Delete(Kind::kClaim, "theirs");
  town.RunFor(minutes(2));
  EXPECT_TRUE(town.Runs("job"));
}

// A domain on a node with too few GPUs is not in the way.
TEST(Advice, REV4_7_DomainsOnNodesWithEnoughGpusAreWaitedFor) {
  Town town;
  town.GiveGpus("a0", 4);
  town.GiveGpus("a1", 2);
  for (const char* name : {"large", "small"}) town.CreateDomain(name);
  town.StartPod("large", "large", On("a0"));
  town.StartPod("small", "small", On("a1"));
  town.RunFor(seconds(30));
  town.CreateDomain("job");
  town.AskForGpus("job", 4);
  town.StartPod("job", "job");
  town.RunFor(kLooksWithin);
  ASSERT_EQ(town.AdviceOn("job"),
            (Advice{.what = Do::kWaitForDomains, .objects = {std::string(kNs) + "/large"}}));
  town.EndPod("large");
  town.RunFor(minutes(2));
  EXPECT_TRUE(town.Runs("job"));
}

// ---- Pods that must follow the first ones into their clique. The simulated scheduler takes nodes
// by name, so that the first pod is on a0.

TEST(Advice, JobThatNoCliqueCanHoldRunsWithAsManyPodsAsAreAdvised) {
  Town town;
  town.CreateDomain("job", "clique");
  town.StartJob(5);
  town.RunFor(kLooksWithin);
  const auto advice = town.AdviceOn("job");
  ASSERT_TRUE(advice);
  ASSERT_EQ(*advice, (Advice{.what = Do::kRunPods, .number = 4}));
  town.EndJob(5);
  town.StartJob(advice->number, InRack("b"));
  town.RunFor(minutes(2));
  EXPECT_TRUE(town.JobRuns(advice->number));
}

TEST(Advice, JobIsStartedAgainInTheCliqueThatHasRoom) {
  Town town;
  town.CreateDomain("job", "clique");
  town.StartJob(4);
  town.RunFor(kLooksWithin);
  const auto advice = town.AdviceOn("job");
  ASSERT_TRUE(advice);
  ASSERT_EQ(*advice, (Advice{.what = Do::kStartElsewhere, .objects = {"b"}, .number = 4}));
  town.EndJob(4);
  town.StartJob(4, InRack(advice->objects.at(0)));
  town.RunFor(minutes(2));
  EXPECT_TRUE(town.JobRuns(4));
}

TEST(Advice, NodesOfTheCliqueAreWaitedFor) {
  Town town;
  town.CreateDomain("other");
  town.StartPod("other-a", "other", On("a0"));
  town.StartPod("other-b", "other", On("b0"));
  town.StartPod("other-c", "other", On("b1"));
  town.RunFor(seconds(30));
  town.CreateDomain("job", "clique");
  town.StartJob(3);
  town.RunFor(kLooksWithin);
  ASSERT_EQ(town.AdviceOn("job"),
            (Advice{.what = Do::kWaitForNodes, .objects = {"a"}, .number = 3}));
  town.EndPod("other-a");
  town.RunFor(minutes(2));
  EXPECT_TRUE(town.JobRuns(3));
}

}  // namespace
}  // namespace simulation
