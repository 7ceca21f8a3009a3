// The checkpoint of a driver, as values. Pure.
//
// `Claim` is what a driver stores of a claim. It has operator==, and:
//   dra::EntryText ToText() const;                      may refer to the claim
//   static std::pair<Claim, std::string> Read(const dra::EntryRead&);
// where the text says why a part of the entry is unreadable. It is empty if all is readable.
// Reading and writing need memory for the text, for the entries, and for one entry more.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/dra/rules/checkpoint_text.h"
#include "node/dra/rules/claim_status.h"

namespace dra {

template <typename Claim>
struct Checkpoint {
  std::map<std::string, Claim> claims = {};  // By UID.
  std::string boot_id = {};
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

// Maximum bytes of the statuses of all claims. Further claims of tenants wait.
inline constexpr std::size_t kStatusesMax = std::size_t{8} << 20U;
// Returns whether the status fits in beside those that the checkpoint has.
template <typename Claim, typename Status>
bool HasRoomFor(const Status& status, const Checkpoint<Claim>& checkpoint) {
  std::size_t bytes = status.text().size();
  for (const auto& [uid, entry] : checkpoint.claims) bytes += entry.status.text().size();
  return bytes <= kStatusesMax;
}

// The state with which a plugin starts.
template <typename Claim>
struct Resumed {
  enum class From {
    kNothing,    // There was no file.
    kThisBoot,   // Claims are still prepared.
    kOtherBoot,  // The node has rebooted since: no claim is prepared any more.
    kUnreadable  // Prepared claims must be found by their CDI specs. `why` has the error.
  };
  From from = From::kNothing;
  Checkpoint<Claim> checkpoint = {};  // Has the current boot's ID.
  std::string why = {};
  // Entries of which a part is unreadable, as "UID: why". They stay in the checkpoint with the
  // rest.
  std::vector<std::string> damaged = {};
};

// For Claim::Read: fills state, status and groups of `claim`. `groups` are the entry's devices, as
// the driver reads them. If they or the state are unreadable, the entry counts as started, and
// stays until the kubelet unprepares the claim. `Wanted` is as in ClaimStatus.
template <typename Wanted, typename Claim>
std::pair<Claim, std::string> ReadParts(const EntryRead& entry,
                                        base::Result<decltype(Claim::groups)> groups, Claim claim) {
  if (!entry.state) return {std::move(claim), "its state is unknown"};
  if (!groups) return {std::move(claim), groups.error().message};
  claim.state = *entry.state;
  claim.groups = *std::move(groups);
  const auto own = OwnPart(entry.status, Wanted::kDriver);
  auto status = own ? ClaimStatus<Wanted>::Decode(*own) : tl::unexpected(own.error());
  if (!status) return {std::move(claim), status.error().message};
  claim.status = *std::move(status);
  return {std::move(claim), ""};
}

template <typename Claim>
std::string Encode(const Checkpoint<Claim>& checkpoint) {
  std::map<std::string, EntryText> entries;
  for (const auto& [uid, claim] : checkpoint.claims) entries.emplace(uid, claim.ToText());
  return EncodeEntries(entries, checkpoint.boot_id);
}

// Calls `use(uid, claim, damage)` for each entry.
template <typename Claim, typename Use>
base::Result<void> ForEachClaim(const CheckpointText& text, Use use) {
  return text.ForEachEntry([&](const EntryRead& entry) {
    auto [claim, damage] = Claim::Read(entry);
    use(entry.uid, std::move(claim), entry.damage.empty() ? damage : entry.damage);
  });
}

// Returns kInvalid, with the reason, if the text is torn, changed, or not a checkpoint, or if an
// entry is unreadable.
template <typename Claim>
base::Result<Checkpoint<Claim>> DecodeCheckpoint(std::string_view text) {
  const CheckpointText parts = TRY(CheckpointText::Cut(text));
  Checkpoint<Claim> checkpoint = {.boot_id = parts.boot_id()};
  base::Result<void> done = {};
  TRY(ForEachClaim<Claim>(parts, [&](const std::string& uid, Claim claim, const auto& damage) {
    if (done && !damage.empty()) done = base::Invalid("claim " + uid + ": " + damage);
    checkpoint.claims.insert_or_assign(uid, std::move(claim));
  }));
  TRY(std::move(done));
  return checkpoint;
}

// Returns kInvalid, with the reason, if a plugin that reads `text` would not find this checkpoint.
template <typename Claim>
base::Result<void> CheckReadable(std::string_view text, const Checkpoint<Claim>& checkpoint) {
  const CheckpointText parts = TRY(CheckpointText::Cut(text));
  std::size_t found = 0;
  std::string differing;
  TRY(ForEachClaim<Claim>(parts, [&](const auto& uid, const Claim& claim, const auto& damage) {
    const auto it = checkpoint.claims.find(uid);
    const bool is_same = it != checkpoint.claims.end() && damage.empty() && claim == it->second;
    if (is_same) ++found;
    if (!is_same) differing = uid;
  }));
  if (differing.empty() && found == checkpoint.claims.size() &&
      parts.boot_id() == checkpoint.boot_id) {
    return {};
  }
  return base::Invalid("the checkpoint would not be read as it is" +
                       (differing.empty() ? "" : ": claim " + differing));
}

// `text` is the file's content. Empty if there is no file. Of a text from another boot only the ID
// of that boot is read.
template <typename Claim>
Resumed<Claim> Resume(const std::optional<std::string>& text, const std::string& boot_id) {
  using From = typename Resumed<Claim>::From;
  Resumed<Claim> resumed = {.checkpoint = {.boot_id = boot_id}};
  if (!text) return resumed;
  const auto parts = CheckpointText::Cut(*text);
  // Older plugins did not store the boot ID.
  const std::string boot = parts ? parts->boot_id() : "";
  if (!boot.empty() && boot != boot_id) {
    resumed.from = From::kOtherBoot;
    return resumed;
  }
  const auto read_entries = [&]() -> base::Result<void> {
    if (!parts) return tl::unexpected(parts.error());
    return ForEachClaim<Claim>(*parts, [&](const auto& uid, Claim claim, const auto& damage) {
      if (!damage.empty()) resumed.damaged.push_back(uid + ": " + damage);
      resumed.checkpoint.claims.insert_or_assign(uid, std::move(claim));
    });
  };
  const auto read = read_entries();
  resumed.from = read ? From::kThisBoot : From::kUnreadable;
  if (!read) {
    resumed.checkpoint.claims.clear();
    resumed.why = read.error().message;
  }
  return resumed;
}

}  // namespace dra
