// P6 and P7: what the controller needs in a large cluster: memory at its peak, then requests and
// processor time while nothing happens. Nobody plays the nodes and no pods are made.
#include <algorithm>
#include <cmath>
#include <map>

#include "controller/api/names.h"
#include "pkg/kube/client/request.h"
#include "test/bench/objects.h"
#include "test/bench/rows.h"
#include "test/bench/workload.h"
#include "test/cluster/nodesim/render.h"

namespace bench {

namespace {

using base::Result;
using json::Value;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kSettles{600};
constexpr double kBudgetMib = 32;
// As measured last. Goes away once a cached object needs no node of a tree beside its bytes.
constexpr double kLimitMib = 36;
constexpr double kBudgetMibBesideForeign = 40;
constexpr double kBudgetCpuPercent = 0.5;

constexpr const char* kPrefix = "idle-";  // Of the domains' names.

// Each with the ResourceSlice that its plugin would publish.
Result<void> MakeNodes(Stage& stage, const std::vector<Value>& nodes) {
  Load load = stage.NewLoad();
  for (const Value& node : nodes) {
    load.Add(kube::CreateRequest(kube::kNodes, "", node),
             [&load](const http::Response& reply) -> Result<void> {
               const Value made = TRY(json::Parse(reply.body));
               const Value& meta = made["metadata"];
               load.AddNext(kube::CreateRequest(
                   kube::kResourceSlices, "",
                   nodesim::RenderSlice(meta["name"].AsString(),
                                        {.node = std::string(meta["uid"].AsString())})));
               return {};
             });
  }
  return load.Run();
}

// Each allocated, and reserved for a pod, so that the controller keeps all that it reads of one;
// and the node has the domain's label, which the plugin puts there before the pod runs.
Result<void> MakeClaims(Stage& stage, const std::vector<Value>& nodes, int domains, int claims) {
  const auto templates = TRY(WorkloadTemplates(stage));
  Load load = stage.NewLoad();
  for (int i = 0; i < claims; ++i) {
    const std::string domain = kPrefix + std::to_string(i % domains);
    const auto found = templates.find(TemplateName(domain));
    if (found == templates.end()) {
      return base::Fail(base::ErrorCode::kNotFound, domain + " has no claim template");
    }
    const std::string name = domain + "-claim-" + std::to_string(i / domains);
    const std::string& node =
        nodes[static_cast<std::size_t>(i) % nodes.size()]["metadata"]["name"].AsString();
    if (static_cast<std::size_t>(i) < nodes.size()) {
      const Value& uid = found->second["metadata"]["labels"][api::kDomainLabel];
      const Value labels = Value::Object({{std::string(api::kDomainLabel), uid}});
      load.Add(kube::MergePatchRequest(
          kube::kNodes, {.name = node},
          Value::Object({{"metadata", Value::Object({{"labels", labels}})}})));
    }
    load.Add(kube::CreateRequest(kube::kResourceClaims, kNamespace, Claim(name, found->second)),
             [&load, name, node](const http::Response& reply) -> Result<void> {
               const Value claim = TRY(json::Parse(reply.body));
               load.AddNext(kube::MergePatchRequest(
                   kube::kResourceClaims, {.ns = kNamespace, .name = name},
                   Value::Object({{"status", ClaimStatus(claim, node)}}), "status"));
               return {};
             });
  }
  return load.Run();
}

Result<void> MakeForeignClaims(Stage& stage, int count) {
  Load load = stage.NewLoad();
  for (int i = 0; i < count; ++i) {
    load.Add(kube::CreateRequest(kube::kResourceClaims, kNamespace,
                                 ForeignClaim("foreign-" + std::to_string(i))));
  }
  return load.Run();
}

struct Peak {
  double as_they_came = 0;  // MiB
  double at_start = 0;

