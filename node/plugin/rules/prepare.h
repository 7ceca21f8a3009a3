// The next step for a claim to be prepared or unprepared.
//
// Pure. The caller passes everything that is known, executes the step that is returned, and calls
// again with the new state. Each step follows from what exists, not from earlier steps. So the
// process may end at any time: the kubelet retries, and the next process continues.
//
//   prepare:    checkpoint "started" - label the node - wait until the node is ready and a daemon
//               of the domain is prepared here - write the CDI spec - checkpoint "completed"
//   unprepare:  remove the CDI spec - remove the label - remove the claim from the checkpoint
//
// The label may stay for a while: the domain's next pod on the node then finds its daemon running.
// The garbage collector removes it later, or the prepare of another domain's claim at once.
//
// A user wrote the claim, so it is checked before anything is written for it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "node/cdi/spec.h"
#include "node/dra/rules/step.h"
#include "node/plugin/rules/checkpoint.h"
#include "node/plugin/rules/claim.h"
#include "node/plugin/rules/identity.h"
#include "pkg/base/clock.h"

namespace plugin {

using TimePoint = base::Clock::TimePoint;

using dra::kAnswerAfter;

// State of the node and the cluster for one step of a claim.
struct NodeObservation {
  // Why the checkpoint cannot be relied on: it is unreadable, and rebuilt. Empty if it is not.
  std::string rebuilding = {};
  // Why the host is not read. Empty if it is. Without it no claim is prepared.
  std::string no_host = {};
  // Why the host is read again: another driver is loaded, so device numbers and files that were
  // read are wrong, or do not exist. Empty if it is the same.
  std::string other_driver = {};
  bool is_restore = false;  // Nobody asked: files of a prepared claim were lost.
  // The domain that the claim names. Empty if the cache does not have it.
  std::optional<DomainIdentity> domain = {};
  bool domain_gone = false;      // A live read found no such domain.
  bool node_read = false;        // The Node has been read, and no write to it is in flight.
  std::string node_domain = {};  // Domain in the node's label. Empty if it has none.
  // The node is Ready in the domain; if the host runs IMEX, that IMEX is ready.
  bool is_ready = false;
  // The CDI file of NVIDIA's driver is as written. Daemons' claims name it.
  bool has_driver_spec = false;
  bool has_folder = false;             // The domain has a folder with the IMEX template.
  bool has_spec = false;               // The claim has a CDI file, readable or not.
  std::optional<cdi::Spec> spec = {};  // Its content. Empty if unreadable.
  // Unprepare: the label of the claim's domain may stay for a while.
  bool keeps_label = false;
  // Unprepare: another instance of the plugin may have a call to prepare the claim that waits.
  bool has_elder = false;
  // The kubelet no longer waits for the call, or has asked for the opposite since.
  bool is_withdrawn = false;
  base::Clock::WallTime called = {};  // When the kubelet called, for times in the checkpoint.
  TimePoint since = {};               // When the kubelet called.
  TimePoint now = {};
};

using dra::CheckpointStarted, dra::FetchClaim, dra::RemoveSpec, dra::WaitForChange, dra::WriteSpec;
// Sets the node's empty label to this domain's UID.
struct LabelNode {
  std::string domain = {};
};
struct CreateDomainFolder {
  std::string domain = {};
};
// Writes the claim's devices into the checkpoint, as prepared.
struct CheckpointCompleted {
  std::vector<PreparedGroup> groups = {};
};
// Removes the node's label if it still has this domain's UID. Returned only when no claim needs it.
struct UnlabelNode {
  std::string domain = {};
};
// Marks the claim as aborted, so that a late prepare of it is refused. Makes an entry if it has
// none.
struct CheckpointAborted {
  bool has_elder = false;    // A prepare that began in this second may wait in another instance.
  bool keeps_label = false;  // As below.
};
struct RemoveFromCheckpoint {
  bool keeps_label = false;  // The node's label stays for a while, though no claim may need it.
};
// Answers the kubelet.
struct AnswerKubelet {
  std::vector<PreparedGroup> groups = {};  // Of a claim that is prepared.
  std::string error = {};                  // Empty if the call succeeded.
  bool is_permanent = false;               // The claim is never prepared as it is.
};

using ClaimStep = std::variant<CheckpointStarted, LabelNode, CreateDomainFolder, WriteSpec,
                               CheckpointCompleted, RemoveSpec, UnlabelNode, CheckpointAborted,
                               RemoveFromCheckpoint, FetchClaim, WaitForChange, AnswerKubelet>;

// Returns a wait for `what` while the kubelet still waits for the call, and afterwards an answer
// with `what` as the error.
ClaimStep WaitFor(const NodeObservation& observed, std::string what);

// StartedClaim() returns the checkpoint entry of a claim that is started. Abort() marks an entry as
// aborted. Its time has whole seconds: those of `now`, or the next one if an older instance serves.
CheckpointClaim StartedClaim(const ClaimToPrepare& claim);
void Abort(CheckpointClaim& entry, const CheckpointAborted& step, base::Clock::WallTime now);

// Returns the next step to prepare the claim with this UID. `claim` is null until it is read.
// Returns FetchClaim only if `claim` is null and needed.
ClaimStep Prepare(const NodeIdentity& self, const std::string& uid, const ClaimToPrepare* claim,
                  const Checkpoint& checkpoint, const NodeObservation& observed);
// Returns the next step to unprepare it. Ignores `observed.domain`.
ClaimStep Unprepare(const NodeIdentity& self, const std::string& uid, const Checkpoint& checkpoint,
                    const NodeObservation& observed);

// Returns whether the claim's answer names devices of CDI files.
bool NamesCdiDevices(const CheckpointClaim& claim);

// Returns type and domain of a claim in the checkpoint. Empty if the entry does not have them.
std::optional<OpaqueConfig> UseOf(const CheckpointClaim& claim);
// Returns whether a claim other than `but` needs the node's label to have this domain. An entry
// that does not tell its use may need any domain.
bool IsLabelNeeded(const std::string& domain, const std::string& but, const Checkpoint& checkpoint);

}  // namespace plugin
