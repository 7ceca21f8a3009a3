// Keeps the node's ResourceSlice as it should be, and its label with the clique if that is wanted.
// Used by the thread that decides.
#pragma once

#include <optional>
#include <string>

#include "node/plugin/loop/plugin_state.h"
#include "pkg/base/backoff.h"

namespace plugin {

class SlicePublisher {
 public:
  explicit SlicePublisher(PluginState& state) : state_(state) {}

  // When to do so again, should nothing have changed.
  [[nodiscard]] TimePoint Turn();

 private:
  // Nothing: it is not known yet.
  [[nodiscard]] std::optional<Slice> Wanted() const;
  // Whether the server is known to have it as it should be.
  [[nodiscard]] bool IsThere(const std::vector<kube::ObjectMeta>& found, TimePoint now);
  void Write(const Slice& slice, std::string text, std::vector<kube::ObjectMeta> found);
  void LabelClique();

  PluginState& state_;
  bool writing_ = false;
  TimePoint next_ = {};
  TimePoint label_next_ = {};
  base::Backoff backoff_;
  std::string said_ = {};
  std::string text_ = {};  // Of what was written last, or found to be there.
  SliceWritten written_ = {};
  TimePoint written_at_ = {};
  bool was_seen_ = false;  // By the watch, since it was written.
};

}  // namespace plugin
