// A daemon's writes, each at most one change to one object. Over any Transport.
#pragma once

#include <string>

#include "controller/api/imex_report.h"
#include "node/daemon/identity.h"
#include "node/daemon/step.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"

namespace imex_daemon {

struct WriteOrder {
  Write write = Write::kLabel;
  bool ready = false;  // Of the entry.
  api::ImexReport report = {};
};

struct Written {
  MembershipWriter membership_writer = MembershipWriter::kUnknown;  // Of the labelled pod.
  std::string version = {};  // resourceVersion of the clique. Empty if it was not written.
};

// Reads the clique live before it writes an entry, and writes it only if it is unchanged since:
// returns kConflict if another writer was faster.
[[nodiscard]] base::Result<Written> Perform(const DaemonIdentity& self, const WriteOrder& order,
                                            http::Transport& transport);

}  // namespace imex_daemon
