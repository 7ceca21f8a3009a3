// One run of the controller: its threads around compute_domain::Controller, from start to end.
//
// Threads: one watches (all reflectors), one keeps the Lease, some reconcile, and the caller's
// minds them. They meet in the stores, the queue, the elector's IsLeader() and the atomics below.
#pragma once

#include <functional>
#include <stop_token>

#include "controller/settings/settings.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/kube/client/config.h"

namespace process {

// Why a run ended.
enum class ExitReason {
  kStopped,        // `stop` was requested; the Lease was handed over.
  kLeaseLost,      // Another may lead: run again, and nothing of this term is left.
  kOtherMode,      // Domains are served in the other mode of --imex-mode; the log names them.
  kConfigChanged,  // Endpoint or credentials are others now: run again. The Lease was handed over.
};

struct Context {
  const settings::Settings& settings;
  const base::Clock& clock;
  base::Logger& logger;
  // Reads the configuration again, every few seconds.
  std::function<base::Result<kube::ClientConfig>()> load_config = {};
  std::chrono::milliseconds reload_period{5'000};
};

// Blocks until the end. `config` was just loaded.
[[nodiscard]] ExitReason Run(const Context& context, kube::ClientConfig config,
                             const std::stop_token& stop);

}  // namespace process
