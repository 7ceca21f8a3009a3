// What the parts of a running plugin share. Used by the thread that decides, and by no other.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "node/plugin/api/api_client.h"
#include "node/plugin/host/checkpoint_file.h"
#include "node/plugin/host/host.h"
#include "node/plugin/loop/metrics.h"
#include "node/plugin/rules/prepare.h"
#include "node/plugin/settings.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/task_queue.h"

namespace plugin {

struct PluginState {
  PluginState(const Settings& which, const base::Clock& time, base::Logger& log,
              base::TaskQueue& its_tasks, Metrics& counts, std::string boot)
      : settings(which),
        clock(time),
        logger(log),
        tasks(its_tasks),
        metrics(counts),
        boot_id(std::move(boot)),
        checkpoint_file(which.Folder(), boot_id) {}

  const Settings& settings;
  const base::Clock& clock;
  base::Logger& logger;
  base::TaskQueue& tasks;
  Metrics& metrics;
  const std::string boot_id;

  CheckpointFile checkpoint_file;
  NodeIdentity self = {};
  // What the host was found to have; nothing before that.
  std::optional<Host> host = {};
  std::string host_trouble = {};  // Why it has not; or what is wrong with it by now.
  std::optional<std::string> fabric_error_since = {};  // RFC 3339.
  std::unique_ptr<ApiClient> api_client = {};          // Null: no API server is known.
  // As of the watch or of our own last write, whichever is later.
  std::optional<NodeView> node = {};
  bool node_writing = false;

  [[nodiscard]] bool is_rebuilding() const {
    return checkpoint_file.resumed().from == Resumed::From::kUnreadable;
  }
  // Takes over what the watch has read of the node.
  void LookAtNode();
  // Asks for a change of a label, and calls `done` on this thread. REQUIRES: node, not
  // node_writing.
  void ChangeNodeLabel(LabelChange change, std::function<void(const base::Result<void>&)> done);
  // Replaces what is noted. REQUIRES: the notes are locked.
  [[nodiscard]] base::Result<void> Save(Checkpoint next);
};

}  // namespace plugin
