// Which nodes take a pod, as far as their taints say.
// Source: kubernetes 1.36, staging/src/k8s.io/component-helpers/scheduling/corev1 and
// pkg/controller/daemon/util.
#pragma once

#include <string_view>

#include "test/simulation/apiserver/object.h"

namespace simulation {

[[nodiscard]] bool Tolerates(const json::Value& pod_spec, const json::Value& taint);
// All taints of that effect on the node; one that is cordoned has another of NoSchedule.
[[nodiscard]] bool ToleratesAll(const json::Value& pod_spec, const Object& node,
                                std::string_view effect);
// Puts on what the DaemonSet controller gives all its pods, so that they run on broken nodes, too.
void AddDaemonTolerations(json::Value& pod_spec);

}  // namespace simulation
