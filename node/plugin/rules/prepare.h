// What a plugin does next for a claim that the kubelet wants prepared or unprepared.
//
// Pure. The caller passes everything that is known, carries out the one step that is returned, and
// asks again with what is known by then. Each step follows from what exists, not from earlier
// steps. So the process may end anywhere: the kubelet asks again, and the next process continues.
//
//   prepare:    checkpoint "started" - label the node - wait until the node is ready - write the
//               CDI spec - checkpoint "completed"
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
#include "node/plugin/rules/checkpoint.h"
#include "node/plugin/rules/claim.h"
#include "node/plugin/rules/identity.h"
#include "pkg/base/clock.h"

namespace plugin {

using TimePoint = base::Clock::TimePoint;

// The kubelet times out after 45 s, and then the user learns only that. So every call is answered
// before, with what it waited for.
inline constexpr std::chrono::seconds kAnswerAfter{40};

// What is known of the node and the cluster when a step is decided for a claim.
struct NodeObservation {
  // The domain that the claim names. Empty if the cache does not have it.
  std::optional<DomainIdentity> domain = {};
  bool domain_gone = false;      // A live read found no such domain.
  bool node_read = false;        // The Node has been read, and no write to it is in flight.
  std::string node_domain = {};  // Domain in the node's label. Empty if it has none.
  // The node is Ready in the domain; if the host runs IMEX, that IMEX is ready.
  bool is_ready = false;
  bool has_folder = false;             // The domain has a folder with the IMEX template.
  bool has_spec = false;               // The claim has a CDI file, readable or not.
  std::optional<cdi::Spec> spec = {};  // Its content. Empty if unreadable.
  // Unprepare: the label of the claim's domain may stay for a while.
  bool keeps_label = false;
  // The kubelet no longer waits for the call, or has asked for the opposite since.
  bool is_withdrawn = false;
  TimePoint since = {};  // When the kubelet called.
  TimePoint now = {};
};

// Steps. Each carries what the caller needs to carry it out.

// Writes the claim into the checkpoint as started.
struct CheckpointStarted {};
// Sets the node's label, which is empty, to this domain's UID.
struct LabelNode {
  std::string domain = {};
};
struct CreateDomainFolder {
  std::string domain = {};
};
struct WriteSpec {
  cdi::Spec spec = {};
};
// Writes the claim's devices into the checkpoint, as prepared.
struct CheckpointCompleted {
  std::vector<PreparedGroup> groups = {};
};
struct RemoveSpec {};
// Removes the node's label if it still has this domain's UID. No claim needs it.
struct UnlabelNode {
  std::string domain = {};
};
// Marks the claim as aborted, so that a late prepare of it is refused.
struct CheckpointAborted {};
struct RemoveFromCheckpoint {};
// Reads the claim from the API server: the checkpoint alone does not answer the kubelet.
struct FetchClaim {};
// Waits for any change of NodeObservation, at most until `until`.
struct WaitForChange {
  std::string reason = {};
  TimePoint until = {};
};
// Answers the kubelet.
struct AnswerKubelet {
  std::vector<PreparedGroup> groups = {};  // Of a claim that is prepared.
  std::string error = {};                  // Empty if the call succeeded.
};

using ClaimStep = std::variant<CheckpointStarted, LabelNode, CreateDomainFolder, WriteSpec,
                               CheckpointCompleted, RemoveSpec, UnlabelNode, CheckpointAborted,
                               RemoveFromCheckpoint, FetchClaim, WaitForChange, AnswerKubelet>;

// Waits while the kubelet still listens to the call of `observed`, and then answers with `what`.
[[nodiscard]] ClaimStep WaitFor(const NodeObservation& observed, std::string what);

// The entry of a claim that is started, and what an abort makes of an entry.
[[nodiscard]] CheckpointClaim StartedClaim(const ClaimToPrepare& claim);
void Abort(CheckpointClaim& entry, base::Clock::WallTime now);

// Returns the next step to prepare the claim with this UID. `claim` is null while it has not been
// read; FetchClaim is returned if, and only if, it is null and needed.
[[nodiscard]] ClaimStep Prepare(const NodeIdentity& self, const std::string& uid,
                                const ClaimToPrepare* claim, const Checkpoint& checkpoint,
                                const NodeObservation& observed);
// Returns the next step to unprepare it. Ignores `observed.domain`.
[[nodiscard]] ClaimStep Unprepare(const NodeIdentity& self, const std::string& uid,
                                  const Checkpoint& checkpoint, const NodeObservation& observed);

// What a claim in the checkpoint is used for.
struct Use {
  DeviceType type = DeviceType::kChannel;
  std::string domain = {};
};
// Empty if the entry does not tell.
[[nodiscard]] std::optional<Use> UseOf(const CheckpointClaim& claim);
// Returns whether a claim other than `but` needs the node's label to have this domain. An entry
// that does not tell may need any.
[[nodiscard]] bool IsLabelNeeded(const std::string& domain, const std::string& but,
                                 const Checkpoint& checkpoint);

}  // namespace plugin
