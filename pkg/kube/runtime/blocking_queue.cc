#include "pkg/kube/runtime/blocking_queue.h"

#include <algorithm>

namespace kube {
using base::MutexLock;

constexpr std::chrono::seconds kWaitMax{1};

// Waking one thread is enough, because it wakes the next one if keys are left.
void BlockingQueue::AddAt(const std::string& key, TimePoint when,
                          const WorkQueue::AddOptions& options) {
  const MutexLock lock(mutex_);
  if (is_shut_down_) return;
  queue_.AddAt(key, when, clock_.Now(), options);
  changed_cv_.notify_one();
}

void BlockingQueue::Done(const std::string& key, const WorkQueue::Ended& ended) {
  const MutexLock lock(mutex_);
  queue_.Done(key, clock_.Now(), ended);
  changed_cv_.notify_one();
}

std::optional<std::string> BlockingQueue::Get(const std::stop_token& stop) {
  // Before the lock, because the callback may run at once on this thread.
  const std::stop_callback wake(stop, [this] {
    const MutexLock lock(mutex_);
    changed_cv_.notify_all();
  });
  const MutexLock lock(mutex_);
  std::optional<std::string> key;
  while (!is_shut_down_ && !stop.stop_requested()) {
    key = queue_.Get(clock_.Now());
    if (key) break;
    Wait();
  }
  if (queue_.depth() > 0 || queue_.NextDue()) changed_cv_.notify_one();
  return key;
}

// If all threads waited for the next time, all would wake at that time, and one would find a key.
void BlockingQueue::Wait() {
  const std::optional<TimePoint> due = queue_.NextDue();
  if (!due || (timed_until_ && *timed_until_ <= *due)) {
    changed_cv_.wait(mutex_);
    return;
  }
  timed_until_ = due;
  // Never zero, because rounding could cause a busy loop in the last moment.
  const std::chrono::nanoseconds left = *due - clock_.Now();
  changed_cv_.wait_for(
      mutex_, std::clamp<std::chrono::nanoseconds>(left, std::chrono::microseconds(100), kWaitMax));
  // Unless another thread now waits for an earlier time.
  if (timed_until_ == due) timed_until_.reset();
}

void BlockingQueue::ShutDown() {
  const MutexLock lock(mutex_);
  is_shut_down_ = true;
  changed_cv_.notify_all();
}

WorkQueue::Stats BlockingQueue::Stats() const {
  const MutexLock lock(mutex_);
  return queue_.StatsAt(clock_.Now());
}

std::chrono::nanoseconds BlockingQueue::Waited(const std::string& key) const {
  const MutexLock lock(mutex_);
  return queue_.Waited(key);
}

}  // namespace kube
