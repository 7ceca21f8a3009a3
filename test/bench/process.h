// A measured process with its own environment.
//
// Used by one thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/base/result.h"

namespace bench {

// Returns the CPU time of all threads of `pid`, with a resolution of 10 ms (a kernel tick). Returns
// kNotFound if it does not exist.
base::Result<std::chrono::milliseconds> CpuTime(pid_t pid);
// Returns the peak resident memory of `pid` (VmHWM), in KiB. Returns kNotFound if it does not
// exist.
base::Result<std::int64_t> PeakResidentKib(pid_t pid);
// Returns its resident memory now (VmRSS), in KiB.
base::Result<std::int64_t> ResidentKib(pid_t pid);

class Process {
 public:
  using Environment = std::map<std::string, std::string>;

  // Runs `command` in a shell, with `environment` added to this process's. Appends its output to
  // `log`. Returns kUnavailable if it cannot be started.
  static base::Result<std::unique_ptr<Process>> Start(const std::string& command,
                                                      const Environment& environment,
                                                      const std::string& log);
  ~Process();  // Kills it, unless it has ended.
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // Blocks until it has ended. Returns kDeadlineExceeded after `most`.
  base::Result<void> AwaitEnd(const base::Clock& clock, std::chrono::seconds most);

 private:
  explicit Process(pid_t pid) : pid_(pid) {}

  const pid_t pid_;
  bool ended_ = false;
};

}  // namespace bench
