#include "node/kubelet/call_room.h"

#include <algorithm>

namespace kubelet {

bool CallRoom::Enter(const std::vector<ClaimName>& claims) {
  const std::lock_guard lock(mutex_);
  const auto is_open = [this](const ClaimName& claim) { return open_.contains(claim.uid); };
  const bool has_place = open_.size() < kClaimPlaces || std::ranges::all_of(claims, is_open);
  if (!has_place || calls_ >= kCallsMax) return false;
  ++calls_;
  for (const ClaimName& claim : claims) ++open_[claim.uid];
  return true;
}

void CallRoom::Leave(const std::vector<ClaimName>& claims) {
  const std::lock_guard lock(mutex_);
  --calls_;
  for (const ClaimName& claim : claims) {
    const auto it = open_.find(claim.uid);
    if (--it->second == 0) open_.erase(it);
  }
}

}  // namespace kubelet
