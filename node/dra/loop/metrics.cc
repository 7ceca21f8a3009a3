#include "node/dra/loop/metrics.h"

#include "pkg/base/version.h"

namespace dra {

namespace {

using prometheus::Registry;

// The buckets of NVIDIA's plugin: 0.05 s, doubled eight times.
const prometheus::Histogram::BucketBoundaries& Buckets() {
  static const prometheus::Histogram::BucketBoundaries buckets = {0.05, 0.1, 0.2, 0.4, 0.8,
                                                                  1.6,  3.2, 6.4, 12.8};
  return buckets;
}

std::map<std::string, prometheus::Gauge*> PreparedDevices(Registry& registry,
                                                          const Metrics::Of& of) {
  auto& family = prometheus::BuildGauge()
                     .Name("nvidia_dra_prepared_devices")
                     .Help("Prepared devices by type")
                     .Register(registry);
  std::map<std::string, prometheus::Gauge*> by_type;
  for (const std::string& type : of.device_types) {
    by_type[type] = &family.Add({{"node", of.node}, {"driver", of.driver}, {"device_type", type}});
  }
  return by_type;
}

}  // namespace

Metrics::Metrics(const Of& of)
    : registry_(std::make_shared<Registry>()),
      driver_(of.driver),
      prepared_devices_(PreparedDevices(*registry_, of)),
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
  for (const auto& labels : of.ignored_gates) ignored.Add(labels).Set(1);
}

Metrics::OfOperation Metrics::MakeOf(const std::string& name, const char* errors,
                                     const char* help) {
  const prometheus::Labels labels = {{"driver", driver_}, {"operation", name}};
  return {.done = prometheus::BuildCounter()
                      .Name("nvidia_dra_requests_total")
                      .Help("Claims that were prepared and unprepared")
                      .Register(*registry_)
                      .Add(labels),
          .errors = prometheus::BuildCounter()
                        .Name(errors)
                        .Help(help)
                        .Register(*registry_)
                        .Add({{"driver", driver_}, {"error_type", name + "_devices"}}),
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

void Metrics::Began(Operation operation) { For(operation).inflight.Increment(); }

void Metrics::Ended(Operation operation, bool done, std::chrono::nanoseconds took) {
  const OfOperation& of = For(operation);
  of.inflight.Decrement();
  (done ? of.done : of.errors).Increment();
  of.seconds.Observe(std::chrono::duration<double>(took).count());
}

void Metrics::CountPrepared(const std::map<std::string, int>& devices) {
  for (const auto& [type, gauge] : prepared_devices_) {
    const auto found = devices.find(type);
    gauge->Set(found == devices.end() ? 0 : found->second);
  }
}

}  // namespace dra
