// P5: a domain whose label is on many nodes is deleted. Nobody plays the nodes and no pods are
// made, so all that takes time is what the controller asks the API server for.
#include <algorithm>

#include "controller/api/names.h"
#include "pkg/kube/client/request.h"
#include "test/bench/objects.h"
#include "test/bench/rows.h"

namespace bench {

namespace {

using base::Result;
using json::Value;
using std::chrono::seconds;

constexpr seconds kMost{600};  // NVIDIA's controller takes 200 s for 1000 nodes.
constexpr double kBudgetSeconds = 5;

Result<void> AddLabels(Stage& stage, const std::vector<Value>& nodes, const std::string& domain) {
  Load load = stage.NewLoad();
  const Value labels = Value::Object({{std::string(api::kDomainLabel), domain}});
  const Value patch = Value::Object({{"metadata", Value::Object({{"labels", labels}})}});
  for (const Value& node : nodes) {
    load.Add(kube::MergePatchRequest(kube::kNodes, {.name = node["metadata"]["name"].AsString()},
                                     patch));
  }
  return load.Run();
}

// Seconds from the first that `counts` was received to the last that was answered.
double Spread(std::span<const AuditEvent> events,
              const std::function<bool(const AuditEvent&)>& counts) {
  WallTime begin = WallTime::max();
  WallTime end = WallTime::min();
  for (const AuditEvent& event : events) {
    if (!counts(event)) continue;
    begin = std::min(begin, event.received);
    end = std::max(end, event.completed);
  }
  return begin < end ? Seconds(end - begin) : 0;
}

}  // namespace

Rows MeasureDeletion(Stage& stage, const Sizes& sizes) {
  const std::vector<Value> nodes = Nodes(sizes.labelled_nodes);
  TRY(stage.PauseClusterControllers());
  Load load = stage.NewLoad();
  for (const Value& node : nodes) load.Add(kube::CreateRequest(kube::kNodes, "", node));
  TRY(load.Run());

  const auto controller = TRY(stage.StartController());
  const kube::ObjectKey key = {.ns = kNamespace, .name = "doomed"};
  const Value domain =
      TRY(stage.Send(kube::CreateRequest(api::kComputeDomains, kNamespace, Domain(key.name))));
  const auto has_status = [&]() -> Result<bool> {
    const Value now = TRY(stage.Get(api::kComputeDomains, key));
    return !now["status"]["status"].IsNull();
  };
  TRY(stage.Await("the domain has a status", seconds(60), has_status));
  TRY(stage.audit().Read());
  const std::size_t labelled = stage.audit().Mark();
  TRY(AddLabels(stage, nodes, domain["metadata"]["uid"].AsString()));
  TRY(stage.AwaitQuiet("the controller has seen the labels", std::chrono::milliseconds(1000),
                       seconds(60), IsOurs));

  const std::size_t deleted = stage.audit().Mark();
  TRY(stage.Send(
      kube::DeleteRequest(api::kComputeDomains, key, "", kube::Propagation::kBackground)));
  TRY(stage.AwaitGone(api::kComputeDomains, key, kMost));
  TRY(stage.audit().Read());
  const auto events = stage.audit().Since(deleted);
  const auto is_delete = [&](const AuditEvent& event) {
    return event.user == kAdminUser && event.verb == "delete" && event.name == key.name;
  };
  const auto counts = [&](const AuditEvent& event) { return IsOurs(event) || is_delete(event); };
  const double ours = Spread(events, counts);
  const double raw =
      Spread(stage.audit().Since(labelled).first(deleted - labelled), [](const AuditEvent& event) {
        return event.user == kAdminUser && event.IsOn("nodes") && event.verb == "patch";
      });
  const auto requests = std::ranges::count_if(events, IsOurs);
  TRY(stage.Stop(*controller));
  return std::vector<Row>{
      {.id = "P5",
       .what = "delete a domain of " + std::to_string(sizes.labelled_nodes) + " labelled nodes",
       .budget = Budget{.text = "<= 5 s", .value = ours, .aim = kBudgetSeconds},
       .yardstick = "labelling them, 16 in flight: " + Number(raw) + " s",
       .ours = Number(ours) + " s, " + std::to_string(requests) + " requests",
       .figure = ours,
       .ratio = ours / std::max(raw, 0.001)}};
}

}  // namespace bench
