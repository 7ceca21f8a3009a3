// Publishes the node's ResourceSlice, and its clique label if configured.
//
// Used by the deciding thread.
#pragma once

#include <optional>
#include <string>

#include "node/plugin/api/api_calls.h"
#include "node/plugin/loop/plugin_state.h"
#include "node/plugin/loop/repeat_limit.h"
#include "pkg/base/backoff.h"

namespace plugin {

class SlicePublisher {
 public:
  explicit SlicePublisher(PluginState& state) : state_(state) {}

  // Writes what is outdated. Returns when to call it again if nothing changes.
  TimePoint Turn();

 private:
  // Returns the slice to publish. Empty until node and host are known.
  std::optional<dra::ResourceSlice> Wanted() const;
  // Returns whether the server has the slice that was written last, and no other. If the server
  // cannot hold that slice, whether it has none.
  bool IsThere(const std::vector<kube::ObjectMeta>& found, TimePoint now);
  void Write(const dra::ResourceSlice& slice, std::string text,
             std::vector<kube::ObjectMeta> found);
  void LabelClique();

  PluginState& state_;
  bool writing_ = false;
  TimePoint next_ = {};
  TimePoint label_next_ = {};
  base::Backoff backoff_;
  std::string said_ = {};
  std::string text_ = {};  // Text of the slice that was written last.
  dra::SliceWritten written_ = {};
  TimePoint written_at_ = {};
  // Limit for rewrites of a slice that another client changed or deleted. The first is immediate,
  // because a kubelet that restarts deletes the slices of its node.
  RepeatLimit rewrites_{{.first = std::chrono::seconds(5), .most = std::chrono::minutes(5)}};
  bool was_seen_ = false;  // The watch has shown the slice since the write.
};

}  // namespace plugin
