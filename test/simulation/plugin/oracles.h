// What must always hold of kubelet plugins. Each looks at the truth alone: at all versions of all
// objects, at what lies on the nodes' disks, and at what kubelets were told.
#pragma once

#include "test/simulation/apiserver/api_server.h"
#include "test/simulation/oracles/oracles.h"
#include "test/simulation/plugin/disk.h"

namespace simulation {

// N-1: no edits of a channel are written or answered unless the domain's daemon was Ready on that
// node since it booted, then or as late as a watch may be.
[[nodiscard]] Violations ChannelsNeedAReadyNode(const ApiServer& server,
                                                const PluginEvents& events);
// N-2: no claim is prepared for a channel of another namespace's domain, nor for a daemon outside
// of the driver's namespace.
[[nodiscard]] Violations ClaimsAreOfTheirNamespace(const ApiServer& server,
                                                   const PluginEvents& events);
// N-3: a claim that was unprepared has no spec, and the last one of its domain leaves no label for
// longer than a minute, unless the kubelet calls for another; a domain's folder goes only once the
// domain is gone and no daemon of it runs there.
[[nodiscard]] Violations NothingStays(const ApiServer& server, const PluginEvents& events);
// N-4: two claims never hold one channel of a node.
[[nodiscard]] Violations ChannelsHaveOneHolder(const ApiServer& server, const PluginEvents& events);
// N-5: what a kubelet is told of is there, and stays while containers run with it.
[[nodiscard]] Violations AnswersAreTrue(const PluginEvents& events);

// N-6: after an unprepare nothing of a claim comes back, unless the kubelet calls for it again.
[[nodiscard]] Violations UnpreparedStays(const PluginEvents& events);

// All of these.
[[nodiscard]] Violations CheckPlugins(const ApiServer& server, const PluginEvents& events);

}  // namespace simulation
