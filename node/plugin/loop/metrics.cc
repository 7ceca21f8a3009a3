#include "node/plugin/loop/metrics.h"

#include <map>

#include "controller/api/names.h"
#include "pkg/base/version.h"

namespace plugin {

namespace {

using prometheus::Registry;

// The buckets of NVIDIA's plugin: 0.05 s, doubled eight times.
const prometheus::Histogram::BucketBoundaries& Buckets() {
  static const prometheus::Histogram::BucketBoundaries buckets = {0.05, 0.1, 0.2, 0.4, 0.8,
                                                                  1.6,  3.2, 6.4, 12.8};
  return buckets;
}

std::string Driver() { return std::string(api::kDriver); }

prometheus::Gauge& Prepared(Registry& registry, const std::string& node, DeviceType type) {
  return prometheus::BuildGauge()
      .Name("nvidia_dra_prepared_devices")
      .Help("Prepared devices by type")
      .Register(registry)
      .Add({{"node", node}, {"driver", Driver()}, {"device_type", std::string(NameOf(type))}});
}

}  // namespace

Metrics::Metrics(const std::string& node, const api::IgnoredGates& ignored_gates)
    : registry_(std::make_shared<Registry>()),
      channels_(Prepared(*registry_, node, DeviceType::kChannel)),
      daemons_(Prepared(*registry_, node, DeviceType::kDaemon)),
      prepare_(MakeOf("prepare", "nvidia_dra_node_prepare_errors_total",
                      "Claims that were answered with an error. A pod that waits for its domain "
                      "counts every 40 s")),
      unprepare_(MakeOf("unprepare", "nvidia_dra_node_unprepare_errors_total",
                        "Claims whose unprepare was answered with an error")) {
  prometheus::BuildGauge()
      .Name("cdom_build_info")
      .Help("1, with the version and the commit")
      .Register(*registry_)
      .Add({{"version", std::string(base::Version())}, {"revision", std::string(base::Revision())}})
      .Set(1);
  auto& ignored = prometheus::BuildGauge()
                      .Name("cdom_feature_gates_ignored")
                      .Help(
                          "1 for each feature gate that has no effect, because it is unknown, or "
                          "because cdom does not support this value")
                      .Register(*registry_);
  for (const auto& labels : api::LabelsOf(ignored_gates)) ignored.Add(labels).Set(1);
}

Metrics::OfOperation Metrics::MakeOf(const std::string& name, const char* errors,
                                     const char* help) {
  const prometheus::Labels labels = {{"driver", Driver()}, {"operation", name}};
  return {.done = prometheus::BuildCounter()
                      .Name("nvidia_dra_requests_total")
                      .Help("Claims that were prepared and unprepared")
                      .Register(*registry_)
                      .Add(labels),
          .errors = prometheus::BuildCounter()
                        .Name(errors)
                        .Help(help)
                        .Register(*registry_)
                        .Add({{"driver", Driver()}, {"error_type", name + "_devices"}}),
          .inflight = prometheus::BuildGauge()
                          .Name("nvidia_dra_requests_inflight")
                          .Help("Claims for which the kubelet waits now")
                          .Register(*registry_)
                          .Add(labels),
          .seconds = prometheus::BuildHistogram()
                         .Name("nvidia_dra_request_duration_seconds")
                         .Help("Time for which the kubelet waited for each claim, also for errors")
                         .Register(*registry_)
                         .Add(labels, Buckets())};
}

void Metrics::Began(Operation operation) { Of(operation).inflight.Increment(); }

void Metrics::Ended(Operation operation, bool done, std::chrono::nanoseconds took) {
  const OfOperation& of = Of(operation);
  of.inflight.Decrement();
  (done ? of.done : of.errors).Increment();
  of.seconds.Observe(std::chrono::duration<double>(took).count());
}

void Metrics::CountPrepared(const Checkpoint& checkpoint) {
  std::map<DeviceType, int> count;
  for (const auto& [uid, claim] : checkpoint.claims) {
    if (claim.state != ClaimState::kCompleted) continue;
    for (const PreparedGroup& group : claim.groups) {
      count[group.type] += static_cast<int>(group.devices.size());
    }
  }
  channels_.Set(count[DeviceType::kChannel]);
  daemons_.Set(count[DeviceType::kDaemon]);
}

}  // namespace plugin
