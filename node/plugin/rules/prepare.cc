#include "node/plugin/rules/prepare.h"

#include <algorithm>
#include <utility>

#include "node/plugin/rules/cdi_names.h"
#include "node/plugin/rules/claim_devices.h"
#include "node/plugin/rules/opaque_config.h"
#include "pkg/base/find.h"
#include "pkg/base/rfc3339.h"

namespace plugin {

namespace {

constexpr const char* kWithdrawn = "the kubelet has cancelled the call";
constexpr const char* kNoDriverSpec =
    "the CDI file of NVIDIA's driver is missing or changed, and is written again";

ClaimStep Refuse(std::string why) { return AnswerKubelet{.error = std::move(why)}; }

// Returns whether `is_so` holds for a device that the claim was given.
template <typename Predicate>
bool HasDevice(const CheckpointClaim& claim, Predicate is_so) {
  return std::ranges::any_of(claim.groups, [&is_so](const PreparedGroup& group) {
    return std::ranges::any_of(group.devices, is_so);
  });
}

// Returns another claim that holds the same device. Null if there is none. An administrator's claim
// may use a daemon device in addition. Only one claim may hold a channel.
const CheckpointClaim* HolderOf(const Wanted& wanted, const std::string& uid,
                                const Checkpoint& checkpoint) {
  const auto holds = [&wanted](const PreparedDevice& device) {
    return device.pool == wanted.device.pool && device.name == wanted.device.device;
  };
  if (wanted.name.type == DeviceType::kDaemon && wanted.device.admin_access) return nullptr;
  for (const auto& [other, claim] : checkpoint.claims) {
    if (other == uid || claim.state != ClaimState::kCompleted) continue;
    const auto& theirs = claim.status.wanted();
    const bool looks_on =
        theirs && theirs->name.type == DeviceType::kDaemon && theirs->device.admin_access;
    if (!looks_on && HasDevice(claim, holds)) return &claim;
  }
  return nullptr;
}

bool NamesDriver(const CheckpointClaim& entry) {
  return HasDevice(entry, [](const PreparedDevice& device) {
    return std::ranges::any_of(device.cdi_ids,
                               [](const std::string& id) { return id.starts_with(kBaseDevices); });
  });
}

// Returns the next step to restore what a prepared claim names besides its own CDI file. Empty if
// nothing is missing.
std::optional<ClaimStep> RestoreShared(const CheckpointClaim& entry,
                                       const NodeObservation& observed) {
  const auto use = UseOf(entry);
  const bool is_daemon = use && use->type == DeviceType::kDaemon;
  // Only another plugin can have written that. Its domain's folder cannot exist.
  if (is_daemon && !IsUid(use->domain)) {
    return Refuse(
        "the entry of this claim in checkpoint.json names no ComputeDomain: delete the pod");
  }
  if (NamesDriver(entry) && !observed.has_driver_spec) return WaitFor(observed, kNoDriverSpec);
  if (is_daemon && !observed.has_folder) return CreateDomainFolder{use->domain};
  return {};
}

// Returns whether containers find the claim's devices: in its CDI file, or because it has none.
bool IsResolvable(const CheckpointClaim& entry, const NodeObservation& observed) {
  return observed.spec || !NamesCdiDevices(entry);
}

ClaimStep Write(cdi::Spec spec, const NodeObservation& observed) {
  if (!observed.other_driver.empty()) return WaitFor(observed, observed.other_driver);
  return WriteSpec{std::move(spec)};
}

// Writes the spec of a prepared claim again if it was lost: containers may restart. No answer names
// a file that is not there.
ClaimStep RestoreSpec(const NodeIdentity& self, const ClaimToPrepare& claim,
                      const CheckpointClaim& entry, const NodeObservation& observed) {
  constexpr std::string_view kLost = "the CDI file of this claim was lost, and ";
  if (!claim.wanted) return Refuse(std::string(kLost) + claim.wanted.error().message);
  const bool is_channel = claim.wanted->name.type == DeviceType::kChannel;
  if (!is_channel && !observed.domain) {
    return WaitFor(observed, std::string(kLost) + "ComputeDomain " + claim.wanted->config.domain +
                                 " is not known here");
  }
  cdi::Spec spec =
      SpecOf(self, claim.uid, *claim.wanted, observed.domain.value_or(DomainIdentity()));
  // The kubelet keeps the device names of the first answer.
  if (spec.devices.empty() ||
      entry.groups != std::vector{GroupOf(self, claim.uid, *claim.wanted)}) {
    return WaitFor(observed, std::string(kLost) + "the node has other devices now");
  }
  return Write(std::move(spec), observed);
}

// Returns why the claim is never prepared as it is. Empty if it may be.
std::string Objection(const NodeIdentity& self, const ClaimToPrepare& claim,
                      const NodeObservation& observed) {
  if (!claim.is_allocated) return "the claim is not allocated";
  if (!claim.wanted) return claim.wanted.error().message;
  const Wanted& wanted = *claim.wanted;
  if (wanted.device.pool != self.node) return "the claim was allocated on another node";
  if (wanted.name.type == DeviceType::kDaemon) {
    if (self.host_managed) return "the host runs IMEX: no claim for a daemon is prepared";
    // A daemon's container gets every device of the node.
    if (claim.ns != self.driver_namespace) {
      return "claims for daemons are prepared only in namespace " + self.driver_namespace;
    }
  }
  const std::string domain = "ComputeDomain " + wanted.config.domain;
  if (!observed.domain) return observed.domain_gone ? "there is no " + domain : "";
  if (wanted.name.type == DeviceType::kChannel && observed.domain->ns != claim.ns) {
    return domain + " is not in namespace " + claim.ns;
  }
  // Permission to write claims must not exceed what an administrator allows for domains.
  if (wanted.config.all_channels && !observed.domain->has_all_channels) {
    return domain + " gives each pod one channel: spec.channel.allocationMode is not All, as the " +
           "claim's is";
  }
  return {};
}

// Returns whether a daemon of the domain may run here. What the API server says of it may be stale:
// it stays ready there after the daemon has ended if nobody writes that down.
bool HasDaemon(const std::string& domain, const Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.claims, [&domain](const auto& entry) {
    const CheckpointClaim& claim = entry.second;
    const auto use = UseOf(claim);
    const auto& wanted = claim.status.wanted();
    const bool looks_on = wanted && wanted->device.admin_access;
    return claim.state == ClaimState::kCompleted && use && use->type == DeviceType::kDaemon &&
           use->domain == domain && !looks_on;
  });
}

// Returns the next step to make the node ready for a channel. Empty if it is.
std::optional<ClaimStep> NodeFor(const NodeIdentity& self, const std::string& domain,
                                 const Checkpoint& checkpoint, const NodeObservation& observed) {
  if (self.host_managed) {
    if (self.clique.empty() || observed.is_ready) return {};
    return WaitFor(observed, "the host's IMEX does not say READY");
  }
  if (!observed.node_read) return WaitFor(observed, "node " + self.node + " cannot be read");
  if (observed.node_domain.empty()) {
    // The controller removes the labels of a deleted domain, so none may be set after that.
    if (!observed.domain->is_deleting) return LabelNode{domain};
    return WaitFor(observed, "ComputeDomain " + domain + " is being deleted");
  }
  if (observed.node_domain != domain) {
    if (!IsLabelNeeded(observed.node_domain, "", checkpoint)) {
      return UnlabelNode{observed.node_domain};
    }
    return WaitFor(observed, "node " + self.node + " is held by ComputeDomain " +
                                 observed.node_domain + ", not by " + domain);
  }
  const std::string daemon = "daemon of ComputeDomain " + domain + " is ";
  if (!observed.is_ready)
    return WaitFor(observed, "the " + daemon + "not ready on node " + self.node);
  if (HasDaemon(domain, checkpoint)) return {};
  return WaitFor(observed, "no " + daemon + "prepared on node " + self.node);
}

// Returns whether the claim was unprepared after the kubelet had called to prepare it. Another
// instance may have unprepared it.
bool IsAbortedSince(const CheckpointClaim& entry, const ClaimToPrepare& claim,
                    base::Clock::WallTime called) {
  if (entry.state != ClaimState::kAborted) return false;
  const auto aborted = base::ParseTime(entry.aborted_at);
  return entry.status == claim.status || (aborted && called < *aborted);
}

// Returns whether the entry is of the same allocation. Its pods may have changed since: calls for
// several pods would otherwise replace each other's entry.
bool IsSameUse(const CheckpointClaim& entry, const ClaimToPrepare& claim) {
  const auto& noted = entry.status.wanted();
  const auto& asked = claim.status.wanted();
  return noted && asked && *noted == *asked;
}

ClaimStep StartClaim(const NodeIdentity& self, const ClaimToPrepare& claim,
                     const CheckpointClaim* entry, const Checkpoint& checkpoint,
                     const NodeObservation& observed) {
  const Wanted& wanted = *claim.wanted;
  const bool has_entry =
      entry != nullptr && entry->state == ClaimState::kStarted && IsSameUse(*entry, claim);
  const bool is_daemon = wanted.name.type == DeviceType::kDaemon;
  if (!has_entry && (is_daemon || dra::HasRoomFor(claim.status, checkpoint)))
    return CheckpointStarted();
  if (!has_entry) {
    return WaitFor(observed,
                   "the checkpoint is full: claims of node " + self.node +
                       " have 8 MiB of configurations. Entries of deleted pods are removed "
                       "within 3 minutes");
  }
  const std::string& domain = wanted.config.domain;
  if (!is_daemon) {
    if (auto step = NodeFor(self, domain, checkpoint, observed)) return *std::move(step);
  } else if (!observed.has_folder) {
    return CreateDomainFolder{domain};
  } else if (!observed.has_driver_spec) {
    return WaitFor(observed, kNoDriverSpec);
  }
  cdi::Spec spec = SpecOf(self, claim.uid, wanted, *observed.domain);
  if (spec.devices.empty()) {
    if (observed.has_spec) return RemoveSpec();
  } else if (observed.spec != spec) {
    return Write(std::move(spec), observed);
  }
  return CheckpointCompleted{{GroupOf(self, claim.uid, wanted)}};
}

}  // namespace

