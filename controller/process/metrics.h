// Prometheus metrics of the controller. Thread-safe.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "controller/api/feature_gates.h"
#include "controller/compute_domain/controller.h"
#include "controller/process/domain_metrics.h"
#include "controller/process/domain_totals.h"
#include "pkg/base/clock.h"
#include "pkg/http/transport.h"
#include "pkg/kube/runtime/blocking_queue.h"
#include "pkg/kube/runtime/event_loop.h"
#include "pkg/kube/runtime/metrics_page.h"

namespace process {

// Sources that are read at each scrape. They must outlive the metrics.
struct MetricSources {
  const compute_domain::Cache& cache;
  const kube::BlockingQueue& queue;
  const kube::EventLoop& events;
  const base::Clock& clock;
  std::vector<std::string> leaving_taints = {};  // Taint keys in the form of api::kLeavingTaints.
  DomainMetrics::CountCapacity capacity = {};
  DomainMetrics::ReadStatus memory_shared = {};
  api::IgnoredGates ignored_gates = {};
};

class Metrics {
 public:
  // `host` is the API server's "host:port".
  Metrics(const MetricSources& sources, std::string host, int workers);

  // Returns the metrics to serve, in this order. Only kAllowed gets names of domains, namespaces,
  // cliques and nodes.
  kube::Collectables For(Readers readers) const {
    return {registry_, sources_, std::make_shared<DomainTotals>(domains_, readers)};
  }

  // A worker took a key after it had waited this long; a worker finished a key.
  void Began(std::chrono::nanoseconds waited);
  void Reconciled(const compute_domain::Outcome& outcome, std::chrono::nanoseconds took);
  // A claim's pod got a node. `claim` is its state before.
  void Waited(const api::ResourceClaim& claim) { domains_->Waited(claim); }
  // A domain that may be forming has made progress.
  void Progressed(const kube::Uid& domain_uid, compute_domain::Cache::Progress progress) {
    domains_->Progressed(domain_uid, progress);
  }
  // A request to the API server has ended.
  void Exchanged(const http::ExchangeReport& report);
  // Call it on the watch thread after each turn.
  void Watched(const std::deque<kube::Reflector>& reflectors);
  // Call it on the main thread after each turn.
  void Refresh(bool leads);
  void SetCanServe(bool can_serve) { can_serve_.Set(can_serve ? 1 : 0); }

 private:
  // Counters of one reflector.
  struct Watches {
    prometheus::Counter& lists;
    prometheus::Counter& watches;
    prometheus::Counter& versions_gone_back;
    prometheus::Gauge& failing;
  };

  const base::Clock& clock_;
  const std::string host_;
  const std::shared_ptr<prometheus::Registry> registry_;
  const std::shared_ptr<const prometheus::Collectable> sources_;
  prometheus::Histogram& time_to_ready_;
  prometheus::Histogram& wait_;
  const std::shared_ptr<DomainMetrics> domains_;
  prometheus::Gauge& leads_;
  prometheus::Gauge& can_serve_;
  prometheus::Counter& reconciled_;
  prometheus::Counter& requeued_;
  prometheus::Counter& failed_;
  prometheus::Counter& errors_;
  prometheus::Histogram& reconcile_seconds_;
  prometheus::Histogram& queue_seconds_;
  prometheus::Histogram& work_seconds_;
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Histogram>& request_seconds_;
  std::vector<Watches> watches_;             // Used by the watch thread.
  base::Clock::TimePoint next_sample_ = {};  // Used by the main thread, like `led_`.
  bool led_ = false;                         // Whether this replica led at the last turn.
};

}  // namespace process
