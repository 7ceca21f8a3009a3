// The objects and patches that the simulator sends. Pure.
#pragma once

#include <string>

#include "pkg/json/value.h"
#include "test/cluster/nodesim/action.h"
#include "test/cluster/nodesim/settings.h"
#include "test/cluster/nodesim/state.h"

namespace nodesim {

// About 10 KB, like a kubelet's: labels, addresses, capacity, conditions, 50 images.
json::Value RenderNode(const NodeState& node, WallTime wall);
// Returns a kubelet's patch of its Node's status.
json::Value RenderNodeStatusPatch(const NodeState& node, const WriteNodeStatus& action,
                                  WallTime wall);
// Returns a merge patch with the labels of the node's topology and devices.
json::Value RenderNodeLabelsPatch(const NodeState& node, const std::string& version);

json::Value RenderLease(const std::string& node, const kube::Uid& node_uid,
                        const std::string& version, WallTime renewed);
json::Value RenderSlice(const std::string& node, const CreateSlice& slice);
json::Value RenderPodStatusPatch(const WritePodStatus& action, const std::string& host_ip);
json::Value RenderClique(const Clique& clique);

}  // namespace nodesim
