// Looks at the host on a thread of its own, and keeps the base CDI spec: soon again until there is
// something, and then every ten minutes. Used by the thread that decides.
#pragma once

#include <optional>
#include <string>

#include "node/plugin/loop/plugin_state.h"
#include "pkg/base/serial_executor.h"

namespace plugin {

class HostWatcher {
 public:
  explicit HostWatcher(PluginState& state) : state_(state) {}

  void Turn();
  [[nodiscard]] TimePoint next() const { return reading_ ? TimePoint::max() : next_; }

 private:
  struct Read {
    Host host = {};
    std::string base_spec = {};
  };
  [[nodiscard]] static base::Result<Read> ReadAll(const Settings& settings,
                                                  const std::string& hook);
  void Take(const base::Result<Read>& read);
  [[nodiscard]] base::Result<void> TakeOver(const Read& read);

  PluginState& state_;
  TimePoint next_ = {};
  bool reading_ = false;
  std::optional<std::string> hook_ = {};  // On the host; empty: there is none.
  std::string said_ = {};
  base::SerialExecutor reader_;  // Last: it uses the others.
};

}  // namespace plugin
