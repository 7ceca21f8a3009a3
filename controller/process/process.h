// One run of the controller: threads around compute_domain::Controller.
//
// Threads: one runs all reflectors, one renews the Lease, one sends Events, several reconcile, and
// the caller's thread supervises them. They share the stores, the queue, the elector's IsLeader()
// and the atomics in process.cc.
#pragma once

#include <functional>
#include <stop_token>

#include "controller/settings/settings.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/kube/client/config.h"
#include "pkg/kube/lease/fitness.h"

namespace process {

// Why a run ended.
enum class ExitReason {
  kStopped,        // `stop` was requested. The Lease was released.
  kLeaseLost,      // Another replica may lead. Run again: no state of this term remains.
  kStoodDown,      // NVIDIA's controller acts outside of the election. Run again, as a standby.
  kCannotServe,    // It led, and could not serve for a minute. Run again, as a standby.
  kOtherMode,      // Domains were created in the other mode of --imex-mode. The log names them.
  kConfigChanged,  // The endpoint or the credentials changed. Run again. The Lease was released.
};

struct Context {
  const settings::Settings& settings;
  const base::Clock& clock;
  base::Logger& logger;
  kube::Fitness& fitness;  // Of the process. Outlives its runs.
  // Reads the configuration again, every `reload_period`.
  std::function<base::Result<kube::ClientConfig>()> load_config = {};
  std::chrono::milliseconds reload_period{5'000};
};

// Blocks until the run ends. `config` must have been loaded just before.
ExitReason Run(const Context& context, kube::ClientConfig config, const std::stop_token& stop);

}  // namespace process
