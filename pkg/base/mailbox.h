// What other threads tell the one that decides.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <utility>
#include <vector>

#include "pkg/base/mutex.h"

namespace base {

// Thread-safe. Bound: who posts waits for what came of it before it posts again.
class Mailbox {
 public:
  using Letter = std::function<void()>;

  void Post(Letter letter) {
    {
      const MutexLock lock(mutex_);
      letters_.push_back(std::move(letter));
      awake_ = true;
    }
    cv_.notify_one();
  }
  // There is something new to look at.
  void Wake() {
    {
      const MutexLock lock(mutex_);
      awake_ = true;
    }
    cv_.notify_one();
  }
  // Waits for one of these, but no longer than `most`; returns what was posted.
  [[nodiscard]] std::vector<Letter> Wait(std::chrono::nanoseconds most) {
    const MutexLock lock(mutex_);
    const auto deadline = std::chrono::ceil<std::chrono::milliseconds>(most);
    if (!awake_) static_cast<void>(cv_.wait_for(mutex_, deadline));
    awake_ = false;
    return std::exchange(letters_, {});
  }

 private:
  Mutex mutex_;
  std::condition_variable_any cv_;
  std::vector<Letter> letters_ GUARDED_BY(mutex_);
  bool awake_ GUARDED_BY(mutex_) = false;
};

}  // namespace base
