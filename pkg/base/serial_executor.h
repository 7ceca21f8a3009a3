// A thread that runs tasks one after the other. They may block.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>
#include <utility>

#include "pkg/base/task_queue.h"

namespace base {

// Post() is thread-safe.
// Bound: as in TaskQueue. The destructor waits for the running task, and drops the tasks that wait.
class SerialExecutor {
 public:
  // Must return soon after `stop` is requested.
  using Task = std::function<void(const std::stop_token& stop)>;

  SerialExecutor() : thread_([this](const std::stop_token& stop) { Run(stop); }) {}

  void Post(Task task) {
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
