// A process that goes on twice from where it stands: the branch to its own end, which it reports,
// while the trunk waits; then the trunk, as if nothing had been. So many endings share one
// beginning, and nothing of what came about until then need be copyable.
//
// For a process of one thread. A branch is a process of its own, see fork(2): whatever becomes of
// it, the trunk only hears of it.
#pragma once

#include <string>

#include "pkg/base/result.h"

namespace simulation {

class Branch {
 public:
  // Returns twice: in the branch at once, in the trunk when the branch is over.
  [[nodiscard]] static Branch Begin();

  // Whether this is the branch.
  [[nodiscard]] bool IsHere() const { return output_ >= 0; }
  // Ends the branch, without running any destructor. REQUIRES: IsHere().
  [[noreturn]] void End(const std::string& report) const;
  // What the branch said at its end. An error if it never came to that; whoever has what the
  // beginning came from can play it again. REQUIRES: !IsHere().
  [[nodiscard]] const base::Result<std::string>& report() const { return report_; }

 private:
  int output_ = -1;  // The branch's end of a pipe.
  base::Result<std::string> report_;
};

}  // namespace simulation
