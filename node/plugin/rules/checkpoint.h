// What a plugin stores of a claim in its checkpoint. Pure.
//
// Of a claim's status it stores the part of this driver.
// Bound: dra::kStatusesMax, and claims of daemons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "node/dra/rules/checkpoint.h"
#include "node/plugin/rules/claim.h"
#include "node/plugin/rules/device_type.h"

namespace plugin {

using dra::ClaimState;

// One device of a claim, as reported to the kubelet.
struct PreparedDevice {
  DeviceType type = DeviceType::kChannel;
  std::int64_t id = 0;
  std::vector<std::string> requests = {};
  std::string pool = {};
  std::string name = {};
  std::vector<std::string> cdi_ids = {};
  friend bool operator==(const PreparedDevice&, const PreparedDevice&) = default;
};

// Devices that were prepared with one configuration.
struct PreparedGroup {
  std::vector<PreparedDevice> devices = {};
  DeviceType type = DeviceType::kChannel;
  std::string domain = {};
  friend bool operator==(const PreparedGroup&, const PreparedGroup&) = default;
};

struct CheckpointClaim {
  ClaimState state = ClaimState::kStarted;
  ClaimStatus status = {};
  std::vector<PreparedGroup> groups = {};
  std::string name = {};
  std::string ns = {};
  std::string aborted_at = {};  // RFC 3339.
  friend bool operator==(const CheckpointClaim&, const CheckpointClaim&) = default;

  // As dra::Checkpoint requires.
  dra::EntryText ToText() const;
  static std::pair<CheckpointClaim, std::string> Read(const dra::EntryRead& entry);
};

using Checkpoint = dra::Checkpoint<CheckpointClaim>;
using Resumed = dra::Resumed<CheckpointClaim>;
inline std::string Encode(const Checkpoint& checkpoint) { return dra::Encode(checkpoint); }
inline Resumed Resume(const std::optional<std::string>& text, const std::string& boot_id) {
  return dra::Resume<CheckpointClaim>(text, boot_id);
}
inline base::Result<Checkpoint> DecodeCheckpoint(std::string_view text) {
  return dra::DecodeCheckpoint<CheckpointClaim>(text);
}

}  // namespace plugin
