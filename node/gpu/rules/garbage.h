// What the GPU driver garbage-collects on its node. Pure.
#pragma once

#include <string>
#include <vector>

#include "node/gpu/rules/checkpoint.h"
#include "node/gpu/rules/claim.h"
#include "node/gpu/rules/gpu_node.h"
#include "node/kubelet/claims.h"

namespace gpu {

struct GarbagePlan {
  std::vector<std::string> remove_specs = {};    // UIDs of claims whose CDI file goes.
  std::vector<kubelet::ClaimName> look_up = {};  // Claims that may be deleted by now.
};

// `specs` are the UIDs of claims that have a CDI file. Keeps that of a claim in the checkpoint: a
// claim is written there before anything else is written for it. Of a claim without a name, which
// NVIDIA's driver has prepared, only the kubelet knows when it ends.
GarbagePlan FindGarbage(const Checkpoint& checkpoint, const std::vector<std::string>& specs);

// Returns a checkpoint that replaces an unreadable one, made from the claims that the API server
// has for this node, and from the CDI specs.
Checkpoint Rebuild(const GpuNode& node, const std::string& boot_id,
                   const std::vector<ClaimToPrepare>& claims,
                   const std::vector<std::string>& specs);

}  // namespace gpu
