// The checkpoint on disk, and its lock.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "node/dra/host/claim_disk.h"
#include "node/dra/rules/checkpoint.h"
#include "pkg/base/result.h"

namespace dra {

// A checkpoint of any driver, to those that need not read it.
class CheckpointLock {
 public:
  virtual ~CheckpointLock() = default;
  // As ClaimDisk::Lock(). Also returns an error, with the reason, if the file cannot be read.
  virtual base::Result<void> Lock() = 0;
  virtual void Unlock() = 0;
  // Returns how often it was saved.
  virtual std::uint64_t saves() const = 0;
  virtual bool HasClaims() const = 0;
};

// Used by one thread. During a rolling update two plugins of a driver run on the node. So each
// holds the lock while it decides and writes, and reads again what the other one wrote. `Claim` is
// as in Checkpoint.
template <typename Claim>
class CheckpointFile final : public CheckpointLock {
 public:
  using ResumeRule = Resumed<Claim>(const std::optional<std::string>& text,
                                    const std::string& boot_id);
  // `disk` must outlive it. `resume` is a rule.
  CheckpointFile(ClaimDisk& disk, std::string boot_id,
                 std::function<ResumeRule> resume = &Resume<Claim>)
      : disk_(disk), boot_id_(std::move(boot_id)), resume_(std::move(resume)) {}

  base::Result<void> Lock() override {
    TRY(disk_.Lock());
    auto read = ReadIfChanged();
    if (!read) Unlock();
    return read;
  }
  void Unlock() override { disk_.Unlock(); }

  // The content as of the last Lock(). REQUIRES: Lock() succeeded once.
  const Checkpoint<Claim>& checkpoint() const { return resumed_.checkpoint; }
  // Returns the state of a claim in it. Empty if it has none of that UID.
  std::optional<ClaimState> StateOf(const std::string& uid) const {
    const auto it = checkpoint().claims.find(uid);
    if (it == checkpoint().claims.end()) return {};
    return it->second.state;
  }
  // Result of the last read. An unreadable file stays kUnreadable until Save().
  const Resumed<Claim>& resumed() const { return resumed_; }
  bool is_unreadable() const { return resumed_.from == Resumed<Claim>::From::kUnreadable; }

  // Replaces the checkpoint, on disk first. The file stays if a plugin could not read the next one.
  // REQUIRES: locked.
  base::Result<void> Save(Checkpoint<Claim> next) {
    const std::string text = Encode(next);
    TRY(CheckReadable(text, next));
    TRY(disk_.WriteCheckpoint(text));
    resumed_ = {.from = Resumed<Claim>::From::kThisBoot, .checkpoint = std::move(next)};
    ++saves_;
    return {};
  }
  std::uint64_t saves() const override { return saves_; }
  bool HasClaims() const override { return !resumed_.checkpoint.claims.empty(); }
  // Replaces the reason why the file is unreadable by the one why it is not rebuilt yet.
  void SetTrouble(const std::string& why) { resumed_.why = why; }

 private:
  base::Result<void> ReadIfChanged() {
    const auto read = TRY(disk_.ReadCheckpoint());
    if (!read) return {};
    resumed_ = resume_(read->text, boot_id_);
    if (!read->too_large.empty()) {
      resumed_.from = Resumed<Claim>::From::kUnreadable;
      resumed_.why = read->too_large;
    }
    // A full disk must not end the plugin, so it goes on without the copy.
    if (!resumed_.damaged.empty()) disk_.KeepDamaged(*read->text);
    return {};
  }

  ClaimDisk& disk_;
  const std::string boot_id_;
  const std::function<ResumeRule> resume_;
  Resumed<Claim> resumed_;
  std::uint64_t saves_ = 0;
};

}  // namespace dra
