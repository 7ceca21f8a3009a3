// P13: how often the controller asks why pods wait. Each of many domains has a pod that waits for a
// node, and nobody schedules it.
#include <algorithm>

#include "pkg/kube/client/request.h"
#include "test/bench/objects.h"
#include "test/bench/rows.h"
#include "test/bench/workload.h"

namespace bench {

namespace {

using base::Result;
using json::Value;
using std::chrono::seconds;

constexpr double kBudgetPerDomainAndHour = 13;  // One in five minutes, and a little.

// As a scheduler leaves it that found nothing.
Result<void> MakeWaitingPods(Stage& stage) {
  const Value condition = Value::Object({{"type", "PodScheduled"},
                                         {"status", "False"},
                                         {"reason", "Unschedulable"},
                                         {"message", "0/1 nodes are available: 1 node is full."}});
  const Value status =
      Value::Object({{"status", Value::Object({{"conditions", Value::Array({condition})}})}});
  Load load = stage.NewLoad();
  for (const auto& [name, found] : TRY(WorkloadTemplates(stage))) {
    const Value claim = Claim(name, found);
    const std::string& pod_name =
        claim["metadata"]["ownerReferences"].items().at(0)["name"].AsString();
    const Value container =
        Value::Object({{"name", "worker"}, {"image", "registry.example.com/worker:1"}});
    const Value pod =
        Value::Object({{"apiVersion", "v1"},
                       {"kind", "Pod"},
                       {"metadata", Value::Object({{"name", pod_name}, {"namespace", kNamespace}})},
                       {"spec", Value::Object({{"schedulerName", "nobody"},
                                               {"containers", Value::Array({container})}})}});
    load.Add(kube::CreateRequest(kube::kPods, kNamespace, pod),
             [&load, claim, pod_name, status](const http::Response&) -> Result<void> {
               load.AddNext(kube::MergePatchRequest(
                   kube::kPods, {.ns = kNamespace, .name = pod_name}, status, "status"));
               load.AddNext(kube::CreateRequest(kube::kResourceClaims, kNamespace, claim));
               return {};
             });
  }
  return load.Run();
}

}  // namespace

Rows MeasureWaiting(Stage& stage, const Sizes& sizes) {
  TRY(stage.PauseClusterControllers());
  const auto controller = TRY(stage.StartController());
  TRY(MakeDomains(stage, "waits-", sizes.waiting_domains));
  const std::size_t began = stage.audit().Mark();
  TRY(MakeWaitingPods(stage));
  // The later half is what goes on: at first it asks more often.
  const seconds half(std::max(1, sizes.waiting_seconds / 2));
  stage.Pause(half);
  TRY(stage.audit().Read());
  const std::size_t middle = stage.audit().Mark();
  stage.Pause(half);
  TRY(stage.audit().Read());
  const auto counts = [](const AuditEvent& event) {
    return IsOurs(event) && event.verb != "watch";
  };
  const auto all = std::ranges::count_if(stage.audit().Since(began), counts);
  const auto later = std::ranges::count_if(stage.audit().Since(middle), counts);
  TRY(stage.Stop(*controller));

  const double per_hour = static_cast<double>(later) * 3600 / static_cast<double>(half.count());
  const double of_each = per_hour / sizes.waiting_domains;
  const std::string domains = std::to_string(sizes.waiting_domains);
  return std::vector<Row>{{.id = "P13",
                           .what = domains + " domains with a pod that waits: requests an hour",
                           .budget = Budget{.text = "<= 13 for each",
                                            .gate = Gate::kAlways,
                                            .value = of_each,
                                            .aim = kBudgetPerDomainAndHour},
                           .yardstick = "in the first " + std::to_string(2 * half.count()) +
                                        " s: " + std::to_string(all) + " in all",
                           .ours = Number(per_hour) + ", " + Number(of_each) + " for each",
                           .figure = per_hour,
                           .ratio = of_each / kBudgetPerDomainAndHour}};
}

}  // namespace bench