ClaimStep WaitFor(const NodeObservation& observed, std::string what) {
  const TimePoint until = observed.since + kAnswerAfter;
  if (observed.now >= until) return Refuse(std::move(what));
  return WaitForChange{.reason = std::move(what), .until = until};
}

CheckpointClaim StartedClaim(const ClaimToPrepare& claim) {
  return {.status = claim.status, .name = claim.name, .ns = claim.ns};
}

void Abort(CheckpointClaim& entry, const CheckpointAborted& step, base::Clock::WallTime now) {
  entry.state = ClaimState::kAborted;
  entry.groups.clear();
  entry.aborted_at = base::FormatSeconds(now + std::chrono::seconds(step.has_elder ? 1 : 0));
}

bool NamesCdiDevices(const CheckpointClaim& claim) {
  return HasDevice(claim, [](const PreparedDevice& device) { return !device.cdi_ids.empty(); });
}

std::optional<OpaqueConfig> UseOf(const CheckpointClaim& claim) {
  if (!claim.groups.empty()) {
    return OpaqueConfig{.type = claim.groups[0].type, .domain = claim.groups[0].domain};
  }
  const auto& wanted = claim.status.wanted();
  return wanted ? std::optional(wanted->config) : std::nullopt;
}

bool IsLabelNeeded(const std::string& domain, const std::string& but,
                   const Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.claims, [&](const auto& other) {
    if (other.first == but || other.second.state == ClaimState::kAborted) return false;
    const auto use = UseOf(other.second);
    // An invalid claim that was never answered holds no device, and is never prepared. Another
    // plugin may have taken it in.
    if (!use)
      return other.second.state == ClaimState::kCompleted || !other.second.status.is_allocated();
    return use->type == DeviceType::kChannel && use->domain == domain;
  });
}

