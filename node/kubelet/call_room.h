// The places of calls that wait, for calls of one kind.
//
// Calls for a claim may wait for calls of another kind: channels for their node's daemon, and a
// prepare for another pod's unprepare. So each kind has a room of its own. Thread-safe.
// Bounds: 64 claims, more only by the last call that found a place; 256 calls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "node/kubelet/claims.h"

namespace kubelet {

inline constexpr std::size_t kClaimPlaces = 64;
inline constexpr int kCallsMax = 256;

class CallRoom {
 public:
  // Returns whether the call may wait. Calls for the same claims share places: the pods that use
  // one claim.
  bool Enter(const std::vector<ClaimName>& claims) {
    const std::lock_guard lock(mutex_);
    const auto is_open = [this](const ClaimName& claim) { return open_.contains(claim.uid); };
    const bool has_place = open_.size() < kClaimPlaces || std::ranges::all_of(claims, is_open);
    if (!has_place || calls_ >= kCallsMax) return false;
    ++calls_;
    for (const ClaimName& claim : claims) ++open_[claim.uid];
    return true;
  }
  // REQUIRES: Enter() returned true for these claims.
  void Leave(const std::vector<ClaimName>& claims) {
    const std::lock_guard lock(mutex_);
    --calls_;
    for (const ClaimName& claim : claims) {
      const auto it = open_.find(claim.uid);
      if (--it->second == 0) open_.erase(it);
    }
  }

 private:
  // Not base::Mutex: gRPC's headers define macros with the same names as its own.
  std::mutex mutex_;
  std::map<std::string, int> open_ = {};  // By UID, the number of calls.
  int calls_ = 0;
};

}  // namespace kubelet
