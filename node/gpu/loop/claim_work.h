// The work on each claim of the kubelet's open calls: observes the node, asks the rules for the
// next step, and executes it.
//
// Used by the deciding thread.
#pragma once

#include <memory>
#include <vector>

#include "node/dra/loop/claim_queue.h"
#include "node/gpu/loop/gpu_state.h"

namespace gpu {

class ClaimWorks final : public dra::ClaimDriver {
 public:
  explicit ClaimWorks(GpuState& state) : state_(state) {}

  std::unique_ptr<dra::ClaimWork> Begin(dra::ClaimCall& call) override;
  void BeginTurn() override {}
  std::vector<kubelet::ClaimName> FindLost() override;

 private:
  class Work;
  GpuState& state_;
};

}  // namespace gpu
