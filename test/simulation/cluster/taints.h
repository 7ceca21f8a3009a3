// Which nodes accept a pod, by their taints.
//
// Source: kubernetes 1.36, staging/src/k8s.io/component-helpers/scheduling/corev1 and
// pkg/controller/daemon/util.
#pragma once

#include <string_view>

#include "test/simulation/apiserver/object.h"

namespace simulation {

bool Tolerates(const json::Value& pod_spec, const json::Value& taint);
// Returns whether the pod tolerates all taints of that effect on the node. A cordoned node has one
// more taint, with effect NoSchedule.
bool ToleratesAll(const json::Value& pod_spec, const Object& node, std::string_view effect);
// Adds the tolerations that the DaemonSet controller gives all its pods, so that they also run on
// broken nodes.
void AddDaemonTolerations(json::Value& pod_spec);

}  // namespace simulation
