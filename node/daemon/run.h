// One run of the daemon: its threads around Decide(), from start to end.
//
// Threads: the caller's decides, and alone touches files and IMEX; one watches, one writes to the
// API server, one asks nvidia-imex-ctl, and one passes IMEX's words on. They meet in a TaskQueue.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "node/daemon/prepare.h"
#include "node/daemon/settings.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/task_queue.h"
#include "pkg/kube/client/config.h"

namespace imex_daemon {

struct Context {
  const Settings& settings;
  const base::Clock& clock;
  base::Logger& logger;
  Programs programs = {};
  std::vector<std::string> environment = {};  // Of IMEX and its control program.
  std::function<base::Result<kube::ClientConfig>()> load_config = {};
};

// Blocks until `stopping` says so, and all is over, or until IMEX cannot be started: then the error
// says why and what to do. Who asks for the stop, or sees that a child has ended, wakes `tasks`.
[[nodiscard]] base::Result<void> Run(const Context& context, base::TaskQueue& tasks,
                                     const std::function<bool()>& stopping);

}  // namespace imex_daemon
