// One run of the plugin, from start to end.
//
// Threads: the caller's decides, and alone touches files; gRPC's take what the kubelet asks; one
// watches, one more watches the clique that somebody waits for, four ask the API server and write,
// one reads the host. They meet in a TaskQueue.
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

// Blocks until `stopping` says so, and all is over, or until the kubelet cannot be served: then the
// error says why and what to do. Who asks for the stop wakes `tasks`.
[[nodiscard]] base::Result<void> Run(const Context& context, base::TaskQueue& tasks,
                                     const std::function<bool()>& stopping);

}  // namespace plugin
