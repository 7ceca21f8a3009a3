// A process that is measured: started with an environment of its own, asked what it used, ended.
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

// Processor time of all threads of `pid` until now, to a tick of the kernel (10 ms). kNotFound.
[[nodiscard]] base::Result<std::chrono::milliseconds> CpuTime(pid_t pid);
// The most memory that `pid` ever had resident (VmHWM), in KiB. kNotFound.
[[nodiscard]] base::Result<std::int64_t> PeakResidentKib(pid_t pid);
// What it has resident now (VmRSS).
[[nodiscard]] base::Result<std::int64_t> ResidentKib(pid_t pid);

class Process {
 public:
  using Environment = std::map<std::string, std::string>;

  // Runs `command` as a shell would, with `environment` over ours; what it prints is appended to
  // `log`. kUnavailable: it could not be started.
  [[nodiscard]] static base::Result<std::unique_ptr<Process>> Start(const std::string& command,
                                                                    const Environment& environment,
                                                                    const std::string& log);
  ~Process();  // Kills it, unless it has ended.
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // Blocks until it has ended. kDeadlineExceeded after `most`.
  [[nodiscard]] base::Result<void> AwaitEnd(const base::Clock& clock, std::chrono::seconds most);

 private:
  explicit Process(pid_t pid) : pid_(pid) {}

  const pid_t pid_;
  bool ended_ = false;
};

}  // namespace bench
