// What a person can do so that pods get a channel, as a value. Pure.
// Conditions say the same in words; debug pages show the value, so that tools need no text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/compute_domain/model/observed.h"
#include "pkg/json/value.h"

namespace compute_domain {

struct Advice {
  enum class Do {
    kInstallPlugin,  // On the nodes `objects`; without objects, where pods of domains are to run.
    kInstallGpuDriver,  // No node publishes such GPUs.
    kDeleteClaims,      // The claims `objects`, "namespace/name", or the pods that use them.
    kAskForGpus,        // At most `number` for each pod.
    kRunPods,           // At most `number` at a time.
    kStartElsewhere,    // All pods of the job, so that they find the clique `objects`.
    kWaitForNodes,      // In the clique `objects`.
    kWaitForDomains,    // Until pods of the domains `objects`, "namespace/name", end.
    kWaitForOwnPods,    // Until pods of this domain end.
    kWaitForDevices,    // Until other pods release devices that are not the driver's.
  };
  Do what = Do::kWaitForDevices;
  std::vector<std::string> objects = {};
  int number = 0;
  friend bool operator==(const Advice&, const Advice&) = default;
};

std::string_view ToString(Advice::Do what);
// Returns {"do": "DeleteClaims", "objects": ["team-a/stray"], "number": 0}.
json::Value Encode(const Advice& advice);
// Returns whether only a person can end the wait.
bool NeedsAPerson(const Advice& advice);

// For texts: the nodes that the pods select and tolerate.
inline constexpr std::string_view kWherePodsMayRun = "where these pods may run";

// Why pods find no channel, and what to do.
struct Shortage : Failure {
  Advice advice = {};
};

}  // namespace compute_domain