ClaimStep Prepare(const NodeIdentity& self, const std::string& uid, const ClaimToPrepare* claim,
                  const Checkpoint& checkpoint, const NodeObservation& observed) {
  if (!observed.rebuilding.empty()) return WaitFor(observed, observed.rebuilding);
  const CheckpointClaim* entry = base::Find(checkpoint.claims, uid);
  const bool is_completed = entry != nullptr && entry->state == ClaimState::kCompleted;
  if (observed.is_restore && !is_completed) return AnswerKubelet();  // It was unprepared.
  // Comes early: the kubelet would not unprepare what is prepared from here on.
  if (observed.is_withdrawn) return Refuse(kWithdrawn);
  if (is_completed) {
    if (auto step = RestoreShared(*entry, observed)) return *std::move(step);
    if (IsResolvable(*entry, observed)) return AnswerKubelet{entry->groups};
  }
  if (claim == nullptr) return FetchClaim();
  if (!observed.no_host.empty()) return WaitFor(observed, observed.no_host);
  if (is_completed) return RestoreSpec(self, *claim, *entry, observed);
  // NVIDIA's plugin notes such a claim too. Like any other it is forgotten once it is deleted.
  const bool is_unreadable = claim->is_allocated && !claim->wanted;
  if (is_unreadable && entry == nullptr && dra::HasRoomFor(claim->status, checkpoint)) {
    return CheckpointStarted();
  }
  if (std::string why = Objection(self, *claim, observed); !why.empty()) {
    return AnswerKubelet{.error = std::move(why), .is_permanent = true};
  }
  if (entry != nullptr && IsAbortedSince(*entry, *claim, observed.called)) {
    return Refuse("stale prepare: the claim was unprepared in the meantime");
  }
  const Wanted& wanted = *claim->wanted;
  if (!observed.domain) {
    return WaitFor(observed, "ComputeDomain " + wanted.config.domain + " is not known here yet");
  }
  if (const CheckpointClaim* holder = HolderOf(wanted, uid, checkpoint)) {
    return WaitFor(observed,
                   wanted.device.device + " is held by claim " + holder->ns + "/" + holder->name);
  }
  return StartClaim(self, *claim, entry, checkpoint, observed);
}

