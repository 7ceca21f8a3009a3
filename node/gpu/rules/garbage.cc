#include "node/gpu/rules/garbage.h"

#include <utility>

#include "node/gpu/rules/claim_devices.h"
#include "node/gpu/rules/prepare.h"
#include "pkg/base/find.h"

namespace gpu {

GarbagePlan FindGarbage(const Checkpoint& checkpoint, const std::vector<std::string>& specs) {
  GarbagePlan garbage;
  for (const auto& [uid, claim] : checkpoint.claims) {
    if (claim.name.empty()) continue;
    garbage.look_up.push_back({.ns = claim.ns, .uid = uid, .name = claim.name});
  }
  for (const std::string& uid : specs) {
    if (!checkpoint.claims.contains(uid)) garbage.remove_specs.push_back(uid);
  }
  return garbage;
}

Checkpoint Rebuild(const GpuNode& node, const std::string& boot_id,
                   const std::vector<ClaimToPrepare>& claims,
                   const std::vector<std::string>& specs) {
  Checkpoint checkpoint = {.boot_id = boot_id};
  for (const ClaimToPrepare& claim : claims) {
    // Decoded leniently: NVIDIA's driver, or an older one, may have prepared what this one refuses.
    const auto& wanted = claim.status.wanted();
    const bool is_ours = claim.is_allocated && wanted && wanted->IsOn(node.node);
    if (!is_ours || !base::Contains(specs, claim.uid)) continue;
    CheckpointClaim entry = StartedClaim(claim);
    // A device that is lost cannot be described, and its claim counts as started.
    if (MissingOf(node, *wanted).empty()) {
      entry.state = ClaimState::kCompleted;
      entry.groups = {GroupOf(node, claim.uid, *wanted)};
    }
    checkpoint.claims[claim.uid] = std::move(entry);
  }
  return checkpoint;
}

}  // namespace gpu
