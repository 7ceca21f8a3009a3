// What the GPU driver stores of a claim in its checkpoint. Pure.
//
// The form is that of NVIDIA's driver, so that either can continue with the other's file. What it
// alone writes is kept as it is: devices for virtual machines, and how GPUs are shared.
// Bound: dra::kStatusesMax.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "node/dra/rules/checkpoint.h"
#include "node/gpu/rules/claim.h"

namespace gpu {

using dra::ClaimState;

// One device of a claim, as reported to the kubelet.
struct PreparedDevice {
  std::string type = "gpu";  // "mig" and "vfio" are others.
  // JSON about the device itself, as the checkpoint has it for its type.
  std::string info = {};
  bool is_old_mig = false;  // A MIG device as versions of NVIDIA's driver before 25.12 store it.
  std::vector<std::string> requests = {};
  std::string pool = {};
  std::string name = {};
  std::vector<std::string> cdi_ids = {};
  std::string share_id = {};  // Of a share of the device. Empty for a whole one.
  std::string metadata = {};  // JSON that NVIDIA's driver adds for virtual machines. Or empty.
  friend bool operator==(const PreparedDevice&, const PreparedDevice&) = default;
};

// Devices that were prepared with one configuration.
struct PreparedGroup {
  std::vector<PreparedDevice> devices = {};
  // JSON. NVIDIA's driver has the ID of the MPS daemon in it, also if there is none, and takes a
  // file without it for corrupt.
  std::string config_state = R"({"mpsControlDaemonID":""})";
  friend bool operator==(const PreparedGroup&, const PreparedGroup&) = default;
};

struct CheckpointClaim {
  ClaimState state = ClaimState::kStarted;
  ClaimStatus status = {};
  std::vector<PreparedGroup> groups = {};
  std::string name = {};  // NVIDIA's driver stores no names of prepared claims.
  std::string ns = {};
  friend bool operator==(const CheckpointClaim&, const CheckpointClaim&) = default;

  // As dra::Checkpoint requires.
  dra::EntryText ToText() const;
  static std::pair<CheckpointClaim, std::string> Read(const dra::EntryRead& entry);
};

using Checkpoint = dra::Checkpoint<CheckpointClaim>;

// Returns whether the claim was prepared with these very devices, so that its CDI file can be
// written from them. Groups and their order do not count: NVIDIA's driver stores a group for each
// configuration. False if the claim has an MPS daemon: its file has more than devices.
bool HasDevices(const CheckpointClaim& claim, const PreparedGroup& group);

// Returns the ID of the MPS daemon that NVIDIA's driver started for the claim. Empty if none.
std::string MpsDaemonOf(const CheckpointClaim& claim);

}  // namespace gpu
