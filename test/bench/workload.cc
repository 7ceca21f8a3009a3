#include "test/bench/workload.h"

#include "controller/api/names.h"
#include "pkg/kube/client/request.h"
#include "test/bench/objects.h"

namespace bench {

namespace {

using base::Result;
using json::Value;
using std::chrono::seconds;

kube::ObjectKey KeyOf(const Workload& workload) {
  return {.ns = kNamespace, .name = workload.name};
}

}  // namespace

Result<Workload> StartWorkload(Stage& stage, const std::string& name, int pods) {
  const Value domain =
      TRY(stage.Send(kube::CreateRequest(api::kComputeDomains, kNamespace, Domain(name))));
  TRY(stage.Send(kube::CreateRequest(kJobs, kNamespace, Job(name, pods))));
  return Workload{.name = name, .uid = domain["metadata"]["uid"].AsString()};
}

Result<void> AwaitReady(Stage& stage, Workload& workload, int pods, seconds most) {
  constexpr std::chrono::milliseconds kPoll{200};  // The status of a large domain is large.
  const auto reached = [&]() -> Result<bool> {
    const Value domain = TRY(stage.Get(api::kComputeDomains, KeyOf(workload)));
    workload.nodes.clear();
    for (const Value& node : domain["status"]["nodes"].items()) {
      if (node["status"].AsString() == "Ready") workload.nodes.push_back(node["name"].AsString());
    }
    return std::ssize(workload.nodes) == pods;
  };
  return stage.Await("all " + std::to_string(pods) + " nodes of " + workload.name + " are ready",
                     most, reached, kPoll);
}

Result<void> EndWorkload(Stage& stage, const Workload& workload, seconds most) {
  for (const auto* resource : {&kJobs, &api::kComputeDomains}) {
    TRY(stage.Send(
        kube::DeleteRequest(*resource, KeyOf(workload), "", kube::Propagation::kBackground)));
  }
  for (const auto* resource : {&kJobs, &api::kComputeDomains}) {
    TRY(stage.AwaitGone(*resource, KeyOf(workload), most));
  }
  return {};
}

Result<void> MakeDomains(Stage& stage, const std::string& prefix, int count) {
  constexpr seconds kSettles{600};
  Load load = stage.NewLoad();
  for (int i = 0; i < count; ++i) {
    load.Add(
        kube::CreateRequest(api::kComputeDomains, kNamespace, Domain(prefix + std::to_string(i))));
  }
  TRY(load.Run());
  return stage.AwaitQuiet("the controller has made what the domains need",
                          std::chrono::milliseconds(3000), kSettles, IsOurs);
}

Result<std::map<std::string, Value>> WorkloadTemplates(Stage& stage) {
  const std::string selector =
      std::string(api::kTargetLabel) + "=" + std::string(api::kTargetWorkload);
  std::map<std::string, Value> templates;
  for (const Value& found : TRY(stage.List(kube::kResourceClaimTemplates, selector))) {
    templates.emplace(found["metadata"]["name"].AsString(), found);
  }
  return templates;
}

Result<bool> IsReadyMember(Stage& stage, const Workload& workload, const std::string& node) {
  const Value domain = TRY(stage.Get(api::kComputeDomains, KeyOf(workload)));
  for (const Value& member : domain["status"]["nodes"].items()) {
    if (member["name"].AsString() == node) return member["status"].AsString() == "Ready";
  }
  return false;
}

}  // namespace bench
