// Rules that must always hold for kubelet plugins.
//
// Each looks at the ground truth only: all versions of all objects, the nodes' disks, and the
// answers to kubelets.
#pragma once

#include "test/simulation/apiserver/api_server.h"
#include "test/simulation/driver/oracles.h"
#include "test/simulation/oracles/oracles.h"

namespace simulation {

// N-1: a claim gets the CDI edits of a channel only if the domain's daemon was Ready on that node
// since its boot. It must be so at that time or within the delay of a watch. A claim may get the
// same edits again in the same boot.
Violations ChannelsNeedAReadyNode(const ApiServer& server, const PluginEvents& events);
// N-2: no claim is prepared for a channel of a domain in another namespace, nor for a daemon
// outside of the driver namespace.
Violations ClaimsAreOfTheirNamespace(const ApiServer& server, const PluginEvents& events);
// N-3: an unprepared claim has no spec. After the last claim of its domain the label stays for at
// most a minute, unless the kubelet calls for another claim. A domain's folder is removed only once
// the domain is deleted and no daemon of it runs there.
Violations NothingStays(const ApiServer& server, const PluginEvents& events);
// N-4: two claims never hold one channel of a node.
Violations ChannelsHaveOneHolder(const ApiServer& server, const PluginEvents& events);
// N-5: a device in an answer to the kubelet exists with the numbers of the driver that is loaded,
// and stays while containers use it.
Violations AnswersAreTrue(const PluginEvents& events);

// Checks all of these, and those of any driver.
Violations CheckPlugins(const ApiServer& server, const PluginEvents& events);

}  // namespace simulation
