// The parts of every main.cc: clock, log, signals, environment, client configuration.
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

// Where SIGUSR2 writes what each thread does: the file of NVIDIA's programs.
constexpr const char* kThreadDump = "/tmp/goroutine-stacks.dump";

// Prints the text of `exit`. Returns its status.
int Print(const Exit& exit);
// Prints the error, if any. Returns the exit status.
int StatusOf(const base::Result<void>& ended);

// For the main thread, before it starts others. `settings` outlives it.
class Frame {
 public:
  // `program` is its name in the log. `patience` is how long LoadConfig() waits for the first
  // answer of an exec plugin, which only a kubeconfig can name.
  Frame(const char* program, const CommonSettings& settings,
        std::chrono::seconds patience = std::chrono::seconds(5));

  const base::Clock& clock() const { return clock_; }
  base::Logger& logger() const { return *logger_; }
  const std::vector<std::string>& environment() const { return environment_; }
  base::TaskQueue& tasks() { return tasks_; }
  std::stop_token stop() const { return stop_.get_token(); }

  // After this call, a signal in `ends` requests stop() and wakes tasks(), and a signal in `wakes`
  // wakes tasks(). SIGUSR2 writes what each thread does to kThreadDump. Call it before a thread is
  // started. `nvidias` is what a dump of NVIDIA's program says of the main thread, which tools look
  // for; it may be empty.
  void HandleSignals(std::vector<int> ends, std::vector<int> wakes = {},
                     Repeated repeated = Repeated::kEndsAtOnce, std::string nvidias = {});

  base::Result<kube::ClientConfig> LoadConfig();

 private:
  void Dump(const std::string& nvidias);

  const std::string program_;
  const CommonSettings& settings_;
  const base::SystemClock clock_;
  const std::unique_ptr<base::Logger> logger_;
  const std::vector<std::string> environment_;
  kube::ExecRunner exec_;
  base::TaskQueue tasks_;
  std::stop_source stop_;
  std::jthread signals_;  // Last member, because it uses the others.
};

}  // namespace command_line
