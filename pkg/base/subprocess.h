// Runs external programs: until they end, or in the background.
//
// No shell. A program reads from /dev/null and writes to our pipes. It inherits no other
// descriptor, has only the given variables, and its own process group. No signal is blocked or
// ignored. After it ends, for any reason, the rest of its group is killed and the program is
// reaped. So neither zombies nor forgotten children remain.
//
// RunProgram() is thread-safe.
// Bounds: its time, and how much of its output is kept. REQUIRES: SIGCHLD is not ignored.
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
  std::string path = {};                      // With a '/'. PATH is not searched.
  std::vector<std::string> arguments = {};    // Without argv[0].
  std::vector<std::string> environment = {};  // All variables, as "NAME=value".
};

struct ProgramLimits {
  std::chrono::milliseconds time{60'000};
  std::size_t output_bytes_max = 1U << 20;
  std::size_t complaint_bytes_max = 4U << 10;
};

struct ProgramEnd {
  enum class How {
    kExited,
    kSignalled,      // Not by us.
    kOutOfTime,      // This and the next: we killed it.
    kTooMuchOutput,  // `output` is empty.
    kStopped,        // `stop` was requested; we killed it.
  };
  How how = How::kExited;
  int status = 0;               // Exit status, or number of the signal.
  std::string output = {};      // Its stdout.
  std::string complaints = {};  // The end of its stderr.

  bool Succeeded() const { return how == How::kExited && status == 0; }
};

// Runs the program. Blocks until it ends, or until `stop` is requested. Returns an error only if it
// could not be started. kNotFound: the program, or the interpreter in its first line, does not
// exist. kForbidden: no permission. kTooLarge: too many arguments or variables. kInvalid: the
// system cannot run such a file. kUnavailable: retry.
Result<ProgramEnd> RunProgram(const Program& program, const ProgramLimits& limits,
                              const Clock& clock, const std::stop_token& stop);

// A program in the background, until it ends by itself or by a signal.
class LastingProgram {
 public:
  // Errors as in RunProgram().
  static Result<std::unique_ptr<LastingProgram>> Start(const Program& program);
  ~LastingProgram();  // Kills it if it runs.

  // Waits up to `most` for output on stdout and stderr, and appends it to `words`, at most 1 MiB.
  // Returns false if no more output can come. For one thread; the other functions may run on other
  // threads.
  bool Listen(std::chrono::milliseconds most, std::string& words);
  // Returns how it ended, without output. Empty while it runs.
  std::optional<ProgramEnd> Ended() const;
  // Signals the program, but not its group. Has no effect after it has ended.
  void Signal(int signal) const;

 private:
  struct State;
  explicit LastingProgram(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace base
