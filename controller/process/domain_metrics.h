// Series of each domain, its cliques and its nodes. They are computed from what is watched when
// somebody asks, so they vanish with the domain, and there are no more than there are domains,
// cliques and labelled nodes. Only the replica that leads has them, or sums would count twice.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "controller/api/types.h"
#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"

namespace process {

// A domain and the nodes that carry its label.
struct DomainView {
  std::shared_ptr<const api::ComputeDomain> domain = {};
  std::vector<std::shared_ptr<const api::Node>> nodes = {};
};

// Thread-safe.
class DomainMetrics final : public prometheus::Collectable {
 public:
  using View = std::function<std::vector<DomainView>()>;

  // `view` is called by Sample and Collect, on their threads. `time_to_ready`, in seconds, gets
  // each domain that was created since this replica leads, when it is seen Ready first. Both
  // outlive the metrics, and so does `clock`.
  DomainMetrics(View view, const base::Clock& clock, prometheus::Histogram& time_to_ready);

  // Adds up what only time shows. Call it every few seconds: what happens between two calls counts
  // as if it had been so since the first of them.
  void Sample(bool leads);

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  // What adds up over the life of a domain.
  struct Totals {
    double held_node_seconds = 0;
    double idle_node_seconds = 0;
    bool was_ready = false;
  };
  struct State {
    bool leads = false;
    base::Clock::WallTime leads_since = {};
    base::Clock::TimePoint sampled = {};
    std::map<kube::Uid, Totals> totals = {};
  };

  void ObserveReady(const api::ComputeDomain& domain, base::Clock::WallTime leads_since,
                    Totals& totals);

  const View view_;
  const base::Clock& clock_;
  prometheus::Histogram& time_to_ready_;
  base::Guarded<State> state_;
};

}  // namespace process
