#include "controller/process/metrics.h"

namespace process {

namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Registry;

prometheus::Family<prometheus::Gauge>& DomainInfo(Registry& registry) {
  return BuildGauge()
      .Name("nvidia_dra_compute_domain_info")
      .Help("ComputeDomains by their status")
      .Register(registry);
}

prometheus::Family<prometheus::Counter>& ReconcileTotal(Registry& registry) {
  return BuildCounter()
      .Name("controller_runtime_reconcile_total")
      .Help("Reconciles of a domain by result")
      .Register(registry);
}

}  // namespace

Metrics::Metrics(const compute_domain::Controller& controller, const kube::BlockingQueue& queue)
    : controller_(controller),
      queue_(queue),
      registry_(std::make_shared<Registry>()),
      ready_domains_(DomainInfo(*registry_).Add({{"status", "Ready"}})),
      not_ready_domains_(DomainInfo(*registry_).Add({{"status", "NotReady"}})),
      queue_depth_(BuildGauge()
                       .Name("workqueue_depth")
                       .Help("Domains that wait for a worker")
                       .Register(*registry_)
                       .Add({{"name", "compute-domain"}})),
      leads_(BuildGauge()
                 .Name("leader_election_master_status")
                 .Help("1 while this replica leads")
                 .Register(*registry_)
                 .Add({{"name", "compute-domain-controller"}})),
      reconciled_(ReconcileTotal(*registry_)
                      .Add({{"controller", "compute-domain"}, {"result", "success"}})),
      failed_(
          ReconcileTotal(*registry_).Add({{"controller", "compute-domain"}, {"result", "error"}})),
      seconds_(BuildHistogram()
                   .Name("controller_runtime_reconcile_time_seconds")
                   .Help("How long a reconcile took")
                   .Register(*registry_)
                   .Add({{"controller", "compute-domain"}},
                        prometheus::Histogram::BucketBoundaries{0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                                0.5, 1, 2.5, 5, 10, 30, 60})) {}

void Metrics::Reconciled(bool success, std::chrono::nanoseconds took) {
  (success ? reconciled_ : failed_).Increment();
  seconds_.Observe(std::chrono::duration<double>(took).count());
}

void Metrics::Refresh(bool leads) {
  leads_.Set(leads ? 1 : 0);
  queue_depth_.Set(static_cast<double>(queue_.depth()));
  int ready = 0;
  int not_ready = 0;
  for (const auto& domain : controller_.cache().Domains()) {
    ++(domain->status.status == "Ready" ? ready : not_ready);
  }
  ready_domains_.Set(ready);
  not_ready_domains_.Set(not_ready);
}

}  // namespace process
