// What the parts of the running GPU driver share.
//
// Each part of the state has one owner, and only the deciding thread uses it.
#pragma once

#include <optional>
#include <string>

#include "node/dra/host/checkpoint_file.h"
#include "node/dra/loop/instances.h"
#include "node/dra/loop/metrics.h"
#include "node/gpu/api/gpu_api.h"
#include "node/gpu/rules/checkpoint.h"
#include "node/gpu/rules/gpu_node.h"
#include "node/gpu/rules/rules.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"

namespace gpu {

using TimePoint = base::Clock::TimePoint;

// The host, as the deciding thread knows it. HostWatcher writes it.
struct HostView {
  GpuNode node = {};     // As of the last read that succeeded.
  bool is_read = false;  // Such a read was made.
  // Why the driver cannot be used now. Empty if it can.
  std::string trouble = "NVIDIA's driver has not been looked at yet";
  bool is_lost = false;  // It cannot be read for so long that no device is published.
};

struct GpuState {
  const std::string node;
  const std::string ns;  // Of the driver's account.
  const base::Clock& clock;
  base::Logger& logger;
  dra::Metrics& metrics;
  const std::string boot_id;
  dra::ClaimDisk& claim_disk;
  const Rules rules = {};
  const dra::Instances instances;
  const HostView& host;

  dra::CheckpointFile<CheckpointClaim> checkpoint_file{claim_disk, boot_id, rules.resume};
  GpuApi* api = nullptr;  // Null until the client configuration is loaded. GpuLoop sets it.

  // Sets the metric of prepared devices to those in the checkpoint.
  void CountPrepared();
  // Replaces the checkpoint. REQUIRES: the checkpoint file is locked.
  base::Result<void> Save(Checkpoint next);
};

// Returns the metrics of this driver.
dra::Metrics::Of MetricsOf(const std::string& node);

}  // namespace gpu
