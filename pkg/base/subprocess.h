// Runs programs of somebody else's: to their end, or beside us until then.
//
// There is no shell. A program has /dev/null to read from, pipes of ours to write to, no other
// descriptor, no signal blocked or ignored, no variable but those given, and a process group of its
// own. When it is over, however it ended, what is left of that group is killed and the program is
// reaped: neither a zombie stays nor what it started and forgot.
//
// RunProgram is thread-safe. Bounds: its time, and what is kept of its words. REQUIRES: SIGCHLD is
// not ignored.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/result.h"

namespace base {

struct Program {
  std::string path = {};                      // With a '/'; nothing is looked for.
  std::vector<std::string> arguments = {};    // Without its own name.
  std::vector<std::string> environment = {};  // "NAME=value", all there are.
};

struct ProgramLimits {
  std::chrono::milliseconds time{60'000};
  std::size_t output_bytes_max = 1U << 20;
  std::size_t complaint_bytes_max = 4U << 10;
};

struct ProgramEnd {
  enum class How {
    kExited,
    kSignalled,      // By somebody else.
    kOutOfTime,      // This and the next: killed by us.
    kTooMuchOutput,  // `output` is empty.
    kStopped,        // As `stop` asked.
  };
  How how = How::kExited;
  int status = 0;               // What it exited with, or the signal.
  std::string output = {};      // On stdout.
  std::string complaints = {};  // On stderr: the end of it.
};

// Blocks until it has ended, or at once after `stop` was requested. An error is that it could not
// be started: kNotFound: it, or what its first line names, is not there; kForbidden; kTooLarge:
// arguments or variables; kInvalid: the system cannot run such a file; kUnavailable: try again.
[[nodiscard]] Result<ProgramEnd> RunProgram(const Program& program, const ProgramLimits& limits,
                                            const Clock& clock, const std::stop_token& stop);

// A program that goes on until it ends by itself or does as a signal says.
class LastingProgram {
 public:
  // Errors as of RunProgram.
  [[nodiscard]] static Result<std::unique_ptr<LastingProgram>> Start(const Program& program);
  ~LastingProgram();  // Kills it, if it has not ended.

  // Where it speaks, on stdout and stderr alike. Waits up to `most` for words and appends what is
  // there to `words`, at most 1 MiB; false: there will be no more. By one thread, beside the
  // others.
  [[nodiscard]] bool Listen(std::chrono::milliseconds most, std::string& words);
  // How it has ended, without its words; nothing: it runs.
  [[nodiscard]] std::optional<ProgramEnd> Ended() const;
  // To the program alone, not to its group. One that has ended does not hear it.
  void Signal(int signal) const;

 private:
  struct State;
  explicit LastingProgram(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace base
