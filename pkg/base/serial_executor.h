// Runs tasks one after the other, elsewhere than on the caller's thread. They may block.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>
#include <utility>

#include "pkg/base/task_queue.h"

namespace base {

class Executor {
 public:
  // Must return soon after `stop` is requested.
  using Task = std::function<void(const std::stop_token& stop)>;

  virtual ~Executor() = default;
  virtual void Post(Task task) = 0;
};

// Has a thread of its own. Post() is thread-safe.
// Bound: as in TaskQueue. The destructor waits for the running task, and drops the tasks that wait.
class SerialExecutor final : public Executor {
 public:
  SerialExecutor() : thread_([this](const std::stop_token& stop) { Run(stop); }) {}

  void Post(Task task) override {
    tasks_.Post([this, task = std::move(task)] { task(thread_.get_stop_token()); });
  }

 private:
  void Run(const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] { tasks_.Wake(); });
    while (!stop.stop_requested()) {
      for (const TaskQueue::Task& task : tasks_.Wait(std::chrono::hours(1))) {
        if (stop.stop_requested()) return;
        task();
      }
    }
  }

  TaskQueue tasks_;
  std::jthread thread_;  // Last member, because it uses the others.
};

}  // namespace base
