// What a node keeps for its kubelet plugin, and what has become of it: the plugin's files, and what
// the kubelet was told.
//
// For one thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "test/simulation/apiserver/object.h"

namespace simulation {

// One change of one file. Every one of them is made whole or not at all, but for what kTorn leaves.
struct DiskEdit {
  enum class What { kCheckpoint, kWriteSpec, kRemoveSpec, kMakeFolder, kRemoveFolder };
  What what = What::kCheckpoint;
  std::string name = {};  // Of a claim or a domain.
  std::string text = {};
  [[nodiscard]] std::string ToString() const;
};

struct NodeDisk {
  std::optional<std::string> checkpoint = {};
  std::map<std::string, std::string> specs = {};  // By claim.
  std::set<std::string> folders = {};             // By domain.
  std::string boot_id = {};

  void Apply(const DiskEdit& edit);
};

// What was done or said on a node, in order, with the truth that it was done in.
struct PluginEvent {
  enum class What {
    kCalled,  // To prepare the claim.
    kPrepared,
    kRefused,
    kUnprepared,
    kCheckpointed,  // In the checkpoint, as started or prepared.
    kSpecWritten,
    kSpecRemoved,
    kFolderRemoved
  };
  What what = What::kPrepared;
  std::string node = {};
  std::string boot_id = {};
  std::string name = {};  // UID of the claim, or of the domain.
  std::vector<std::string> cdi_ids = {};
  std::string text = {};  // Of a spec, or why it was refused.
  bool has_spec = false;
  // kUnprepared: the kubelet called for the claim since the boot, and no other of its domain is
  // under way or prepared there.
  bool is_last = false;
  bool in_use = false;  // kSpecRemoved, kFolderRemoved: a container that runs was given it.
  Revision revision = 0;
  Time time = {};
};
using PluginEvents = std::vector<PluginEvent>;

}  // namespace simulation
