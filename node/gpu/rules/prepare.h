// The next step for a claim to be prepared or unprepared.
//
// Pure. The caller passes everything that is known, executes the step that is returned, and calls
// again with the new state. Each step follows from what exists, not from earlier steps. So the
// process may end at any time: the kubelet retries, and the next process continues.
//
//   prepare:    checkpoint "started" - write the CDI spec - checkpoint "completed"
//   unprepare:  remove the CDI spec - remove the claim from the checkpoint
//
// A user wrote the claim, so it is checked before anything is written for it. A prepared claim is
// answered, and unprepared, without NVIDIA's driver.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "node/cdi/spec.h"
#include "node/dra/rules/step.h"
#include "node/gpu/rules/checkpoint.h"
#include "node/gpu/rules/claim.h"
#include "node/gpu/rules/gpu_node.h"
#include "pkg/base/clock.h"

namespace gpu {

using TimePoint = base::Clock::TimePoint;

// State of the node for one step of a claim.
struct NodeObservation {
  // Why the checkpoint cannot be relied on: it is unreadable, and rebuilt. Empty if it is not.
  std::string rebuilding = {};
  // Why the driver is not read, or is read again because it was replaced: device numbers and files
  // that were read are wrong, or do not exist. Empty if it is read.
  std::string no_host = {};
  bool is_restore = false;             // Nobody asked: the CDI file of a prepared claim was lost.
  bool has_spec = false;               // The claim has a CDI file, readable or not.
  std::optional<cdi::Spec> spec = {};  // Its content. Empty if unreadable.
  // The kubelet no longer waits for the call, or has asked for the opposite since.
  bool is_withdrawn = false;
  bool has_younger = false;  // A younger instance of the plugin serves, which the kubelet calls.
  TimePoint since = {};      // When the kubelet called.
  TimePoint now = {};
};

// Writes the claim's devices into the checkpoint, as prepared.
struct CheckpointCompleted {
  PreparedGroup group = {};
};
struct RemoveFromCheckpoint {};
// Answers the kubelet.
struct AnswerKubelet {
  std::vector<PreparedGroup> groups = {};  // Of a claim that is prepared.
  std::string error = {};                  // Empty if the call succeeded.
  bool is_permanent = false;               // The claim is never prepared as it is.
};

using ClaimStep =
    std::variant<dra::CheckpointStarted, dra::WriteSpec, CheckpointCompleted, dra::RemoveSpec,
                 RemoveFromCheckpoint, dra::FetchClaim, dra::WaitForChange, AnswerKubelet>;

// Returns a wait for `what` while the kubelet still waits for the call, and afterwards an answer
// with `what` as the error.
ClaimStep WaitFor(const NodeObservation& observed, std::string what);

// Returns the checkpoint entry of a claim that is started.
CheckpointClaim StartedClaim(const ClaimToPrepare& claim);

// Returns the next step to prepare the claim with this UID. `claim` is null until it is read.
// Returns FetchClaim only if `claim` is null and needed.
ClaimStep Prepare(const GpuNode& node, const std::string& uid, const ClaimToPrepare* claim,
                  const Checkpoint& checkpoint, const NodeObservation& observed);
// Returns the next step to unprepare it.
ClaimStep Unprepare(const std::string& uid, const Checkpoint& checkpoint,
                    const NodeObservation& observed);

}  // namespace gpu
