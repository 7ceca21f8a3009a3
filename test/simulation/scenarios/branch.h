// A process that goes on twice from where it stands: the branch to its own end, which it reports,
// and the trunk as if nothing had been. So many endings share one beginning, and nothing of what
// came about until then need be copyable.
//
// For a process of one thread. A branch is a process of its own, see fork(2): whatever becomes of
// it, the trunk only hears of it.
#pragma once

#include <sys/types.h>

#include <string>

#include "pkg/base/result.h"

namespace simulation {

class Branch {
 public:
  // Returns twice: in the branch, and in the trunk, which goes on meanwhile.
  [[nodiscard]] static Branch Begin();

  // Whether this is the branch.
  [[nodiscard]] bool IsHere() const { return output_ >= 0; }
  // Ends the branch, without running any destructor. REQUIRES: IsHere().
  [[noreturn]] void End(const std::string& report) const;
  // What the branch said at its end, which is waited for. An error if it never came to that;
  // the caller can execute the whole run again. Once. REQUIRES: !IsHere().
  [[nodiscard]] base::Result<std::string> Wait() const;

 private:
  int output_ = -1;     // In the branch: its end of a pipe,
  int input_ = -1;      // whose other end is the trunk's.
  pid_t process_ = -1;  // In the trunk.
};

}  // namespace simulation
