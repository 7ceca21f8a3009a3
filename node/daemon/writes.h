// The writes of a daemon, each of them at most one change to one object. Over any Transport.
#pragma once

#include <string>

#include "controller/api/imex_report.h"
#include "node/daemon/identity.h"
#include "node/daemon/step.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"

namespace imexd {

struct WriteOrder {
  Write write = Write::kLabel;
  bool ready = false;  // Of the entry.
  api::ImexReport report = {};
};

struct Written {
  Manner manner = Manner::kUnknown;  // As the pod says that was labelled.
  std::string version = {};          // Of the clique; empty: nothing was written into one.
};

// The clique is read live before an entry in it is written, and written only as it was read: a
// kConflict is somebody else who was faster.
[[nodiscard]] base::Result<Written> Perform(const DaemonIdentity& self, const WriteOrder& order,
                                            http::Transport& transport);

}  // namespace imexd
