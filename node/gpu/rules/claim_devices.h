// The devices that a claim is given. Pure.
#pragma once

#include <string>
#include <string_view>

#include "node/cdi/spec.h"
#include "node/gpu/rules/checkpoint.h"
#include "node/gpu/rules/claim.h"
#include "node/gpu/rules/gpu_node.h"

namespace gpu {

inline constexpr std::string_view kCdiVendor = "k8s.gpu.nvidia.com";
inline constexpr std::string_view kClaimKind = "k8s.gpu.nvidia.com/claim";

// Returns the first wanted device that the node does not have. Empty if it has all.
std::string MissingOf(const GpuNode& node, const Wanted& wanted);

// Return what the checkpoint and the kubelet get for the claim with this UID, and its CDI spec.
// REQUIRES: MissingOf() is empty.
PreparedGroup GroupOf(const GpuNode& node, const std::string& uid, const Wanted& wanted);
cdi::Spec SpecOf(const GpuNode& node, const std::string& uid, const Wanted& wanted);

// Returns whether a spec is of an earlier driver: it mounts libraries of another version, or has
// other device numbers. Containers that start again in place would lack their files.
bool IsOutdated(const GpuNode& node, const cdi::Spec& spec);

}  // namespace gpu
