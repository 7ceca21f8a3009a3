// P12: how often a large domain is written whose daemons are ready and not ready all the time.
#include <algorithm>

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

constexpr seconds kJoinsMost{300};
constexpr double kBudgetPerSecond = 1;

Value ReadyIs(bool ready) {
  const Value condition = Value::Object({{"type", "Ready"}, {"status", ready ? "True" : "False"}});
  return Value::Object({{"status", Value::Object({{"conditions", Value::Array({condition})}})}});
}

// Each daemon changes its mind in turn, as fast as the server takes it. The number of changes.
Result<int> Flap(Stage& stage, const Value& daemon_set, const std::vector<Value>& nodes,
                 seconds time) {
  const auto end = stage.clock().Now() + time;
  int flaps = 0;
  for (bool ready = false; stage.clock().Now() < end; ready = !ready) {
    Load load = stage.NewLoad();
    for (const Value& node : nodes) {
      load.Add(kube::MergePatchRequest(kube::kPods, DaemonKey(daemon_set, node), ReadyIs(ready),
                                       "status"));
    }
    TRY(load.Run());
    flaps += static_cast<int>(nodes.size());
  }
  return flaps;
}

Result<void> AwaitMembers(Stage& stage, const kube::ObjectKey& key, std::size_t members) {
  const auto has_them = [&]() -> Result<bool> {
    return AreReady(TRY(stage.Get(api::kComputeDomains, key)), members);
  };
  return stage.Await("all nodes are ready members", kJoinsMost, has_them, seconds(1));
}

}  // namespace

Rows MeasureFlapping(Stage& stage, const Sizes& sizes) {
  const std::vector<Value> nodes = Nodes(sizes.flapping_nodes, "flapping-");
  TRY(stage.PauseClusterControllers());
  const auto controller = TRY(stage.StartController({{"MEMBERSHIP_WRITER", "controller"}}));
  const kube::ObjectKey key = {.ns = kNamespace, .name = "flapping"};
  const Value domain =
      TRY(stage.Send(kube::CreateRequest(api::kComputeDomains, kNamespace, Domain(key.name))));
  const Value daemon_set = TRY(AwaitDaemonSet(stage, domain));
  TRY(MakeDaemons(stage, daemon_set, nodes));
  const std::string all = std::to_string(nodes.size());
  TRY(AwaitMembers(stage, key, nodes.size()));
  TRY(stage.AwaitQuiet("the domain is at rest", std::chrono::milliseconds(3000), seconds(60),
                       IsOurs));

  const std::size_t mark = stage.audit().Mark();
  const auto began = stage.clock().Now();
  const int flaps = TRY(Flap(stage, daemon_set, nodes, seconds(sizes.flapping_seconds)));
  const std::chrono::duration<double> lasted = stage.clock().Now() - began;
  TRY(stage.audit().Read());
  const auto events = stage.audit().Since(mark);
  const auto count = [&](const auto& counts) {
    return static_cast<double>(std::ranges::count_if(events, counts));
  };
  const double statuses = count(IsStatusWrite) / lasted.count();
  const double cliques =
      count([](const AuditEvent& event) {
        return IsOurs(event) && event.IsWrite() && event.IsOn("computedomaincliques");
      }) /
      lasted.count();
  TRY(stage.Stop(*controller));

  const double changes = flaps / lasted.count();
  return std::vector<Row>{
      {.id = "P12",
       .what = all + " daemons of one domain flap for " + Number(lasted.count()) +
               " s: writes of its status a second",
       .budget =
           Budget{
               .text = "<= 1", .gate = Gate::kAlways, .value = statuses, .aim = kBudgetPerSecond},
       .yardstick = "one for each loss of readiness: " + Number(changes / 2),
       .ours = Number(statuses) + ", and " + Number(cliques) + " of cliques",
       .figure = statuses,
       .ratio = statuses / std::max(changes / 2, 0.001)}};
}

}  // namespace bench
