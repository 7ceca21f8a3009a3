// Interface that runs the containers of daemons for a kubelet.
//
// It is for a kubelet that does not simulate them itself.
#pragma once

#include <optional>
#include <string>

#include "test/simulation/cluster/imex.h"

namespace simulation {

class DaemonRunner {
 public:
  DaemonRunner() = default;
  DaemonRunner(const DaemonRunner&) = delete;
  DaemonRunner& operator=(const DaemonRunner&) = delete;
  virtual ~DaemonRunner() = default;

  // Starts the container, and restarts it when it ends.
  virtual void Run(const DaemonContainer& container, Time now) = 0;
  virtual bool IsReady(const kube::Uid& pod) const = 0;
  // Stops the container. Returns when it is killed if it has not ended by then. Empty if it has
  // ended.
  virtual std::optional<Time> Stop(const kube::Uid& pod, Time now) = 0;
  // The node becomes silent, or is reachable again.
  virtual void SetSilent(const std::string& node, bool silent) = 0;
  // The machine was off: nothing runs there any more.
  virtual void Lose(const std::string& node, Time now) = 0;
};

}  // namespace simulation
