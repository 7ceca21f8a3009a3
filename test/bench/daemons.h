// Nodes and daemon pods as objects alone: nobody is behind them. For rows in which the cluster's
// controllers are paused.
#pragma once

#include <vector>

#include "pkg/base/result.h"
#include "pkg/json/value.h"
#include "pkg/kube/api/meta.h"
#include "test/bench/stage.h"

namespace bench {

// Waits until the controller has made the domain's DaemonSet.
[[nodiscard]] base::Result<json::Value> AwaitDaemonSet(Stage& stage, const json::Value& domain);
// Makes `nodes`, and on each a claim of the domain that is allocated there, and the pod that
// `daemon_set` would have there, Ready.
[[nodiscard]] base::Result<void> MakeDaemons(Stage& stage, const json::Value& daemon_set,
                                             const std::vector<json::Value>& nodes);
// Whether `count` nodes are Ready in the domain's status. Not MEMBERS, which has who is expected.
[[nodiscard]] bool AreReady(const json::Value& domain, std::size_t count);
[[nodiscard]] kube::ObjectKey DaemonKey(const json::Value& daemon_set, const json::Value& node);

}  // namespace bench
