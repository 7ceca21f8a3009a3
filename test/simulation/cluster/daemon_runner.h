// Runs the containers of daemons, for a kubelet that does not play them itself.
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

  // Begins to run it, and keeps it running from then on.
  virtual void Run(const DaemonContainer& container, Time now) = 0;
  [[nodiscard]] virtual bool IsReady(const kube::Uid& pod) const = 0;
  // Tells it to end. Nothing: it has ended. Else when it is killed, if it has not by then.
  [[nodiscard]] virtual std::optional<Time> Stop(const kube::Uid& pod, Time now) = 0;
  // The node falls silent, or is heard again.
  virtual void SetSilent(const std::string& node, bool silent) = 0;
  // The machine was off: nothing runs there any more.
  virtual void Lose(const std::string& node, Time now) = 0;
};

}  // namespace simulation
