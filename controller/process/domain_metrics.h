// Series of each domain, its cliques and its nodes. They are computed from what is watched when
// somebody asks, so they vanish with the domain, and there are no more than there are domains,
// cliques and labelled nodes. Only the replica that leads has them, or sums would count twice. What
// is free in each clique costs a pass over all nodes: a scrape makes one, every five seconds at the
// most. A sample looks at domains alone, because an idle process makes them, too.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "controller/api/types.h"
#include "controller/compute_domain/model/observed.h"
#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"

namespace process {

// As Prometheus counts time.
[[nodiscard]] inline double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// A domain, the nodes that carry its label, its daemons, and claims for a channel of it that no
// node was found for.
struct DomainView {
  std::shared_ptr<const api::ComputeDomain> domain = {};
  std::vector<std::shared_ptr<const api::Node>> nodes = {};
  std::vector<std::shared_ptr<const api::DaemonPod>> daemons = {};
  std::vector<std::shared_ptr<const api::ResourceClaim>> waiting = {};
};

// A domain, and how many nodes carry its label.
struct HeldNodes {
  std::shared_ptr<const api::ComputeDomain> domain = {};
  std::size_t nodes = 0;
};

// Thread-safe.
class DomainMetrics final : public prometheus::Collectable {
 public:
  using CountCapacity = std::function<std::shared_ptr<const compute_domain::CliqueCapacities>()>;
  struct Sources {
    std::function<std::vector<HeldNodes>()> held = {};   // For Sample.
    std::function<std::vector<DomainView>()> view = {};  // For Collect.
    CountCapacity capacity = {};                         // For Collect. Null: nothing is counted.
    std::vector<std::string> leaving_taints = {};        // As api::kLeavingTaints.
  };

  // `time_to_ready`, in seconds, gets each domain that was created since this replica leads, when
  // it is seen Ready first; `wait` each claim that waited. What is referred to outlives the
  // metrics.
  DomainMetrics(Sources sources, const base::Clock& clock, prometheus::Histogram& time_to_ready,
                prometheus::Histogram& wait);

  // Adds up what only time shows. Call it every few seconds: what happens between two calls counts
  // as if it had been so since the first of them.
  void Sample(bool leads);

  // A node was found for the pod of a claim, which was so until now.
  void Waited(const api::ResourceClaim& claim);

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
    base::Clock::TimePoint counted = {};
    std::shared_ptr<const compute_domain::CliqueCapacities> capacity = {};  // Null: not counted.
  };

  // As it was counted at the last scrape, if that is not long ago.
  [[nodiscard]] std::shared_ptr<const compute_domain::CliqueCapacities> Capacity() const;

  void ObserveReady(const api::ComputeDomain& domain, base::Clock::WallTime leads_since,
                    Totals& totals);

  const Sources sources_;
  const base::Clock& clock_;
  prometheus::Histogram& time_to_ready_;
  prometheus::Histogram& wait_;
  mutable base::Guarded<State> state_;
};

}  // namespace process
