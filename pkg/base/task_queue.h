// Tasks that other threads post to the thread that runs them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "pkg/base/mutex.h"

namespace base {

// Thread-safe. No bound of its own: callers wait for the result of a task before they post another,
// or count their tasks.
class TaskQueue {
 public:
  using Task = std::function<void()>;

  void Post(Task task) {
    {
      const MutexLock lock(mutex_);
      tasks_.push_back(std::move(task));
      awake_ = true;
    }
    cv_.notify_one();
  }
  // Ends a Wait() without a task, because other state has changed.
  void Wake() {
    {
      const MutexLock lock(mutex_);
      awake_ = true;
    }
    cv_.notify_one();
  }
  // Blocks until a Post() or Wake(), but no longer than `most`. Returns the posted tasks in order.
  std::vector<Task> Wait(std::chrono::nanoseconds most) {
    const MutexLock lock(mutex_);
    const auto deadline = std::chrono::ceil<std::chrono::milliseconds>(most);
    if (!awake_) static_cast<void>(cv_.wait_for(mutex_, deadline));
    awake_ = false;
    return std::exchange(tasks_, {});
  }
  // Does not block. Returns the posted tasks in order. Empty if there was no Post() or Wake() since
  // the last call.
  std::optional<std::vector<Task>> Poll() {
    const MutexLock lock(mutex_);
    if (!std::exchange(awake_, false)) return {};
    return std::exchange(tasks_, {});
  }

 private:
  Mutex mutex_;
  std::condition_variable_any cv_;
  std::vector<Task> tasks_ GUARDED_BY(mutex_);
  bool awake_ GUARDED_BY(mutex_) = false;
};

}  // namespace base
