// The objects as the API server gets them. Pure.
#pragma once

#include <string>

#include "pkg/json/value.h"
#include "test/cluster/nodesim/action.h"
#include "test/cluster/nodesim/settings.h"
#include "test/cluster/nodesim/state.h"

namespace nodesim {

// About 10 KB, as a kubelet's: labels, addresses, capacity, conditions, 50 images.
[[nodiscard]] json::Value RenderNode(const NodeState& node, WallTime wall);
// What a kubelet patches into its Node's status.
[[nodiscard]] json::Value RenderNodeStatusPatch(const NodeState& node,
                                                const WriteNodeStatus& action, WallTime wall);
// The labels that say where the node is and what it has; to be merged.
[[nodiscard]] json::Value RenderNodeLabelsPatch(const NodeState& node, const std::string& version);

[[nodiscard]] json::Value RenderLease(const std::string& node, const kube::Uid& node_uid,
                                      const std::string& version, WallTime renewed);
[[nodiscard]] json::Value RenderSlice(const std::string& node, const CreateSlice& slice);
[[nodiscard]] json::Value RenderPodStatusPatch(const WritePodStatus& action,
                                               const std::string& host_ip);
[[nodiscard]] json::Value RenderClique(const Clique& clique);

}  // namespace nodesim
