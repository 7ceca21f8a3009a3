// Labels the node with its clique, if that is configured.
//
// Used by the deciding thread.
#pragma once

#include "node/plugin/loop/plugin_state.h"

namespace plugin {

class CliqueLabel {
 public:
  explicit CliqueLabel(PluginState& state) : state_(state) {}

  // Writes the label if it is outdated. REQUIRES: `state.api` is set.
  void Turn();

 private:
  PluginState& state_;
  TimePoint next_ = {};
};

}  // namespace plugin
