// A thread that does one job after the other, which may block.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <stop_token>
#include <thread>
#include <utility>

#include "pkg/base/mutex.h"

namespace base {

// Do() is for one thread. Bound: as many jobs wait as were given and not yet begun.
class Worker {
 public:
  // Ends soon once `stop` is requested.
  using Job = std::function<void(const std::stop_token& stop)>;

  Worker() : thread_([this](const std::stop_token& stop) { Run(stop); }) {}

  void Do(Job job) {
    const MutexLock lock(mutex_);
    jobs_.push_back(std::move(job));
    cv_.notify_one();
  }

 private:
  void Run(const std::stop_token& stop) {
    while (const Job job = Next(stop)) job(stop);
  }
  Job Next(const std::stop_token& stop) {
    // Before the lock, because it may run at once, on this thread.
    const std::stop_callback wake(stop, [this] {
      const MutexLock lock(mutex_);
      cv_.notify_one();
    });
    const MutexLock lock(mutex_);
    while (jobs_.empty() && !stop.stop_requested()) cv_.wait(mutex_);
    if (stop.stop_requested()) return {};
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
  }

  Mutex mutex_;
  std::condition_variable_any cv_;
  std::deque<Job> jobs_ GUARDED_BY(mutex_);
  std::jthread thread_;  // Last: it uses the others.
};

}  // namespace base
