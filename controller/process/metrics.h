// What the controller counts, in Prometheus' terms. Thread-safe.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <memory>

#include "controller/compute_domain/controller.h"
#include "pkg/kube/runtime/blocking_queue.h"

namespace process {

class Metrics {
 public:
  // Both outlive the metrics.
  Metrics(const compute_domain::Controller& controller, const kube::BlockingQueue& queue);

  [[nodiscard]] std::shared_ptr<prometheus::Registry> registry() const { return registry_; }

  void Reconciled(bool success, std::chrono::nanoseconds took);
  // Brings the gauges up to date; call it now and then.
  void Refresh(bool leads);

 private:
  const compute_domain::Controller& controller_;
  const kube::BlockingQueue& queue_;
  const std::shared_ptr<prometheus::Registry> registry_;
  prometheus::Gauge& ready_domains_;
  prometheus::Gauge& not_ready_domains_;
  prometheus::Gauge& queue_depth_;
  prometheus::Gauge& leads_;
  prometheus::Counter& reconciled_;
  prometheus::Counter& failed_;
  prometheus::Histogram& seconds_;
};

}  // namespace process
