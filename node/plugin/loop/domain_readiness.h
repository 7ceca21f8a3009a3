// Whether this node is ready for channels of a domain. Used by the deciding thread.
#pragma once

#include <string>

#include "node/plugin/loop/plugin_state.h"
#include "pkg/base/backoff.h"
#include "pkg/base/serial_executor.h"

namespace plugin {

class DomainReadiness {
 public:
  explicit DomainReadiness(PluginState& state) : state_(state) {}

  // Returns what is known now. REQUIRES, here and below: `state.host` and `state.api`.
  [[nodiscard]] bool IsReady(const std::string& domain) const;
  // A claim waits for the domain: watches its clique, or polls it where that is forbidden. If the
  // host runs IMEX, polls that.
  void Fetch(const std::string& domain);
  // Begins a round of Fetch() calls.
  void BeginTurn() { requeue_at_ = TimePoint::max(); }
  // When to call Fetch() again if nothing changes, as of this round.
  [[nodiscard]] TimePoint requeue_at() const { return requeue_at_; }

 private:
  [[nodiscard]] bool IsKnownReady(const std::string& domain) const;
  [[nodiscard]] kube::ObjectKey CliqueKey(const std::string& domain) const;
  // An old answer to a poll, of an earlier wait.
  [[nodiscard]] bool IsOld() const;
  // Returns whether the caller is to poll now. Otherwise requeue_at() says when.
  [[nodiscard]] bool BeginPoll(TimePoint next);
  void PollClique(const std::string& domain);
  void PollHost();

  PluginState& state_;
  std::string domain_ = {};  // Of the last Fetch().
  TimePoint requeue_at_ = TimePoint::max();
  // Polling of a clique that may not be watched, or of the host's IMEX.
  TimePoint poll_next_ = {};
  base::Backoff backoff_;
  bool polling_ = false;
  bool polled_ = false;               // The last answer.
  base::SerialExecutor imex_poller_;  // Of the host's IMEX.
};

}  // namespace plugin
