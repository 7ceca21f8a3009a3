// What the parts of a running plugin share.
//
// Each part of the state has one owner, and only the deciding thread uses it.
#pragma once

#include <string>

#include "node/dra/host/checkpoint_file.h"
#include "node/dra/loop/instances.h"
#include "node/dra/loop/metrics.h"
#include "node/plugin/api/plugin_api.h"
#include "node/plugin/host/node_disk.h"
#include "node/plugin/loop/host_view.h"
#include "node/plugin/loop/node_view.h"
#include "node/plugin/rules/rules.h"
#include "node/plugin/settings.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"

namespace plugin {

using dra::Instances;
using dra::Metrics;

struct PluginState {
  const Settings& settings;
  const base::Clock& clock;
  base::Logger& logger;
  Metrics& metrics;
  const std::string boot_id;
  dra::ClaimDisk& claim_disk;
  NodeDisk& disk;
  const Rules rules;
  const Instances instances;
  const HostView& host;

  dra::CheckpointFile<CheckpointClaim> checkpoint_file{claim_disk, boot_id, rules.resume};
  NodeView node{settings.node};
  PluginApi* api = nullptr;  // Null until the client configuration is loaded. PluginLoop sets it.

  bool is_rebuilding() const { return checkpoint_file.is_unreadable(); }
  bool MayLabel() const { return api != nullptr && node.MayChange(); }
  // Returns whether the cache has the domain and it is not being deleted.
  bool IsAlive(const std::string& domain) const;
  // Sets the metric of prepared devices to those in the checkpoint.
  void CountPrepared();
  // Replaces the checkpoint. REQUIRES: the checkpoint file is locked.
  base::Result<void> Save(Checkpoint next);
};

// Returns the metrics of this driver.
Metrics::Of MetricsOf(const std::string& node, const api::IgnoredGates& ignored_gates = {});

}  // namespace plugin
