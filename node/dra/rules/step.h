// Steps of a claim that any driver has. Pure.
//
// Each has the data that its execution needs.
#pragma once

#include <string>

#include "node/cdi/spec.h"
#include "pkg/base/clock.h"

namespace dra {

// Writes the claim into the checkpoint as started.
struct CheckpointStarted {};
struct WriteSpec {
  cdi::Spec spec = {};
};
struct RemoveSpec {};
// Reads the claim from the API server, because the checkpoint is not enough to answer the kubelet.
struct FetchClaim {};
// Waits for any change of what is observed, at most until `until`.
struct WaitForChange {
  std::string reason = {};
  base::Clock::TimePoint until = {};
};

}  // namespace dra
