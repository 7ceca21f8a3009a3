// What stands for the threads of a process: requests, watches and other work, one step at a time.
//
// For one thread.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/base/serial_executor.h"
#include "pkg/kube/runtime/api_session.h"
#include "test/simulation/cluster/process_parts.h"
#include "test/simulation/cluster/watcher.h"

namespace simulation {

class StepSession final : public kube::ApiSession {
 public:
  // The references must outlive it. `lag` is as in Watcher.
  StepSession(ApiServer& server, std::string client, const Serve& serve, const StoreClock& clock,
              Watcher::Lag lag)
      : server_(server),
        client_(std::move(client)),
        serve_(serve),
        clock_(clock),
        lag_(std::move(lag)) {}

  void Post(std::size_t /*queue*/, Task task) override { tasks_.push_back(std::move(task)); }
  WatchHandle Watch(std::vector<kube::Reflector*> reflectors,
                    std::function<void()> on_turn) override;

  // Moves one watch, by a server that knows the state up to `view`, or runs one task. Returns
  // whether there was one. May throw ProcessDied.
  bool Step(Revision view);
  std::optional<Time> NextDue() const;
  void ExpireWatches();

 private:
  struct Group {
    std::deque<Watcher> watchers = {};
    std::function<void()> on_turn = {};
  };
  std::vector<std::shared_ptr<Group>> Groups() const;

  ApiServer& server_;
  const std::string client_;
  const Serve& serve_;
  const StoreClock& clock_;
  const Watcher::Lag lag_;
  std::vector<std::weak_ptr<Group>> groups_ = {};
  std::deque<Task> tasks_ = {};
};

// Work that a process does on another thread.
class StepExecutor final : public base::Executor {
 public:
  void Post(Task task) override { tasks_.push_back(std::move(task)); }
  // Runs one task. Returns whether there was one.
  bool Step();

 private:
  std::deque<Task> tasks_ = {};
};

}  // namespace simulation
