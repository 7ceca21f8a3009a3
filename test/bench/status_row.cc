// P9: how large a huge domain is where it is stored. The nodes and the daemons' pods are there as
// objects alone; the controller gives them their places and writes the status itself.
#include "controller/api/names.h"
#include "pkg/kube/client/request.h"
#include "test/bench/objects.h"
#include "test/bench/rows.h"

namespace bench {

namespace {

using base::Result;
using json::Value;
using std::chrono::seconds;

constexpr seconds kJoinsMost{600};
constexpr double kBudgetMib = 1.4;  // etcd takes 1.5 MiB.

// The pod that `daemon_set` would make on `node`, of which the controller reads no more than this.
Value DaemonPod(const Value& daemon_set, const Value& node) {
  const Value& meta = daemon_set["metadata"];
  const Value& pod_template = daemon_set["spec"]["template"]["metadata"];
  const Value owner = Value::Object({{"apiVersion", "apps/v1"},
                                     {"kind", "DaemonSet"},
                                     {"name", meta["name"]},
                                     {"uid", meta["uid"]},
                                     {"controller", true}});
  Value labels = pod_template["labels"];
  labels[api::kCliqueLabel] = node["metadata"]["labels"][api::kNodeCliqueLabel];
  Value pod_meta =
      Value::Object({{"name", meta["name"].AsString() + "-" + node["metadata"]["name"].AsString()},
                     {"namespace", kDriverNamespace},
                     {"labels", std::move(labels)},
                     {"ownerReferences", Value::Array({owner})}});
  if (const Value* annotations = pod_template.Find("annotations"); annotations != nullptr) {
    pod_meta["annotations"] = *annotations;
  }
  const Value container =
      Value::Object({{"name", "daemon"}, {"image", "registry.example.com/daemon:1"}});
  return Value::Object({{"apiVersion", "v1"},
                        {"kind", "Pod"},
                        {"metadata", std::move(pod_meta)},
                        {"spec", Value::Object({{"nodeName", node["metadata"]["name"]},
                                                {"containers", Value::Array({container})}})}});
}

Value RunningAt(int i) {
  const std::string address = "10." + std::to_string(200 + i / 62'500) + "." +
                              std::to_string(i / 250 % 250) + "." + std::to_string(i % 250 + 1);
  const Value ready = Value::Object({{"type", "Ready"}, {"status", "True"}});
  const Value status = Value::Object(
      {{"phase", "Running"}, {"podIP", address}, {"conditions", Value::Array({ready})}});
  return Value::Object({{"status", status}});
}

Result<Value> DaemonSetOf(Stage& stage, const Value& domain) {
  const std::string uid = domain["metadata"]["uid"].AsString();
  Value found;
  const auto is_there = [&]() -> Result<bool> {
    const auto sets =
        TRY(stage.List(kube::kDaemonSets, std::string(api::kDomainLabel) + "=" + uid));
    if (!sets.empty()) found = sets.front();
    return !sets.empty();
  };
  TRY(stage.Await("the domain has a DaemonSet", seconds(60), is_there));
  return found;
}

Result<void> Join(Stage& stage, const Value& daemon_set, const std::vector<Value>& nodes) {
  Load load = stage.NewLoad();
  int i = 0;
  for (const Value& node : nodes) {
    const Value pod = DaemonPod(daemon_set, node);
    const kube::ObjectKey key = {.ns = kDriverNamespace,
                                 .name = pod["metadata"]["name"].AsString()};
    load.Add(kube::CreateRequest(kube::kNodes, "", node));
    load.Add(kube::CreateRequest(kube::kPods, kDriverNamespace, pod),
             [&load, key, i](const http::Response& /*reply*/) -> Result<void> {
               load.AddNext(kube::MergePatchRequest(kube::kPods, key, RunningAt(i), "status"));
               return {};
             });
    ++i;
  }
  return load.Run();
}

double Mib(const Value& object) {
  return static_cast<double>(json::Serialize(object).size()) / (1U << 20U);
}

}  // namespace

Rows MeasureStatusSize(Stage& stage, const Sizes& sizes) {
  const std::vector<Value> nodes = Nodes(sizes.huge_nodes, "gb200-rack-node-");
  TRY(stage.PauseClusterControllers());
  const Process::Environment environment = {{"MEMBERSHIP_WRITER", "controller"}};
  auto controller = TRY(stage.StartController(environment));
  const kube::ObjectKey key = {.ns = kNamespace, .name = "huge"};
  const Value domain =
      TRY(stage.Send(kube::CreateRequest(api::kComputeDomains, kNamespace, Domain(key.name))));
  const Value daemon_set = TRY(DaemonSetOf(stage, domain));
  // Away meanwhile, so that it writes all of them at once: of interest is how large that is.
  TRY(stage.Stop(*controller));
  TRY(Join(stage, daemon_set, nodes));
  controller = TRY(stage.StartController(environment));
  const std::string all = std::to_string(nodes.size());
  Value stored;
  const auto all_ready = [&]() -> Result<bool> {
    stored = TRY(stage.Get(api::kComputeDomains, key));
    const Value& members = stored["status"]["members"];
    return members.IsString() && members.AsString() == all + "/" + all;
  };
  TRY(stage.Await("all nodes are ready members", kJoinsMost, all_ready, seconds(1)));
  TRY(stage.Stop(*controller));

  const double whole = Mib(stored);
  Value bare = stored;
  bare["metadata"].Erase("managedFields");
  return std::vector<Row>{
      {.id = "P9",
       .what = "a domain of " + all + " nodes with names of " +
               std::to_string(nodes.front()["metadata"]["name"].AsString().size()) +
               " letters, as it is stored",
       .budget = "< 1.4 MiB",
       .yardstick = "without managedFields: " + Number(Mib(bare)) + " MiB",
       .ours = Number(whole) + " MiB",
       .figure = whole,
       .ratio = whole / Mib(bare),
       .holds = whole < kBudgetMib}};
}

}  // namespace bench
