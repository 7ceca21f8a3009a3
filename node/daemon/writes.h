// A daemon's writes, over any Transport. Each changes at most one object.
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
  bool ready = false;  // Value for the entry.
  api::ImexReport report = {};
};

struct Written {
  MembershipWriter membership_writer = MembershipWriter::kUnknown;  // As the labelled pod says.
  std::string version = {};  // resourceVersion of the clique. Empty if it was not written.
};

// Reads the clique live before it writes an entry, and writes only if the clique is unchanged
// since. Returns kConflict if another client wrote in between.
base::Result<Written> Perform(const DaemonIdentity& self, const WriteOrder& order,
                              http::Transport& transport);

}  // namespace imex_daemon
