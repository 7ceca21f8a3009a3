#include "node/gpu/rules/prepare.h"

#include <algorithm>
#include <utility>

#include "node/gpu/rules/claim_devices.h"
#include "pkg/base/find.h"

namespace gpu {

namespace {

ClaimStep Refuse(std::string why) { return AnswerKubelet{.error = std::move(why)}; }

bool HoldsDevice(const CheckpointClaim& claim, const dra::Allocated& device) {
  return std::ranges::any_of(claim.groups, [&device](const PreparedGroup& group) {
    return std::ranges::any_of(group.devices, [&device](const PreparedDevice& theirs) {
      return theirs.pool == device.pool && theirs.name == device.device;
    });
  });
}

// An administrator's request may use a device in addition to the request that holds it. Both may be
// of one claim.
bool IsLookingOn(const CheckpointClaim& claim, const dra::Allocated& device) {
  const auto& wanted = claim.status.wanted();
  bool is_looking_on = false;
  if (!wanted) return is_looking_on;
  for (const WantedDevice& theirs : wanted->devices) {
    if (theirs.allocated.pool != device.pool || theirs.allocated.device != device.device) continue;
    if (!theirs.allocated.admin_access) return false;
    is_looking_on = true;
  }
  return is_looking_on;
}

// Returns a wait if another claim holds one of the devices. The scheduler gives a device to one
// claim; the last one may not be unprepared yet.
std::optional<ClaimStep> WaitForHolder(const std::string& uid, const Wanted& wanted,
                                       const Checkpoint& checkpoint,
                                       const NodeObservation& observed) {
  for (const WantedDevice& device : wanted.devices) {
    if (device.allocated.admin_access) continue;
    for (const auto& [other, entry] : checkpoint.claims) {
      if (other == uid || entry.state != ClaimState::kCompleted) continue;
      if (!HoldsDevice(entry, device.allocated) || IsLookingOn(entry, device.allocated)) continue;
      const std::string holder =
          entry.name.empty() ? "with UID " + other : entry.ns + "/" + entry.name;
      return WaitFor(observed, device.allocated.device + " is held by claim " + holder);
    }
  }
  return {};
}

// Returns why the claim is never prepared as it is. Empty if it may be.
std::string Objection(const GpuNode& node, const ClaimToPrepare& claim) {
  if (!claim.is_allocated) return "the claim is not allocated";
  if (!claim.wanted) return claim.wanted.error().message;
  return claim.wanted->IsOn(node.node) ? "" : "the claim was allocated on another node";
}

// Returns a wait while a device is not on the node. It may be lost, or its driver loaded again.
std::optional<ClaimStep> WaitForDevices(const GpuNode& node, const Wanted& wanted,
                                        const NodeObservation& observed) {
  const std::string missing = MissingOf(node, wanted);
  if (missing.empty()) return {};
  std::string why = "node " + node.node + " has no device " + missing + " now";
  for (const Unpublished& lost : node.inventory.unpublished) {
    why += "; " + lost.device + " " + lost.why;
  }
  return WaitFor(observed, std::move(why));
}

// Writes the spec of a prepared claim again if it was lost: containers may restart. No answer names
// a file that is not there.
ClaimStep RestoreSpec(const GpuNode& node, const ClaimToPrepare& claim,
                      const CheckpointClaim& entry, const NodeObservation& observed) {
  constexpr std::string_view kLost = "the CDI file of this claim was lost, and ";
  if (!claim.wanted) return Refuse(std::string(kLost) + claim.wanted.error().message);
  if (auto wait = WaitForDevices(node, *claim.wanted, observed)) return *std::move(wait);
  // The kubelet keeps the device names of the first answer.
  if (!HasDevices(entry, GroupOf(node, claim.uid, *claim.wanted))) {
    return WaitFor(observed, std::string(kLost) + "the node has other devices now");
  }
  return dra::WriteSpec{SpecOf(node, claim.uid, *claim.wanted)};
}

}  // namespace

ClaimStep WaitFor(const NodeObservation& observed, std::string what) {
  const TimePoint until = observed.since + dra::kAnswerAfter;
  if (observed.now >= until) return Refuse(std::move(what));
  return dra::WaitForChange{.reason = std::move(what), .until = until};
}

CheckpointClaim StartedClaim(const ClaimToPrepare& claim) {
  return {.status = claim.status, .name = claim.name, .ns = claim.ns};
}

ClaimStep Prepare(const GpuNode& node, const std::string& uid, const ClaimToPrepare* claim,
                  const Checkpoint& checkpoint, const NodeObservation& observed) {
  if (!observed.rebuilding.empty()) return WaitFor(observed, observed.rebuilding);
  const CheckpointClaim* entry = base::Find(checkpoint.claims, uid);
  const bool is_completed = entry != nullptr && entry->state == ClaimState::kCompleted;
  if (observed.is_restore && !is_completed) return AnswerKubelet();  // It was unprepared.
  // Comes early: the kubelet would not unprepare what is prepared from here on.
  if (observed.is_withdrawn) return Refuse("the kubelet has cancelled the call");
  if (is_completed && observed.has_spec) return AnswerKubelet{.groups = entry->groups};
  // The kubelet may have unprepared the claim there, and does not tell this instance.
  if (observed.has_younger) return Refuse("a newer instance of the plugin serves now");
  if (claim == nullptr) return dra::FetchClaim();
  if (std::string why = Objection(node, *claim); !why.empty() && !is_completed) {
    return AnswerKubelet{.error = std::move(why), .is_permanent = true};
  }
  if (!observed.no_host.empty()) return WaitFor(observed, observed.no_host);
  if (is_completed) return RestoreSpec(node, *claim, *entry, observed);
  const Wanted& wanted = *claim->wanted;
  if (auto wait = WaitForHolder(uid, wanted, checkpoint, observed)) return *std::move(wait);
  if (auto wait = WaitForDevices(node, wanted, observed)) return *std::move(wait);
  const bool is_started = entry != nullptr && entry->status == claim->status;
  if (!is_started && !dra::HasRoomFor(claim->status, checkpoint)) {
    return WaitFor(observed, "the checkpoint is full: claims of node " + node.node +
                                 " have 8 MiB of configurations. Entries of deleted pods are "
                                 "removed within 10 minutes");
  }
  if (!is_started) return dra::CheckpointStarted();
  cdi::Spec spec = SpecOf(node, uid, wanted);
  if (observed.spec != spec) return dra::WriteSpec{std::move(spec)};
  return CheckpointCompleted{GroupOf(node, uid, wanted)};
}

ClaimStep Unprepare(const std::string& uid, const Checkpoint& checkpoint,
                    const NodeObservation& observed) {
  if (!observed.rebuilding.empty()) return WaitFor(observed, observed.rebuilding);
  if (observed.is_withdrawn) return Refuse("the kubelet has cancelled the call");
  // First: once the entry is removed, nothing refers to the file.
  if (observed.has_spec) return dra::RemoveSpec();
  if (checkpoint.claims.contains(uid)) return RemoveFromCheckpoint();
  return AnswerKubelet();
}

}  // namespace gpu
