// One run of the daemon: its threads around Decide(), from start to end.
//
// Threads: the caller's thread decides, and alone touches files and IMEX. One thread watches, one
// writes to the API server, one asks nvidia-imex-ctl, and one forwards IMEX's output. They post to
// a TaskQueue.
#pragma once

#include "node/daemon/imex_setup.h"
#include "node/daemon/settings.h"
#include "pkg/base/result.h"
#include "pkg/command_line/frame.h"

namespace imex_daemon {

// Blocks until the frame's stop is requested and shutdown is complete, or until IMEX cannot be
// started: then the error says why and what to do. REQUIRES: SIGCHLD wakes the frame's tasks.
base::Result<void> Run(const Settings& settings, const Programs& programs,
                       command_line::Frame& frame);

}  // namespace imex_daemon
