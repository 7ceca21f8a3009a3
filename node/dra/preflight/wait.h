// Looks at a node until nothing stops its driver. And what any driver looks at.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/dra/host/file_claim_disk.h"
#include "node/dra/preflight/finding.h"
#include "node/dra/rules/checkpoint.h"
#include "pkg/base/clock.h"
#include "pkg/base/file.h"
#include "pkg/base/result.h"
#include "pkg/base/text.h"

namespace dra {

struct WaitContext {
  const base::Clock& clock;
  std::chrono::seconds most = {};
  // Prints one line.
  std::function<void(const std::string& line)> say = {};
  std::function<void(std::chrono::nanoseconds time)> pause = {};
};

struct Look {
  std::vector<std::string> facts = {};  // To print.
  std::vector<Finding> findings = {};
  std::string has = {};  // What the node has if nothing is missing: "driver 580.95.05".
};

// Looks every 2 s while a finding stops the driver, for as long as the context says. Prints each
// line once. Returns kUnavailable if something is still missing.
base::Result<void> WaitForNode(const WaitContext& context, const std::function<Look()>& look);

// Returns why CDI specs cannot be written. Empty if they can. Creates the folder if it does not
// exist.
std::string CdiTrouble(const std::string& folder);

// Returns whether the checkpoint in a driver's folder has claims of this boot. True if it is
// unreadable, because it may have some. `boot_id` is the path of the file that has the boot's ID.
template <typename Claim>
bool HasPrepared(const std::string& folder, const std::string& boot_id) {
  constexpr std::size_t kIdMax = 4096;
  const auto boot = base::ReadFile(boot_id, kIdMax);
  auto text = base::ReadFile(folder + "/checkpoint.json", kCheckpointBytesMax);
  if (!text && text.error().code == base::ErrorCode::kTooLarge) return true;
  if (!boot || !text) return false;
  const auto resumed = Resume<Claim>(*std::move(text), std::string(base::Trim(*boot)));
  return resumed.from == Resumed<Claim>::From::kUnreadable || !resumed.checkpoint.claims.empty();
}

}  // namespace dra
