// Rules that must always hold for the GPU plugin.
//
// Each looks at the ground truth only: the claims as they were allocated, what the nodes have, and
// the answers to kubelets.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "test/simulation/apiserver/api_server.h"
#include "test/simulation/driver/oracles.h"

namespace simulation {

// A device of a claim, as the scheduler allocated it.
struct GpuTruth {
  std::string node = {};
  std::string device = {};
  bool admin_access = false;
};
// By UID. Keeps deleted claims.
using ClaimTruths = std::map<kube::Uid, std::vector<GpuTruth>>;
ClaimTruths ReadClaims(const ApiServer& server);

// Returns what a claim's CDI spec has that it must not have, or lacks. Empty if it is right.
std::string WrongIn(const std::string& spec, const kube::Uid& uid,
                    const std::vector<GpuTruth>& devices, const HostTruth& host);

// G-1: two prepared claims never hold one device, unless one of them has admin access.
Violations GpusHaveOneHolder(const ClaimTruths& claims, const PluginEvents& events);
// G-2: a claim that the kubelet was told of has a CDI spec with its devices, with the numbers and
// files of the driver that is loaded, until the kubelet unprepares it. The spec may be late for a
// while after a stranger removed it, or the host changed. It is never removed. `end` is when the
// run ended.
Violations AnsweredClaimsHaveSpecs(const ClaimTruths& claims, const PluginEvents& events, Time end);
// G-3: after an unprepare, and where no pod is, nothing is left: neither spec nor entry.
Violations NoGpuStays(const PluginEvents& events);
// G-4: at rest a node publishes what it has.
Violations PublishedIsThere(const PluginEvents& events);
// G-5: a claim that was prepared is prepared again with the same devices. It is refused only if its
// node lost a file, and cannot read now what the file had.
Violations AnswersRepeat(const ClaimTruths& claims, const PluginEvents& events);
// G-6: a claim is given nothing but what it was allocated, on its node.
Violations OnlyAllocatedIsGiven(const ClaimTruths& claims, const PluginEvents& events);

// Checks all of these, and those of any driver.
Violations CheckGpus(const ApiServer& server, const PluginEvents& events);

}  // namespace simulation
