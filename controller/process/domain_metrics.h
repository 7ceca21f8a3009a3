// Metrics of each domain, its cliques and its nodes.
//
// They are computed from the cache at each scrape, so they vanish with the domain. Their number is
// bounded by the domains, cliques and labelled nodes. Only the leader has them, or sums would count
// twice. Free nodes per clique cost a pass over all nodes, so they are counted at most every 5 s,
// by a scrape. Sample() looks only at domains that changed, because it also runs in an idle
// process.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/types.h"
#include "controller/compute_domain/cache/cache.h"
#include "controller/compute_domain/model/observed.h"
#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"

namespace process {

// Buckets of times until pods of a domain can work, in seconds.
inline const std::vector<double> kFormationBuckets = {1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800};

// Returns the time as Prometheus counts it.
inline double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// A domain, its labelled nodes, its daemons, and its channel claims that wait for a node.
struct DomainView {
  const api::ComputeDomain& domain;
  std::vector<std::shared_ptr<const api::Node>> nodes = {};
  std::vector<std::shared_ptr<const api::DaemonPod>> daemons = {};
  std::vector<std::shared_ptr<const api::ResourceClaim>> waiting = {};
};

// Thread-safe.
class DomainMetrics final : public prometheus::Collectable {
 public:
  using CountCapacity = std::function<std::shared_ptr<const compute_domain::CliqueCapacities>()>;
  // Returns the status of a condition. Empty if it is not known.
  using ReadStatus = std::function<std::string(const api::ComputeDomain&)>;
  using ViewVisitor = std::function<void(const DomainView& view)>;
  struct Sources {
    // For Sample(): the domains that exist, one of them, and the number of nodes with its label.
    std::function<void(const compute_domain::Cache::VersionVisitor&)> versions = {};
    std::function<std::shared_ptr<const api::ComputeDomain>(const kube::ObjectKey&)> domain = {};
    std::function<std::size_t(const kube::Uid&)> count_nodes = {};
    std::function<void(const ViewVisitor&)> views = {};  // For Collect().
    CountCapacity capacity = {};                   // For Collect(). Null if nothing is counted.
    ReadStatus memory_shared = {};                 // For Collect(): MemoryShared. May be null.
    std::vector<std::string> leaving_taints = {};  // Taint keys in the form of api::kLeavingTaints.
  };

  // `time_to_ready` (seconds) observes each formation of a domain that this replica saw idle, or
  // that was created while it leads: from the creation of the first claim that gets a node until
  // all members are ready. `phases` (seconds, label phase) has what each phase took of that, and
  // then the time until all pods share memory. `wait` observes each claim that waited for a node.
  // These and `clock` must outlive the metrics.
  DomainMetrics(Sources sources, const base::Clock& clock, prometheus::Histogram& time_to_ready,
                prometheus::Family<prometheus::Histogram>& phases, prometheus::Histogram& wait);

  // Adds up node seconds, and observes domains whose members became ready. Call it every few
  // seconds: a change counts from the call before it.
  void Sample(bool leads);

  // Observes the wait of a claim whose pod got a node. `claim` is its state before.
  void Waited(const api::ResourceClaim& claim);
  // A domain that may be forming has made progress.
  void Progressed(const kube::Uid& domain_uid, compute_domain::Cache::Progress progress);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  // What Sample() needs of a domain.
  struct Facts {
    std::string version = {};  // The resourceVersion that has them.
    bool in_use = false;
    bool has_no_claims = false;
    bool has_no_members = false;
    bool members_ready = false;
    // When MembersReady last changed. Empty if the domain does not have the condition.
    std::optional<base::Clock::WallTime> members_since = {};
    std::optional<base::Clock::WallTime> shared_since = {};  // Empty unless MemoryShared is True.
  };
  // Sums over the life of a domain.
  struct Totals {
    Facts facts = {};
    double held_node_seconds = 0;
    double idle_node_seconds = 0;
    bool was_idle = false;  // This replica has seen it without members.
    // Creation of the first claim since then.
    std::optional<base::Clock::WallTime> claimed = {};
    // When a claim last got a node, a node its label, and a daemon became ready.
    std::optional<base::Clock::WallTime> scheduled = {};
    std::optional<base::Clock::WallTime> labelled = {};
    std::optional<base::Clock::WallTime> daemon_ready = {};
    std::optional<base::Clock::WallTime> formed = {};  // All members were ready first.
    bool has_shared = false;                           // All pods shared memory since then.
  };
  struct State {
    bool leads = false;
    base::Clock::TimePoint sampled = {};
    std::map<kube::Uid, Totals> totals = {};
  };

  static Facts FactsOf(const api::ComputeDomain& domain);
  void ObserveFormation(Totals& totals);
  void ObservePhases(const Totals& totals);
  void ObservePhase(const char* phase, base::Clock::WallTime from, base::Clock::WallTime to);

  const Sources sources_;
  const base::Clock& clock_;
  prometheus::Histogram& time_to_ready_;
  prometheus::Family<prometheus::Histogram>& phases_;
  prometheus::Histogram& wait_;
  mutable base::Guarded<State> state_;
};

}  // namespace process
