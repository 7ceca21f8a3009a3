// One run of the plugin, from start to end.
//
// Threads: the caller's decides, and alone writes files; gRPC's receive the kubelet's calls; one
// watches the API server, one more the clique that a claim waits for; four send requests; one reads
// the host. They post to the deciding thread's Mailbox.
#pragma once

#include <functional>

#include "node/plugin/settings.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/result.h"
#include "pkg/base/task_queue.h"
#include "pkg/kube/client/config.h"
#include "pkg/kube/runtime/api_session.h"

namespace plugin {

struct Context {
  const Settings& settings;
  const base::Clock& clock;
  base::Logger& logger;
  std::function<base::Result<kube::ClientConfig>()> load_config = {};
};

// Blocks until `stopping()` returns true and shutdown is complete, or until the kubelet cannot be
// served: then the error says why and what to do. The caller must wake `tasks` when `stopping()`
// changes.
[[nodiscard]] base::Result<void> Run(const Context& context, base::TaskQueue& tasks,
                                     const std::function<bool()>& stopping);

}  // namespace plugin
