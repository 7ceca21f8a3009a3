// A WorkQueue that threads share: some add keys, others wait for keys.
//
// Thread-safe. `clock` outlives the queue, which reads it under its lock. If the clock jumps ahead,
// a wait ends at most one second after a key is due.
#pragma once

#include <chrono>
#include <condition_variable>
#include <limits>
#include <optional>
#include <stop_token>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/workqueue/work_queue.h"

namespace kube {

class BlockingQueue {
 public:
  using TimePoint = base::Clock::TimePoint;

  explicit BlockingQueue(const base::Clock& clock,
                         int held_by_flow_max = std::numeric_limits<int>::max())
      : clock_(clock), queue_(held_by_flow_max) {}

  // As in WorkQueue. Does nothing after ShutDown().
  void Add(const std::string& key, const WorkQueue::AddOptions& options = {}) {
    AddAt(key, TimePoint::min(), options);
  }
  void AddAt(const std::string& key, TimePoint when, const WorkQueue::AddOptions& options = {});
  void Done(const std::string& key, const WorkQueue::Ended& ended = {});

  // Blocks until a key is due, and returns it. Empty after a request of `stop` or after ShutDown(),
  // even if keys are left. Call Done() on every key.
  std::optional<std::string> Get(const std::stop_token& stop);

  // Ends every Get(), now and later. Done() still works for held keys.
  void ShutDown();

  WorkQueue::Stats Stats() const;
  // As in WorkQueue. REQUIRES: the caller holds `key`.
  std::chrono::nanoseconds Waited(const std::string& key) const;

 private:
  void Wait() REQUIRES(mutex_);

  const base::Clock& clock_;
  mutable base::Mutex mutex_;
  std::condition_variable_any changed_cv_;
  WorkQueue queue_ GUARDED_BY(mutex_);
  // For when a thread waits until a key is due. The others wait for that thread, or for a change.
  std::optional<TimePoint> timed_until_ GUARDED_BY(mutex_) = {};
  bool is_shut_down_ GUARDED_BY(mutex_) = false;
};

}  // namespace kube
