// The file in which a plugin notes what it has prepared, in the reference's layout, so that either
// plugin can go on from where the other was. Pure.
//
// Two views of the same claims lie in it, each under a checksum: `v1` for older plugins, and `v2`.
// The checksums are taken over the text as it stands there, so what a newer plugin adds does not
// make it unreadable.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/result.h"
#include "pkg/json/value.h"

namespace plugin {

enum class DeviceType { kChannel, kDaemon };
[[nodiscard]] std::string_view NameOf(DeviceType type);  // "channel", "daemon".

// One device of a claim, as the kubelet is told of it.
struct PreparedDevice {
  DeviceType type = DeviceType::kChannel;
  std::int64_t id = 0;
  std::vector<std::string> requests = {};
  std::string pool = {};
  std::string name = {};
  std::vector<std::string> cdi_ids = {};
  friend bool operator==(const PreparedDevice&, const PreparedDevice&) = default;
};

// Devices that were prepared by one configuration.
struct PreparedGroup {
  std::vector<PreparedDevice> devices = {};
  DeviceType type = DeviceType::kChannel;
  std::string domain = {};
  friend bool operator==(const PreparedGroup&, const PreparedGroup&) = default;
};

enum class ClaimState { kStarted, kCompleted, kAborted };

struct CheckpointClaim {
  ClaimState state = ClaimState::kStarted;
  json::Value status = {};  // Of the ResourceClaim; null in an entry of before 25.3.
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

// FNV-1a over how the reference prints a list of bytes.
[[nodiscard]] std::uint32_t Checksum(std::string_view json);

[[nodiscard]] std::string Encode(const Checkpoint& checkpoint);

// kInvalid, with the reason: torn, changed, or no checkpoint at all.
[[nodiscard]] base::Result<Checkpoint> DecodeCheckpoint(std::string_view text);

// What a plugin that starts goes on from.
struct Resumed {
  enum class From {
    kNothing,    // There was no file.
    kThisBoot,   // All claims are as they were prepared.
    kOtherBoot,  // The node was started again since: nothing that was prepared is left.
    kUnreadable  // Prepared claims have to be found by their CDI specs; `why` says what is wrong.
  };
  From from = From::kNothing;
  Checkpoint checkpoint = {};  // With the boot that the node is in now.
  std::string why = {};
};
// `text`: of the file, if there is one.
[[nodiscard]] Resumed Resume(const std::optional<std::string>& text, const std::string& boot_id);

}  // namespace plugin
