// The plugin's own Node, and changes of its labels.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "node/plugin/api/api_calls.h"
#include "node/plugin/api/plugin_api.h"
#include "pkg/base/clock.h"

namespace plugin {

// Used by the deciding thread.
class NodeView {
 public:
  explicit NodeView(std::string name, std::optional<api::Node> node = {})
      : name_(std::move(name)), node_(std::move(node)) {}

  // As of the watch or of this plugin's last write, whichever is later. Empty until it is read.
  const std::optional<api::Node>& node() const { return node_; }
  // Returns whether the node is read, and no write to it is in flight.
  bool MayChange() const { return node_ && !is_changing_; }
  // Takes over what the watch has.
  void Update(const PluginApi& api);
  // Changes a label of the node. Calls `done` on the deciding thread. REQUIRES: MayChange().
  void ChangeLabel(PluginApi& api, LabelChange change,
                   std::function<void(const base::Result<void>&)> done);

  // A label that no claim needs stays until then. Zero if none does.
  base::Clock::TimePoint label_kept_until() const { return label_kept_until_; }
  void KeepLabelUntil(base::Clock::TimePoint time) { label_kept_until_ = time; }

 private:
  std::string name_;
  std::optional<api::Node> node_;
  bool is_changing_ = false;
  bool may_patch_ = true;  // As the last change of a label has found.
  base::Clock::TimePoint label_kept_until_ = {};
};

}  // namespace plugin
