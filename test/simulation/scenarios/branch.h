// Continues one process twice from the same point: trunk and branch.
//
// The branch runs to its own end and reports it. The trunk continues as if nothing had happened. So
// many endings share one beginning, and the state need not be copyable.
//
// For a process of one thread. A branch is a separate process, see fork(2): nothing that happens to
// it affects the trunk.
#pragma once

#include <sys/types.h>

#include <string>

#include "pkg/base/result.h"

namespace simulation {

class Branch {
 public:
  // Returns twice: in the branch and in the trunk. Both run at the same time.
  static Branch Begin();

  // Returns whether this is the branch.
  bool IsHere() const { return output_ >= 0; }
  // Ends the branch, without running any destructor. REQUIRES: IsHere().
  [[noreturn]] void End(const std::string& report) const;
  // Waits for the branch, and returns its report. Returns an error if it ended without a report;
  // the caller can execute the whole run again. Call it once. REQUIRES: !IsHere().
  base::Result<std::string> Wait() const;

 private:
  int output_ = -1;     // In the branch: write end of a pipe,
  int input_ = -1;      // and in the trunk its read end.
  pid_t process_ = -1;  // In the trunk: the branch.
};

}  // namespace simulation
