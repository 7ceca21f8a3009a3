// The rules of the GPU driver together. Tests replace one of them by a wrong one.
#pragma once

#include <functional>

#include "node/gpu/rules/checkpoint.h"
#include "node/gpu/rules/claim_devices.h"
#include "node/gpu/rules/garbage.h"
#include "node/gpu/rules/prepare.h"

namespace gpu {

struct Rules {
  std::function<decltype(Prepare)> prepare = &Prepare;
  std::function<decltype(Unprepare)> unprepare = &Unprepare;
  std::function<decltype(FindGarbage)> find_garbage = &FindGarbage;
  std::function<decltype(dra::Resume<CheckpointClaim>)> resume = &dra::Resume<CheckpointClaim>;
  std::function<decltype(Rebuild)> rebuild = &Rebuild;
  std::function<decltype(IsOutdated)> is_outdated = &IsOutdated;
};

}  // namespace gpu
