// The text of a checkpoint: a plugin's file of prepared claims. Pure.
//
// The layout is the reference driver's, of 0.4.1 and of its main branch of 2026-08-07 (0.5.0-dev),
// so that either plugin can continue with the other's file. It has two views of the same claims,
// each with a checksum: `v1` for older plugins, and `v2`. Checksums are computed over the text in
// the file, so additions of a newer plugin do not make it unreadable.
//
// What is stored of a claim's status and of its devices is the driver's: JSON, passed as text.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pkg/base/result.h"

namespace dra {

enum class ClaimState { kStarted, kCompleted, kAborted };

// An entry to be written.
struct EntryText {
  ClaimState state = ClaimState::kStarted;
  std::string_view status = {};
  std::string devices = {};  // A list. Empty if there are none.
  std::string_view name = {};
  std::string_view ns = {};
  std::string_view aborted_at = {};  // RFC 3339.
};

// Returns the reference's checksum: FNV-1a over Go's printed form of the list of bytes.
std::uint32_t Checksum(std::string_view json);

// Returns the text. `entries` are by UID.
std::string EncodeEntries(const std::map<std::string, EntryText>& entries,
                          const std::string& boot_id);

// An entry as it was read.
struct EntryRead {
  std::string uid = {};
  std::string damage = {};               // Why the UID is unreadable. Empty if it is readable.
  std::optional<ClaimState> state = {};  // Empty if it is unknown.
  std::string_view status = {};          // JSON, or empty.
  std::string_view devices = {};         // JSON, or empty.
  std::string name = {};
  std::string ns = {};
  std::string aborted_at = {};
};

// The parts of a text, which must outlive them.
class CheckpointText {
 public:
  // Returns kInvalid if the text is torn, or not a checkpoint.
  static base::Result<CheckpointText> Cut(std::string_view text);

  // The ID of the boot in which it was written. Older plugins did not store it.
  std::string boot_id() const;
  // Calls `use` with each entry. Returns kInvalid, and calls nothing, if a checksum differs.
  base::Result<void> ForEachEntry(const std::function<void(EntryRead entry)>& use) const;

 private:
  bool IsV1Whole() const;

  std::uint32_t checksum_ = 0;
  std::optional<std::string_view> v1_ = {};
  std::optional<std::string_view> v2_ = {};
};

}  // namespace dra