ClaimStep Unprepare(const NodeIdentity& self, const std::string& uid, const Checkpoint& checkpoint,
                    const NodeObservation& observed) {
  if (!observed.rebuilding.empty()) return WaitFor(observed, observed.rebuilding);
  if (observed.is_withdrawn) return Refuse(kWithdrawn);
  // First: once the entry is removed, nothing refers to the file.
  if (observed.has_spec) return RemoveSpec();
  const CheckpointClaim* entry = base::Find(checkpoint.claims, uid);
  if (entry == nullptr && observed.has_elder) return CheckpointAborted{.has_elder = true};
  if (entry == nullptr || entry->state == ClaimState::kAborted) return AnswerKubelet();
  const auto use = UseOf(*entry);
  const bool may_hold_label = use && use->type == DeviceType::kChannel && !self.host_managed &&
                              !observed.keeps_label && !IsLabelNeeded(use->domain, uid, checkpoint);
  if (may_hold_label && !observed.node_read) {
    return WaitFor(observed, "node " + self.node + " cannot be read");
  }
  if (may_hold_label && observed.node_domain == use->domain) return UnlabelNode{use->domain};
  if (entry->state == ClaimState::kCompleted) return RemoveFromCheckpoint{observed.keeps_label};
  return CheckpointAborted{.has_elder = observed.has_elder, .keeps_label = observed.keeps_label};
}

}  // namespace plugin
