// P15: what placement costs the API server, which asks its policies about each pod, for each domain
// of the pod's namespace, except those that may be in any clique. The pods are made without a
// trace, and nobody schedules them.
#include <algorithm>
#include <cstdlib>

#include "controller/api/names.h"
#include "pkg/base/file.h"
#include "pkg/kube/client/request.h"
#include "pkg/yaml/document.h"
#include "test/bench/objects.h"
#include "test/bench/rows.h"
#include "test/bench/workload.h"

namespace bench {

namespace {

using base::Result;
using json::Value;
using std::chrono::seconds;

constexpr const char* kPrefix = "placed-";
constexpr const char* kElsewhere = "elsewhere";
constexpr const char* kRequires = "cdom.dev/domain";  // Labels of pods.
constexpr const char* kPrefers = "cdom.dev/near-domain";
constexpr int kFew = 100;
constexpr double kBudgetMs = 50;  // More, with as many.

const kube::Resource kPolicies = {"admissionregistration.k8s.io", "v1", "mutatingadmissionpolicies",
                                  "MutatingAdmissionPolicy", false};
const kube::Resource kBindings = {"admissionregistration.k8s.io", "v1",
                                  "mutatingadmissionpolicybindings",
                                  "MutatingAdmissionPolicyBinding", false};

Result<Value> FromYaml(const std::string& path) {
  const std::string text = TRY(base::ReadFile(path, 1U << 20));
  const YAML::Node document = TRY(yaml::ParseOnly(text, path));
  return yaml::ToJson(document);
}

Result<void> RemovePolicies(Stage& stage) {
  for (const char* name : {"cdom-placement", "cdom-placement-preferred"}) {
    for (const auto* resource : {&kBindings, &kPolicies}) {
      TRY(stage.Send(
          kube::DeleteRequest(*resource, {.name = name}, "", kube::Propagation::kBackground)));
    }
  }
  return {};
}

Result<void> ApplyPolicies(Stage& stage) {
  for (const char* part : {"", "/preferred"}) {
    const std::string folder = stage.options().placement + part;
    const Value policy = TRY(FromYaml(folder + "/policy.yaml"));
    const Value binding = TRY(FromYaml(folder + "/binding.yaml"));
    TRY(stage.Send(kube::CreateRequest(kPolicies, "", policy)));
    TRY(stage.Send(kube::CreateRequest(kBindings, "", binding)));
  }
  return {};
}

// Claims from what `domain` makes.
http::Request PodRequest(const std::string& ns, const std::string& domain) {
  const Value claim =
      Value::Object({{"name", "channel"}, {"resourceClaimTemplateName", TemplateName(domain)}});
  const Value container =
      Value::Object({{"name", "worker"}, {"image", "registry.example.com/worker:1"}});
  const Value pod =
      Value::Object({{"apiVersion", "v1"},
                     {"kind", "Pod"},
                     {"metadata", Value::Object({{"name", "asked"}, {"namespace", ns}})},
                     {"spec", Value::Object({{"resourceClaims", Value::Array({claim})},
                                             {"containers", Value::Array({container})}})}});
  http::Request request = kube::CreateRequest(kube::kPods, ns, pod);
  request.path += "?dryRun=All";
  return request;
}

std::string Name(int domain) { return kPrefix + std::to_string(domain); }

// Returns whether a pod of the domain gets that label now.
Result<bool> Gives(Stage& stage, int domain, const char* label) {
  const Value pod = TRY(stage.Send(PodRequest(kNamespace, Name(domain))));
  return !pod["metadata"]["labels"][label].IsNull();
}

// Of one pod, in milliseconds, one after the other.
Result<double> Median(Stage& stage, const std::string& ns, int pods,
                      const std::string& domain = Name(0)) {
  std::vector<double> times;
  for (int i = 0; i < pods; ++i) {
    const auto began = stage.clock().Now();
    TRY(stage.Send(PodRequest(ns, domain)));
    times.push_back(std::chrono::duration<double, std::milli>(stage.clock().Now() - began).count());
  }
  return Percentile(std::move(times), 0.5);
}

// Gives the domains of the range that placement, or none if it is null.
Result<void> Place(Stage& stage, int from, int to, const Value& placement) {
  const Value labels = Value::Object({{std::string(api::kPlacementLabel), placement}});
  const Value patch = Value::Object({{"metadata", Value::Object({{"labels", labels}})}});
  Load load = stage.NewLoad();
  for (int i = from; i < to; ++i) {
    load.Add(
        kube::MergePatchRequest(api::kComputeDomains, {.ns = kNamespace, .name = Name(i)}, patch));
  }
  return load.Run();
}

// Lets the domains of the range say nothing of placement. Returns once the policy knows the last.
Result<void> LetPrefer(Stage& stage, int from, int to) {
  TRY(Place(stage, from, to, Value()));
  return stage.Await("pods of the last domain prefer a clique", seconds(60),
                     [&] { return Gives(stage, to - 1, kPrefers); });
}

struct Memory {
  double live = 0;      // MiB, once all garbage is collected.
  double resident = 0;  // As the kernel has it, garbage and all.
};

Result<Memory> MemoryOfApiServer(Stage& stage) {
  constexpr std::string_view kSample = "\ngo_memstats_heap_alloc_bytes ";
  const auto connection = stage.NewConnection();
  const auto get = [&](const char* path) {
    return kube::CheckStatus(connection->Send({.path = path, .accept = "*/*"}), http::Method::kGet);
  };
  TRY(get("/debug/pprof/heap?gc=1"));
  const http::Response metrics = TRY(get("/metrics"));
  const std::string& text = metrics.body.text();
  const std::size_t at = text.find(kSample);
  if (at == std::string::npos) {
    return base::Fail(base::ErrorCode::kNotFound, "the API server tells nothing of its heap");
  }
  const double bytes = std::strtod(text.c_str() + at + kSample.size(), nullptr);
  const pid_t pid = TRY(stage.PidOf("kube-apiserver"));
  const std::int64_t kib = TRY(ResidentKib(pid));
  return Memory{.live = bytes / (1U << 20U), .resident = static_cast<double>(kib) / 1024};
}

Row LatencyRow(const std::string& what, double without, double with) {
  return {.id = "P15",
          .what = what,
          .yardstick = "without the policy: " + Number(without) + " ms",
          .ours = Number(with) + " ms",
          .figure = with,
          .ratio = with / without};
}

}  // namespace

Rows MeasurePlacement(Stage& stage, const Sizes& sizes) {
  const int all = sizes.placed_domains;
  const int few = std::min(kFew, all);
  const int half = std::max(few, all / 2);
  const auto controller = TRY(stage.StartController());
  TRY(MakeDomains(stage, kPrefix, all));
  TRY(stage.Stop(*controller));
  const Value meta = Value::Object({{"name", kElsewhere}});
  TRY(stage.Send(kube::CreateRequest(kube::kNamespaces, "", Value::Object({{"metadata", meta}}))));
  TRY(stage.Await("a pod can be made elsewhere", seconds(60), [&]() -> Result<bool> {
    return stage.Send(PodRequest(kElsewhere, Name(0))).has_value();  // Not without its account.
  }));

  const int pods = sizes.placed_pods;
  TRY(Median(stage, kNamespace, pods));  // The first ones take longer.
  const double without = TRY(Median(stage, kNamespace, pods));
  const double without_elsewhere = TRY(Median(stage, kElsewhere, pods));
  TRY(Place(stage, 0, all, Value(std::string(api::kPlacementAny))));
  TRY(ApplyPolicies(stage));
  TRY(LetPrefer(stage, 0, few));
  const double with_few = TRY(Median(stage, kNamespace, pods));
  TRY(LetPrefer(stage, few, half));
  const double with_half = TRY(Median(stage, kNamespace, pods));
  TRY(LetPrefer(stage, half, all));
  const double with_all = TRY(Median(stage, kNamespace, pods));
  const double of_none = TRY(Median(stage, kNamespace, pods, "none"));
  const double elsewhere = TRY(Median(stage, kElsewhere, pods));
  TRY(Place(stage, 0, all, Value(std::string(api::kPlacementClique))));
  TRY(stage.Await("pods of the last domain are placed", seconds(60),
                  [&] { return Gives(stage, all - 1, kRequires); }));
  const double with_required = TRY(Median(stage, kNamespace, pods));
  const Memory with_policies = TRY(MemoryOfApiServer(stage));
  // Not before: then it had just been busy with making domains.
  TRY(RemovePolicies(stage));
  const auto unplaced = [&]() -> Result<bool> {
    const bool placed = TRY(Gives(stage, 0, kRequires));
    return !placed;
  };
  TRY(stage.Await("pods are not placed any more", seconds(60), unplaced));
  const Memory without_policy = TRY(MemoryOfApiServer(stage));

  const std::string domains = std::to_string(all) + " domains";
  Row row = LatencyRow("a pod is made where " + std::to_string(few) +
                           " domains say nothing of placement, its own among them (median)",
                       without, with_few);
  row.budget = Budget{.text = "<= " + Number(kBudgetMs) + " ms more",
                      .gate = Gate::kStrict,
                      .value = with_few - without,
                      .aim = kBudgetMs};
  const double more = std::max(with_policies.live - without_policy.live, 0.0);
  return std::vector<Row>{
      std::move(row),
      LatencyRow("where " + std::to_string(half) + " domains do", without, with_half),
      LatencyRow("where " + domains + " do", without, with_all),
      LatencyRow("there, too, but claims from none of them", without, of_none),
      LatencyRow("where " + domains + " require a clique", without, with_required),
      LatencyRow("in a namespace that has none", without_elsewhere, elsewhere),
      Row{.id = "P15",
          .what = "memory of kube-apiserver with " + domains + ", after garbage collection",
          .yardstick = "without the policy: " + Number(without_policy.live) + " MiB",
          .ours = Number(more) + " MiB more, resident " + Number(with_policies.resident) +
                  " MiB in all",
          .figure = more,
          .ratio = with_policies.live / without_policy.live}};
}

}  // namespace bench
