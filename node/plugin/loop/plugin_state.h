// State that the parts of a running plugin share.
//
// Only the deciding thread uses it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "node/plugin/api/api_calls.h"
#include "node/plugin/api/plugin_api.h"
#include "node/plugin/host/checkpoint_file.h"
#include "node/plugin/host/file_disk.h"
#include "node/plugin/host/host.h"
#include "node/plugin/loop/metrics.h"
#include "node/plugin/rules/rules.h"
#include "node/plugin/settings.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/task_queue.h"

namespace plugin {

struct PluginState {
  const Settings& settings;
  const base::Clock& clock;
  base::Logger& logger;
  base::TaskQueue& tasks;
  Metrics& metrics;
  const std::string boot_id;

  std::unique_ptr<NodeDisk> disk =
      std::make_unique<FileDisk>(DiskPaths{.folder = settings.Folder(),
                                           .cdi_folder = settings.cdi_folder,
                                           .config_template = settings.config_template});
  const Rules rules = {};
  CheckpointFile checkpoint_file{*disk, boot_id, rules.resume};
  NodeIdentity self = {};
  // Empty until the host is read.
  std::optional<Host> host = {};
  std::string driver_mark = {};   // DriverMark() of the driver that was read.
  std::string driver_spec = {};   // Text of the driver's CDI file. Empty until the host is read.
  bool is_host_outdated = false;  // The driver has changed and must be read again.
  std::string host_trouble =
      {};  // Why the host is not read, or what is wrong with it now. Empty if all is well.
  bool is_host_lost = false;  // The driver was read once, and the last read of it failed.
  std::optional<DeviceError> device_error = {};
  std::unique_ptr<PluginApi> api = {};  // Null until the client configuration is loaded.
  // As of the watch or of this plugin's last write, whichever is later.
  std::optional<api::Node> node = {};
  bool node_writing = false;
  bool may_patch_node = true;  // As the last change of a label has found.
  // A label that no claim needs stays until then.
  TimePoint label_kept_until = {};
  // Why an unreadable checkpoint is not rebuilt yet. Empty if nothing has failed.
  std::string rebuild_trouble = {};
  // Number of times that the checkpoint was saved.
  std::uint64_t saves = 0;
  // Returns whether another instance of the plugin serves the kubelet now, or this instance is
  // ending.
  std::function<bool()> is_superseded = [] { return false; };
  // Returns whether an older instance still serves, and may have calls that wait.
  std::function<bool()> has_elder = [] { return false; };

  bool is_rebuilding() const {
    return checkpoint_file.resumed().from == Resumed::From::kUnreadable;
  }
  HostPaths host_paths() const {
    return {.driver_root = settings.driver_root,
            .library_folders = settings.library_folders,
            .devices = settings.DevicesPath(),
            .capability = settings.CapabilityPath()};
  }
  // Returns whether the driver's CDI file is as it was written. Before the host is read: whether a
  // CDI spec is there.
  bool HasDriverSpec() const;
  // Returns whether the driver differs from the one that was read. Then it is read soon.
  bool NoticeOtherDriver();
  // Returns whether the cache has the domain and it is not being deleted.
  bool IsAlive(const std::string& domain) const;
  // Updates `node` from the watch.
  void LookAtNode();
  // Changes a label of the node. Calls `done` on the deciding thread. REQUIRES: `node` is set, and
  // not `node_writing`.
  void ChangeNodeLabel(LabelChange change, std::function<void(const base::Result<void>&)> done);
  // Replaces the checkpoint. REQUIRES: the checkpoint file is locked.
  base::Result<void> Save(Checkpoint next);
};

}  // namespace plugin
