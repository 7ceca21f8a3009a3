// Nodes and daemon pods that exist only as objects.
//
// For rows in which the cluster's controllers are paused.
#pragma once

#include <vector>

#include "pkg/base/result.h"
#include "pkg/json/value.h"
#include "pkg/kube/api/meta.h"
#include "test/bench/stage.h"

namespace bench {

// Waits until the controller has created the domain's DaemonSet.
base::Result<json::Value> AwaitDaemonSet(Stage& stage, const json::Value& domain);
// Creates `nodes`. On each it creates a claim of the domain that is allocated there, and a Ready
// pod as `daemon_set` would create it.
base::Result<void> MakeDaemons(Stage& stage, const json::Value& daemon_set,
                               const std::vector<json::Value>& nodes);
// Returns whether `count` nodes are Ready in the domain's status. Does not use MEMBERS, which
// counts expected members.
bool AreReady(const json::Value& domain, std::size_t count);
kube::ObjectKey DaemonKey(const json::Value& daemon_set, const json::Value& node);

}  // namespace bench
