// The frame of a main.cc: clock, log, signals, environment, and how the API server is found.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "pkg/base/log.h"
#include "pkg/base/result.h"
#include "pkg/base/system_clock.h"
#include "pkg/base/task_queue.h"
#include "pkg/command_line/exit.h"
#include "pkg/command_line/settings.h"
#include "pkg/command_line/signals.h"
#include "pkg/kube/client/config.h"
#include "pkg/kube/client/exec_runner.h"

namespace command_line {

// Prints what a program says instead of running. Returns its exit status.
[[nodiscard]] int Print(const Exit& exit);
// Prints the error, if there is one. Returns the exit status.
[[nodiscard]] int StatusOf(const base::Result<void>& ended);

// Used by the main thread, until it starts others. `settings` outlives it.
class Frame {
 public:
  // `program` is its name in the log. `patience` is for the first answer of an exec plugin; only
  // outside of a pod is there one.
  Frame(const char* program, const CommonSettings& settings,
        std::chrono::seconds patience = std::chrono::seconds(5));

  [[nodiscard]] const base::Clock& clock() const { return clock_; }
  [[nodiscard]] base::Logger& logger() const { return *logger_; }
  [[nodiscard]] const std::vector<std::string>& environment() const { return environment_; }
  [[nodiscard]] base::TaskQueue& tasks() { return tasks_; }
  [[nodiscard]] std::stop_token stop() const { return stop_.get_token(); }

  // From now on a signal of `ends` requests stop() and wakes tasks(), and one of `wakes` wakes
  // tasks(). To be called before a thread is started.
  void HandleSignals(std::vector<int> ends, std::vector<int> wakes = {},
                     Repeated repeated = Repeated::kEndsAtOnce);

  [[nodiscard]] base::Result<kube::ClientConfig> LoadConfig();

 private:
  const CommonSettings& settings_;
  const base::SystemClock clock_;
  const std::unique_ptr<base::Logger> logger_;
  const std::vector<std::string> environment_;
  kube::ExecRunner exec_;
  base::TaskQueue tasks_;
  std::stop_source stop_;
  std::jthread signals_;  // Last: it uses the others.
};

}  // namespace command_line
