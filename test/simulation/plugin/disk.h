// The disk of a simulated node, and the history of its plugin.
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

// One change of one file. Each is atomic, except for kTorn.
struct DiskEdit {
  enum class What { kCheckpoint, kWriteSpec, kRemoveSpec, kMakeFolder, kRemoveFolder };
  What what = What::kCheckpoint;
  std::string name = {};  // UID of a claim or a domain.
  std::string text = {};
  std::string ToString() const;
};

struct NodeDisk {
  std::optional<std::string> checkpoint = {};
  std::map<std::string, std::string> specs = {};  // By claim.
  std::set<std::string> folders = {};             // By domain.
  std::string boot_id = {};

  void Apply(const DiskEdit& edit);
};

// One event on a node, in order, with the revision of the cluster at that time.
struct PluginEvent {
  enum class What {
    kCalled,  // The kubelet called to prepare the claim.
    kPrepared,
    kRefused,
    kUnprepared,
    kCheckpointed,  // Written into the checkpoint, as started or prepared.
    kSpecWritten,
    kSpecRemoved,
    kFolderRemoved
  };
  What what = What::kPrepared;
  std::string node = {};
  std::string boot_id = {};
  std::string name = {};  // UID of the claim, or of the domain.
  std::vector<std::string> cdi_ids = {};
  std::string text = {};  // Text of a spec, or why it was refused.
  bool has_spec = false;
  // For kUnprepared: the kubelet has called for the claim since the boot, and no other claim of its
  // domain is in progress or prepared there.
  bool is_last = false;
  bool in_use = false;  // For kSpecRemoved and kFolderRemoved: a running container uses it.
  Revision revision = 0;
  Time time = {};
};
using PluginEvents = std::vector<PluginEvent>;

}  // namespace simulation
