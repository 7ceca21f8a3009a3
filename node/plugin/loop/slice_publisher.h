// Publishes the node's ResourceSlice and, if the settings ask for it, the node's clique label. Used
// by the deciding thread.
#pragma once

#include <optional>
#include <string>

#include "node/plugin/loop/plugin_state.h"
#include "node/plugin/loop/repeat_limit.h"
#include "pkg/base/backoff.h"

namespace plugin {

class SlicePublisher {
 public:
  explicit SlicePublisher(PluginState& state) : state_(state) {}

  // Writes what is outdated. Returns when to call it again if nothing changes.
  [[nodiscard]] TimePoint Turn();

 private:
  // Empty until node and host are known.
  [[nodiscard]] std::optional<ResourceSlice> Wanted() const;
  // Whether the server has the slice that was written last, and no other.
  [[nodiscard]] bool IsThere(const std::vector<kube::ObjectMeta>& found, TimePoint now);
  void Write(const ResourceSlice& slice, std::string text, std::vector<kube::ObjectMeta> found);
  void LabelClique();

  PluginState& state_;
  bool writing_ = false;
  TimePoint next_ = {};
  TimePoint label_next_ = {};
  base::Backoff backoff_;
  std::string said_ = {};
  std::string text_ = {};  // Of the slice that was written last.
  SliceWritten written_ = {};
  TimePoint written_at_ = {};
  // Of a slice that another client changed or deleted. The first is immediate: a kubelet that
  // restarts deletes the slices of its node.
  RepeatLimit rewrites_{{.first = std::chrono::seconds(5), .most = std::chrono::minutes(5)}};
  bool was_seen_ = false;  // By the watch, since the write.
};

}  // namespace plugin
