// Rules that must always hold for the kubelet plugin of any driver.
#pragma once

#include <string>

#include "test/simulation/driver/disk.h"
#include "test/simulation/oracles/oracles.h"

namespace simulation {

// Returns how a violation begins: oracle, revision and node.
std::string At(const char* oracle, const PluginEvent& event);

// N-6: after an unprepare nothing of a claim is created again, unless the kubelet calls for it
// again.
Violations UnpreparedStays(const PluginEvents& events);
// N-7: each call is answered before the kubelet gives up, with a result or a reason.
Violations CallsAreAnswered(const PluginEvents& events);

// Checks all of these.
Violations CheckCalls(const PluginEvents& events);

}  // namespace simulation
