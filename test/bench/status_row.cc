// P9: how large a huge domain is where it is stored. The nodes and the daemons' pods are there as
// objects alone; the controller gives them their places and writes the status itself.
#include "controller/api/names.h"
#include "pkg/kube/client/request.h"
#include "test/bench/daemons.h"
#include "test/bench/objects.h"
#include "test/bench/rows.h"

namespace bench {

namespace {

using base::Result;
using json::Value;
using std::chrono::seconds;

constexpr seconds kJoinsMost{600};
constexpr double kBudgetMib = 1.4;  // etcd takes 1.5 MiB.

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
  const Value daemon_set = TRY(AwaitDaemonSet(stage, domain));
  // Away meanwhile, so that it writes all of them at once: of interest is how large that is.
  TRY(stage.Stop(*controller));
  TRY(MakeDaemons(stage, daemon_set, nodes));
  controller = TRY(stage.StartController(environment));
  const std::string all = std::to_string(nodes.size());
  Value stored;
  const auto all_ready = [&]() -> Result<bool> {
    stored = TRY(stage.Get(api::kComputeDomains, key));
    return AreReady(stored, nodes.size());
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
       .budget =
           Budget{.text = "<= 1.4 MiB", .gate = Gate::kAlways, .value = whole, .aim = kBudgetMib},
       .yardstick = "without managedFields: " + Number(Mib(bare)) + " MiB",
       .ours = Number(whole) + " MiB",
       .figure = whole,
       .ratio = whole / Mib(bare)}};
}

}  // namespace bench
