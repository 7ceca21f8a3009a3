// Whether this node is ready for a channel of a domain, as far as one is waiting for that. Used by
// the thread that decides.
#pragma once

#include <optional>
#include <string>

#include "node/plugin/loop/plugin_state.h"
#include "pkg/base/worker.h"

namespace plugin {

class DomainReadiness {
 public:
  explicit DomainReadiness(PluginState& state) : state_(state) {}

  // By what is known now; and somebody waits for it, so more is found out. `state.host` is there.
  [[nodiscard]] bool IsReady(const std::string& domain);
  // When to ask again, should nothing have changed; of what was asked since this was called.
  void BeginTurn() { look_again_ = TimePoint::max(); }
  [[nodiscard]] TimePoint look_again() const { return look_again_; }

 private:
  [[nodiscard]] bool IsInClique(const std::string& domain);
  // The host's own IMEX.
  [[nodiscard]] bool IsHost();
  void ForgetOld(TimePoint now);

  PluginState& state_;
  std::string domain_ = {};  // That was asked for last.
  TimePoint since_ = {};
  TimePoint look_again_ = TimePoint::max();
  // Of what is polled: a clique that may not be watched, the host's IMEX.
  TimePoint poll_next_ = {};
  std::chrono::milliseconds pause_{0};
  bool polling_ = false;
  bool polled_ = false;  // What it said last.
  base::Worker asker_;   // Of the host's IMEX.
};

}  // namespace plugin
