// What the parts of a running plugin share.
//
// Each part of the state has one owner, and only the deciding thread uses it.
#pragma once

#include <functional>
#include <string>

#include "node/plugin/api/plugin_api.h"
#include "node/plugin/host/checkpoint_file.h"
#include "node/plugin/host/node_disk.h"
#include "node/plugin/loop/host_view.h"
#include "node/plugin/loop/metrics.h"
#include "node/plugin/loop/node_view.h"
#include "node/plugin/rules/rules.h"
#include "node/plugin/settings.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"

namespace plugin {

// The other instances of the plugin on the node. There are two during a rolling update.
struct Instances {
  // Returns whether another instance serves the kubelet now, or this instance is ending.
  std::function<bool()> is_superseded = [] { return false; };
  // Returns whether an older instance still serves, and may have calls that wait.
  std::function<bool()> has_elder = [] { return false; };
};

struct PluginState {
  const Settings& settings;
  const base::Clock& clock;
  base::Logger& logger;
  Metrics& metrics;
  const std::string boot_id;
  NodeDisk& disk;
  const Rules rules;
  const Instances instances;
  const HostView& host;

  CheckpointFile checkpoint_file{disk, boot_id, rules.resume};
  NodeView node{settings.node};
  PluginApi* api = nullptr;  // Null until the client configuration is loaded. PluginLoop sets it.

  bool is_rebuilding() const {
    return checkpoint_file.resumed().from == Resumed::From::kUnreadable;
  }
  bool MayLabel() const { return api != nullptr && node.MayChange(); }
  // Returns whether the cache has the domain and it is not being deleted.
  bool IsAlive(const std::string& domain) const;
  // Replaces the checkpoint. REQUIRES: the checkpoint file is locked.
  base::Result<void> Save(Checkpoint next);
};

}  // namespace plugin
