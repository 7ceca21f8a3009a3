// The controller without threads: what is watched, what that means for every domain, the
// reconciler, and what follows a pass. Production puts threads around it, simulation its own order
// of events.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/compute_domain/cache/cache.h"
#include "controller/compute_domain/error_log.h"
#include "controller/compute_domain/reconciler.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/random.h"
#include "pkg/kube/cache/reflector.h"
#include "pkg/kube/workqueue/work_queue.h"

namespace compute_domain {

// How many workers the domains of one namespace may have: one in eight is left for the others,
// however long the passes of that namespace take.
[[nodiscard]] int LargestShare(int workers);

class Controller {
 public:
  using Enqueue =
      std::function<void(const std::string& uid, const kube::WorkQueue::AddOptions& options)>;

  struct Sinks {
    Enqueue enqueue;  // Called on the watch thread, by Start() and by Finish().
    std::function<void(const std::vector<kube::Event>&)> record;  // Called by Finish().
  };

  // The rest outlives the controller.
  Controller(const Facts& facts, Sinks sinks, const base::Clock& clock, base::Random& random,
             base::Logger& logger, const Rules& rules = kRules);

  // For the thread that drives them, which then calls Observe() after each turn.
  [[nodiscard]] std::deque<kube::Reflector>& reflectors() { return reflectors_; }
  void Observe();
  // This replica leads, and its workers begin: enqueues every domain that exists or left something
  // behind. Until then nothing is enqueued, since a standby would only collect. Thread-safe.
  void Start();
  // What follows a pass that is over: its Events, the domain that may go on now, and what the log
  // says. Gives when the domain is due again, for the queue. Thread-safe.
  [[nodiscard]] kube::WorkQueue::Ended Finish(const std::string& uid, const Outcome& outcome);

  // Every collection was read once, or it is known and said what is in the way. Thread-safe.
  [[nodiscard]] bool MayReconcile() const { return may_reconcile_; }
  // Every collection without which we cannot go on, and of the others those that can be read.
  [[nodiscard]] bool HasSynced() const { return has_synced_; }
  // Nothing at all could be read for a minute. Thread-safe.
  [[nodiscard]] bool IsDisconnected() const { return is_disconnected_; }

  [[nodiscard]] Reconciler& reconciler() { return reconciler_; }
  [[nodiscard]] const Cache& cache() const { return cache_; }
  [[nodiscard]] Cache& cache() { return cache_; }

 private:
  // How well everything is seen now; sets `has_synced_` and `may_reconcile_`.
  [[nodiscard]] Views UpdateViews();
  void NoticeDisconnection();
  // Their number is anybody's, so they come after the domains of which something has changed.
  void EnqueueAll() const;
  // Domains take turns by namespace: a mass of work in one delays those in others by little.
  void Want(const std::string& uid, kube::WorkQueue::Priority priority) const;
  // Of one collection.
  struct View {
    Freshness freshness = Freshness::kUnknown;
    std::string_view reason = {};  // What a person has to fix; see ReflectorProblem.
    std::string message = {};
  };
  [[nodiscard]] View ViewOf(std::size_t reflector);

  const Sinks sinks_;
  const base::Clock& clock_;
  const std::string ns_;  // Where children are made.
  Cache cache_;
  Reconciler reconciler_;
  ErrorLog errors_;
  std::atomic<bool> has_started_ = false;
  // Used by the watch thread:
  std::deque<kube::Reflector> reflectors_;
  const kube::Reflector* domains_ = nullptr;  // That of ComputeDomains.
  std::uint64_t domain_watches_ = 0;          // As Observe() saw them last.
  std::vector<View> seen_;                    // Of each of them.
  base::Clock::TimePoint last_current_;       // Any of them; before, the beginning.
  base::Clock::TimePoint connected_since_;    // At least one of them has been current.
  Views views_;
  bool rollout_is_stopped_ = false;
  std::atomic<bool> may_reconcile_ = false;
  std::atomic<bool> has_synced_ = false;
  std::atomic<bool> is_disconnected_ = false;
};

}  // namespace compute_domain