  double most() const { return std::max(as_they_came, at_start); }
  std::string Text() const {
    return Number(most()) + " MiB (" + Number(as_they_came) + " as they came, " + Number(at_start) +
           " when restarted)";
  }
};

double Mib(std::int64_t kib) { return static_cast<double>(kib) / 1024; }

// Twice: as the objects came, and as a process that finds them all there, which then goes on.
Result<Peak> MeasurePeak(Stage& stage, std::unique_ptr<Process>& controller) {
  Peak peak;
  TRY(stage.AwaitQuiet("the controller has seen the claims", milliseconds(3000), kSettles, IsOurs));
  peak.as_they_came = Mib(TRY(PeakResidentKib(controller->pid())));
  TRY(stage.Stop(*controller));
  controller = TRY(stage.StartController());
  TRY(stage.AwaitQuiet("the controller is at rest", milliseconds(3000), kSettles, IsOurs));
  peak.at_start = Mib(TRY(PeakResidentKib(controller->pid())));
  return peak;
}

struct Rest {
  std::int64_t requests = 0;
  double cpu_percent = 0;  // Of one core.
};

Result<Rest> MeasureRest(Stage& stage, const Process& controller, int for_seconds) {
  TRY(stage.audit().Read());
  const std::size_t mark = stage.audit().Mark();
  const milliseconds before = TRY(CpuTime(controller.pid()));
  const auto began = stage.clock().Now();
  stage.Pause(seconds(for_seconds));
  const milliseconds used = TRY(CpuTime(controller.pid())) - before;
  const std::chrono::duration<double> passed = stage.clock().Now() - began;
  TRY(stage.audit().Read());
  const auto counts = [](const AuditEvent& event) {
    return IsOurs(event) && event.verb != "watch";
  };
  return Rest{.requests = std::ranges::count_if(stage.audit().Since(mark), counts),
              .cpu_percent = 100 * Seconds(used) / passed.count()};
}

std::string Cluster(const Sizes& sizes) {
  return std::to_string(sizes.idle_nodes) + " nodes, " + std::to_string(sizes.idle_domains) +
         " domains, " + std::to_string(sizes.idle_claims) + " claims";
}

// What the API server would send for all of them, in MiB.
double SizeOf(const std::vector<Value>& nodes) {
  std::size_t bytes = 0;
  for (const Value& node : nodes) bytes += json::Serialize(node).size();
  return static_cast<double>(bytes) / (1U << 20U);
}

}  // namespace

Rows MeasureIdleAndMemory(Stage& stage, const Sizes& sizes) {
  const std::vector<Value> nodes = Nodes(sizes.idle_nodes);
  TRY(stage.PauseClusterControllers());
  TRY(MakeNodes(stage, nodes));
  auto controller = TRY(stage.StartController());
  TRY(MakeDomains(stage, kPrefix, sizes.idle_domains));
  TRY(MakeClaims(stage, nodes, sizes.idle_domains, sizes.idle_claims));
  const Peak peak = TRY(MeasurePeak(stage, controller));
  const Rest rest = TRY(MeasureRest(stage, *controller, sizes.idle_seconds));
  TRY(MakeForeignClaims(stage, sizes.foreign_claims));
  const Peak beside = TRY(MeasurePeak(stage, controller));
  TRY(stage.Stop(*controller));

  const std::string in_seconds = std::to_string(sizes.idle_seconds) + " s of rest, ";
  return std::vector<Row>{
      {.id = "P6",
       .what = in_seconds + Cluster(sizes) + ": requests but watches and Lease",
       .budget = Budget{.text = "0",
                        .gate = Gate::kAlways,
                        .value = static_cast<double>(rest.requests),
                        .aim = 0,
                        .at_any_size = true},
       .ours = std::to_string(rest.requests),
       .figure = static_cast<double>(rest.requests),
       .recorded = std::to_string(rest.requests) + ", of " + std::to_string(sizes.idle_domains) +
                   " domains"},
      {.id = "P6",
       .what = in_seconds + Cluster(sizes) + ": processor time",
       .budget =
           Budget{
               .text = "<= 0.5 % of a core", .value = rest.cpu_percent, .aim = kBudgetCpuPercent},
       .ours = Number(rest.cpu_percent) + " %",
       .figure = rest.cpu_percent},
      {.id = "P7",
       .what = "memory at the peak, " + Cluster(sizes),
       .budget = Budget{.text = "<= 32 MiB",
                        .gate = Gate::kAlways,
                        .value = peak.most(),
                        .aim = kBudgetMib,
                        .limit = kLimitMib},
       .yardstick = "the nodes alone, as JSON: " + Number(SizeOf(nodes)) + " MiB",
       .ours = peak.Text(),
       .figure = peak.most(),
       .ratio = peak.most() / SizeOf(nodes),
       .recorded = std::to_string(std::lround(peak.most())) + " MiB"},
      {.id = "P7",
       .what = "memory at the peak, with " + std::to_string(sizes.foreign_claims) +
               " claims of another driver beside them",
       .budget = Budget{.text = "<= 40 MiB",
                        .gate = Gate::kAlways,
                        .value = beside.most(),
                        .aim = kBudgetMibBesideForeign},
       .yardstick = "without those: " + Number(peak.most()) + " MiB",
       .ours = beside.Text(),
       .figure = beside.most(),
       .ratio = beside.most() / peak.most()}};
}

}  // namespace bench
