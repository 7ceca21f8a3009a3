// The controller without threads: watches, what passes share, and what follows a pass.
// Production adds threads to it, the simulation its own order of events.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "controller/compute_domain/cache/cache.h"
#include "controller/compute_domain/error_log.h"
#include "controller/compute_domain/pass/reconcile_pass.h"
#include "controller/compute_domain/pass/shared_state.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/mutex.h"
#include "pkg/base/random.h"
#include "pkg/kube/cache/reflector.h"
#include "pkg/kube/workqueue/work_queue.h"

namespace compute_domain {

// Returns how many workers the domains of one namespace may use at once. One of eight workers, but
// at least one, is left for other namespaces, if there is more than one worker.
int LargestShare(int workers);

class Controller {
 public:
  using Enqueue =
      std::function<void(const kube::Uid& uid, const kube::WorkQueue::AddOptions& options)>;

  struct Sinks {
    Enqueue enqueue;  // Called on the watch thread, by Start(), SetPlacement() and Finish().
    std::function<void(const std::vector<kube::Event>&)> record;  // Called by Finish().
  };

  // Everything but `facts` and `sinks` must outlive the controller.
  Controller(const Facts& facts, Sinks sinks, const base::Clock& clock, base::Random& random,
             base::Logger& logger, const Rules& rules = kRules);

  // For the watch thread, which drives them and calls Observe() after each turn.
  std::deque<kube::Reflector>& reflectors() { return reflectors_; }
  void Observe();
  // Starts as leader: enqueues every domain that exists or left objects behind. Nothing is enqueued
  // before, because a standby does not work off its queue. Thread-safe.
  void Start();
  // Says whether the policies of placement are in force. Enqueues every domain if that is news.
  // Thread-safe.
  void SetPlacement(PlacementPolicy placement) {
    if (shared_.SetPlacement(placement)) EnqueueAll();
  }
  // Completes a pass: records its Events, enqueues the domain whose turn in the rollout it is, and
  // logs errors. Returns when the domain is due again, for the queue. Thread-safe.
  kube::WorkQueue::Ended Finish(const kube::Uid& uid, const Outcome& outcome);
  // Returns how many passes have ended. Empty before Start(). Thread-safe.
  std::optional<std::uint64_t> passes() const {
    if (!has_started_) return {};
    return passes_;
  }

  // Returns why domains cannot be served. Empty if they can: ComputeDomains are read, and each
  // other collection was read, is not served, is refused, or has failed for 30 s. Such a collection
  // is unknown: what needs it waits, and the rest goes on. Thread-safe.
  std::string WhyItCannotServe() const {
    return hindrance_.With([](const std::string& why) { return why; });
  }
  bool CanServe() const { return WhyItCannotServe().empty(); }
  // True while each collection was read, except optional ones that are refused. Thread-safe.
  bool HasSynced() const { return has_synced_; }
  // True if no collection could be read for a minute. Thread-safe.
  bool IsDisconnected() const { return is_disconnected_; }

  SharedState& shared() { return shared_; }
  const Cache& cache() const { return cache_; }
  Cache& cache() { return cache_; }

 private:
  // The state of one collection.
  struct View {
    const WatchedKind* of = nullptr;
    Freshness freshness = Freshness::kUnknown;
    enum class Refusal { kNone, kForbidden, kNotServed };
    Refusal refusal = Refusal::kNone;  // What a person must fix. Only a success ends it.
    bool is_given_up = false;          // It was never read, and has failed for 30 s.
    bool is_told = false;              // The log says that it cannot be read.
    std::uint64_t gone_back = 0;       // Reflector::versions_gone_back() at the last restore.
    std::string message = {};          // What is wrong, and how to fix it. Empty if nothing.
    // The process works without it.
    bool IsUnreadable() const { return refusal != Refusal::kNone || is_given_up; }
  };
  // Returns the freshness of each cache. Sets `has_synced_` and `hindrance_`.
  Views UpdateViews();
  View ViewOf(std::size_t reflector);
  // Returns why the collection keeps the process from serving. Empty if it does not.
  std::string HindranceBy(const kube::Reflector& reflector, const View& view) const;
  // Adds what the collection shows of its kind.
  void AddView(const kube::Reflector& reflector, const View& view, Views& views) const;
  void NoticeDisconnection();
  // Lists every collection once, at most once in five minutes, if the versions of one went
  // backwards. After a restore of etcd the other watches may stay open and silent.
  void NoticeRestore();
  // Enqueues every domain, at low priority: there may be many, and domains that changed go first.
  void EnqueueAll() const;
  // Enqueues the domain. Namespaces take turns, so that many changes in one delay others only a
  // little.
  void Want(const kube::Uid& uid, kube::WorkQueue::Priority priority) const;

  const Sinks sinks_;
  const base::Clock& clock_;
  base::Logger& logger_;
  const std::string ns_;  // Namespace in which children are created.
  Cache cache_;
  SharedState shared_;
  ErrorLog errors_;
  std::atomic<bool> has_started_ = false;
  std::atomic<std::uint64_t> passes_ = 0;
  // Used by the watch thread:
  std::deque<kube::Reflector> reflectors_;
  const kube::Reflector* domains_ = nullptr;  // Reflector of ComputeDomains.
  std::uint64_t domain_watches_ = 0;          // `domains_->watches()` at the last Observe().
  std::vector<View> seen_;                    // State of each reflector.
  // When any reflector was last current; at first, the start.
  base::Clock::TimePoint last_current_;
  base::Clock::TimePoint connected_since_;  // At least one reflector has been current since then.
  std::optional<base::Clock::TimePoint> restored_at_;  // Last noticed restore. Empty if none.
  Views views_;
  bool rollout_is_stopped_ = false;
  bool could_serve_ = false;  // At any time.
  base::Guarded<std::string> hindrance_{"nothing was read yet"};
  std::atomic<bool> has_synced_ = false;
  std::atomic<bool> is_disconnected_ = false;
};

}  // namespace compute_domain
