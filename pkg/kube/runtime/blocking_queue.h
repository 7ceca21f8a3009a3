// A WorkQueue that threads share: one adds keys, others wait for them.
//
// Thread-safe. `clock` outlives it and is used under its lock. Time passes by `clock`; a wait ends
// within a second of the time that a key is due, should the clock jump ahead.
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

  // As WorkQueue's. After ShutDown() nothing is added any more.
  void Add(const std::string& key, const WorkQueue::AddOptions& options = {}) {
    AddAt(key, TimePoint::min(), options);
  }
  void AddAt(const std::string& key, TimePoint when, const WorkQueue::AddOptions& options = {});
  void Done(const std::string& key, const WorkQueue::Ended& ended = {});

  // Blocks until a key is due. Empty once `stop` is requested or ShutDown() was called, even if
  // keys are left. Call Done() on every key you get.
  [[nodiscard]] std::optional<std::string> Get(const std::stop_token& stop);

  // Ends every Get(), now and later. Keys that are held may still be Done().
  void ShutDown();

  [[nodiscard]] WorkQueue::Stats Stats() const;
  // Of a key that you hold.
  [[nodiscard]] std::chrono::nanoseconds Waited(const std::string& key) const;

 private:
  void Wait() REQUIRES(mutex_);

  const base::Clock& clock_;
  mutable base::Mutex mutex_;
  std::condition_variable_any changed_cv_;
  WorkQueue queue_ GUARDED_BY(mutex_);
  bool is_shut_down_ GUARDED_BY(mutex_) = false;
};

}  // namespace kube
