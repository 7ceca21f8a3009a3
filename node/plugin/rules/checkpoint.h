// The checkpoint: a plugin's file of prepared claims. Pure.
//
// The layout is the reference driver's, of 0.4.1 and of its main branch of 2026-08-07 (0.5.0-dev),
// so that either plugin can continue with the other's file. It has two views of the same claims,
// each with a checksum: `v1` for older plugins, and `v2`. Checksums are computed over the text in
// the file, so additions of a newer plugin do not make it unreadable.
//
// Of a claim's status, entries have the part of this driver. Reading and writing need memory for
// the text, for the entries, and for one entry more.
// Bound: kStatusesMax, and claims of daemons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/plugin/rules/claim_status.h"
#include "node/plugin/rules/device_type.h"
#include "pkg/base/result.h"

namespace plugin {

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

enum class ClaimState { kStarted, kCompleted, kAborted };

struct CheckpointClaim {
  ClaimState state = ClaimState::kStarted;
  ClaimStatus status = {};
  std::vector<PreparedGroup> groups = {};
  std::string name = {};
  std::string ns = {};
  std::string aborted_at = {};  // RFC 3339.
  friend bool operator==(const CheckpointClaim&, const CheckpointClaim&) = default;
};

struct Checkpoint {
  std::map<std::string, CheckpointClaim> claims = {};  // By UID.
  std::string boot_id = {};
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

// Maximum bytes of the statuses of all claims. Further claims of channels wait.
inline constexpr std::size_t kStatusesMax = std::size_t{8} << 20U;

// Returns the reference's checksum: FNV-1a over Go's printed form of the list of bytes.
std::uint32_t Checksum(std::string_view json);

std::string Encode(const Checkpoint& checkpoint);

// Returns kInvalid, with the reason, if the text is torn, changed, or not a checkpoint, or if an
// entry is unreadable.
base::Result<Checkpoint> DecodeCheckpoint(std::string_view text);

// Returns kInvalid, with the reason, if a plugin that reads `text` would not find this checkpoint.
base::Result<void> CheckReadable(std::string_view text, const Checkpoint& checkpoint);

// The state with which a plugin starts.
struct Resumed {
  enum class From {
    kNothing,    // There was no file.
    kThisBoot,   // Claims are still prepared.
    kOtherBoot,  // The node has rebooted since: no claim is prepared any more.
    kUnreadable  // Prepared claims must be found by their CDI specs. `why` has the error.
  };
  From from = From::kNothing;
  Checkpoint checkpoint = {};  // Has the current boot's ID.
  std::string why = {};
  // Entries of which a part is unreadable, as "UID: why". They stay in the checkpoint with the
  // rest. If state or devices are unreadable, an entry counts as started, with unknown use: the
  // node keeps its label until the kubelet unprepares the claim.
  std::vector<std::string> damaged = {};
};
// `text` is the file's content. Empty if there is no file. Of a text from another boot only the ID
// of that boot is read.
Resumed Resume(const std::optional<std::string>& text, const std::string& boot_id);

}  // namespace plugin
