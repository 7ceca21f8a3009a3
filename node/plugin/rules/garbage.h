// What a plugin puts right when it starts and every few minutes, beside what the kubelet asks for.
// Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "node/plugin/rules/checkpoint.h"
#include "node/plugin/rules/claim.h"
#include "node/plugin/rules/identity.h"
#include "pkg/base/clock.h"

namespace plugin {

// What lies about on the node.
struct NodeResidue {
  std::vector<std::string> specs = {};    // Claims that have a CDI file.
  std::vector<std::string> folders = {};  // Of domains, by UID.
  std::set<std::string> domains_gone =
      {};                        // Of which a live read has found that they are not there.
  std::string node_domain = {};  // The node's label; empty: it has none, or was not read.
  base::Clock::WallTime now = {};
};

struct GarbagePlan {
  std::vector<std::string> remove_specs = {};
  std::vector<std::string> remove_folders = {};
  std::vector<std::string> forget = {};  // Entries of the checkpoint.
  std::vector<std::string> look_up =
      {};                // Claims that may be gone, since nobody went on with them.
  bool unlabel = false;  // The node.
};

// Nothing of a claim that is noted goes: it is noted before anything of it is written.
[[nodiscard]] GarbagePlan FindGarbage(const NodeIdentity& self, const Checkpoint& checkpoint,
                                      const NodeResidue& residue);

// What was noted, when the checkpoint cannot be read: by the claims of this node as the API server
// has them, and the CDI specs that are still there. A claim that has no edits has no spec; if
// the node is labelled with its domain it is taken for begun.
[[nodiscard]] Checkpoint Rebuild(const NodeIdentity& self, const std::string& boot_id,
                                 const std::vector<ClaimToPrepare>& claims,
                                 const NodeResidue& residue);

}  // namespace plugin
