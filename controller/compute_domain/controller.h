// The controller without threads: what is watched, what that means for every domain, and the
// reconciler. Production puts threads around it, simulation its own order of events.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/compute_domain/cache/cache.h"
#include "controller/compute_domain/reconciler.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/random.h"
#include "pkg/kube/cache/reflector.h"
#include "pkg/kube/workqueue/work_queue.h"

namespace compute_domain {

class Controller {
 public:
  using Enqueue =
      std::function<void(const std::string& uid, const kube::WorkQueue::AddOptions& options)>;

  // `enqueue` is called on the watch thread, and by EnqueueAll(). The rest outlives the controller.
  Controller(const Facts& facts, Enqueue enqueue, const base::Clock& clock, base::Random& random,
             base::Logger& logger, const Rules& rules = kRules);

  // For the thread that drives them, which then calls Observe() after each turn.
  [[nodiscard]] std::deque<kube::Reflector>& reflectors() { return reflectors_; }
  void Observe();
  // Every domain that exists or left something behind. Their number is anybody's, so they come
  // after the domains of which something has changed. Thread-safe, as far as `enqueue` is.
  void EnqueueAll();

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
  // Domains take turns by namespace: a mass of work in one delays those in others by little.
  void Want(const std::string& uid, kube::WorkQueue::Priority priority) const;
  // Of one collection.
  struct View {
    Freshness freshness = Freshness::kUnknown;
    std::string_view reason = {};  // What a person has to mend; see ReflectorProblem.
    std::string message = {};
  };
  [[nodiscard]] View ViewOf(std::size_t reflector);

  const Enqueue enqueue_;
  const base::Clock& clock_;
  const std::string ns_;  // Where children are made.
  Cache cache_;
  Reconciler reconciler_;
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
