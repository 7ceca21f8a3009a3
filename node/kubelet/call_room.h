// The places of calls that wait, for calls of one kind.
//
// Calls for a claim may wait for calls of another kind: channels for their node's daemon, and a
// prepare for another pod's unprepare. So each kind has a room of its own. Thread-safe.
// Bounds: 64 claims, more only by the last call that found a place; 256 calls.
#pragma once

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
  bool Enter(const std::vector<ClaimName>& claims);
  // REQUIRES: Enter() returned true for these claims.
  void Leave(const std::vector<ClaimName>& claims);

 private:
  // Not base::Mutex: gRPC's headers define macros with the same names as its own.
  std::mutex mutex_;
  std::map<std::string, int> open_ = {};  // By UID, the number of calls.
  int calls_ = 0;
};

}  // namespace kubelet
