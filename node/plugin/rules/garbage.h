// What a plugin garbage-collects on its node. Pure.
//
// That is: stale CDI specs, folders, labels and entries of the checkpoint.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "node/plugin/rules/checkpoint.h"
#include "node/plugin/rules/claim.h"
#include "node/plugin/rules/identity.h"
#include "pkg/base/clock.h"

namespace plugin {

// An aborted entry is kept for twice the time that the kubelet waits for an answer. No late prepare
// is then in progress.
inline constexpr std::chrono::seconds kAbortedFor{90};

// What exists on the node.
struct NodeResidue {
  std::vector<std::string> specs = {};       // UIDs of claims that have a CDI file.
  std::vector<std::string> folders = {};     // UIDs of domains that have a folder.
  std::set<std::string> domains_gone = {};   // Domains that a live read did not find.
  std::set<std::string> domains_alive = {};  // Domains that exist, and are not being deleted.
  bool keeps_label = false;                  // A label that no claim needs may stay for a while.
  std::string node_domain =
      {};  // Domain in the node's label. Empty if it has none, or is not read.
  base::Clock::WallTime now = {};
};

struct GarbagePlan {
  std::vector<std::string> remove_specs = {};
  std::vector<std::string> remove_folders = {};
  std::vector<std::string> forget = {};   // UIDs to remove from the checkpoint.
  bool has_aborted = false;               // Entries stay that are forgotten later.
  std::vector<std::string> look_up = {};  // UIDs of claims that may be deleted by now.
  bool unlabel = false;                   // Whether to remove the node's label.
  // Domain whose label the node lost under a prepared claim, to be put back. Empty if there is
  // none.
  std::string relabel = {};
};

// Returns the domains that claims in the checkpoint use.
std::set<std::string> UsedDomains(const Checkpoint& checkpoint);

// Returns what to remove. Keeps everything of a claim that is in the checkpoint: a claim is written
// there before anything else is written for it.
GarbagePlan FindGarbage(const NodeIdentity& self, const Checkpoint& checkpoint,
                        const NodeResidue& residue);

// Returns a checkpoint that replaces an unreadable one, made from the claims that the API server
// has for this node, and from the CDI specs. A claim without a fabric has no spec: it counts as
// started if the node's label has its domain.
Checkpoint Rebuild(const NodeIdentity& self, const std::string& boot_id,
                   const std::vector<ClaimToPrepare>& claims, const NodeResidue& residue);

}  // namespace plugin
