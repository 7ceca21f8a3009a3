// Garbage-collects on the node, and rebuilds an unreadable checkpoint.
//
// Collects at start-up, every 10 minutes, and at once if the checkpoint becomes unreadable.
// Used by the deciding thread.
#pragma once

#include <functional>
#include <string>

#include "node/dra/loop/claim_look_ups.h"
#include "node/gpu/loop/gpu_state.h"
#include "node/kubelet/claims.h"

namespace gpu {

class GarbageCollector {
 public:
  // `take_back` is called for claims in the checkpoint that no longer exist.
  GarbageCollector(GpuState& state, std::function<void(const kubelet::ClaimName& claim)> take_back);

  // Collects if it is due. Returns when to call it again if nothing changes.
  TimePoint Turn();

 private:
  base::Result<void> Collect();
  void Rebuild();
  void TryLater(const base::Error& error);

  GpuState& state_;
  dra::ClaimLookUps look_ups_;
  TimePoint next_ = {};
  bool asking_ = false;
  bool was_unreadable_ = false;
  std::string said_ = {};
};

}  // namespace gpu
