// Whether this node is ready for channels of a domain.
//
// Used by the deciding thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "node/plugin/host/host_reader.h"
#include "node/plugin/loop/plugin_state.h"
#include "pkg/base/backoff.h"
#include "pkg/base/serial_executor.h"
#include "pkg/base/task_queue.h"

namespace plugin {

using StartExecutor = std::function<std::unique_ptr<base::Executor>()>;

class DomainReadiness {
 public:
  // `tasks` is the deciding thread's. `start_poller` is called if the host runs IMEX.
  DomainReadiness(PluginState& state, HostReader& reader, base::TaskQueue& tasks,
                  StartExecutor start_poller)
      : state_(state), reader_(reader), tasks_(tasks), start_poller_(std::move(start_poller)) {}

  // Returns the cached answer. REQUIRES, here and below: the host is read, and `state.api` is set.
  bool IsReady(const std::string& domain) const;
  // Keeps the answer for a claim that waits for the domain fresh: watches the domain's clique, or
  // polls it if watching is forbidden. If the host runs IMEX, polls that instead.
  void Fetch(const std::string& domain);
  // Starts a round of Fetch() calls.
  void BeginTurn() { requeue_at_ = TimePoint::max(); }
  // Returns when to call Fetch() again if nothing changes, as of this round.
  TimePoint requeue_at() const { return requeue_at_; }

 private:
  bool IsKnownReady(const std::string& domain) const;
  kube::ObjectKey CliqueKey(const std::string& domain) const;
  // Returns whether the last answer to a poll is stale, from an earlier wait.
  bool IsOld() const;
  // Returns whether the caller must poll now. Otherwise requeue_at() has the time.
  bool BeginPoll(TimePoint next);
  void PollClique(const std::string& domain);
  void PollHost();

  PluginState& state_;
  HostReader& reader_;
  base::TaskQueue& tasks_;
  const StartExecutor start_poller_;
  std::string domain_ = {};  // Domain of the last Fetch().
  TimePoint requeue_at_ = TimePoint::max();
  // Polling of a clique that the plugin may not watch, or of the host's IMEX.
  TimePoint poll_next_ = {};
  base::Backoff backoff_;
  bool polling_ = false;
  bool polled_ = false;  // The last answer.
  // Polls the host's IMEX. Null until that is asked for.
  std::unique_ptr<base::Executor> imex_poller_ = {};
};

}  // namespace plugin
