// The daemons of all nodes of a world, with their restarts.
//
// For one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "test/simulation/cluster/daemon.h"
#include "test/simulation/cluster/daemon_runner.h"

namespace simulation {

class Daemons final : public DaemonRunner {
 public:
  // Handle their requests. They may throw ProcessDied.
  using ServeClient = std::function<base::Result<http::Response>(const std::string& client,
                                                                 const http::Request& request)>;
  using OpenClient = std::function<base::Result<WatchStream>(const std::string& client,
                                                             const http::Request& request)>;
  // Called when a node's daemon has changed in a way that its kubelet sees.
  using Wake = std::function<void(const std::string& node)>;

  Daemons(ApiServer& server, ObjectStore& store, ServeClient serve, OpenClient open, Wake wake,
          std::uint64_t seed)
      : server_(server),
        store_(store),
        serve_(std::move(serve)),
        open_(std::move(open)),
        wake_(std::move(wake)),
        seed_(seed),
        fabric_(store.history()) {}

  void SetRules(DaemonRules rules) { rules_ = std::move(rules); }
  // Sets the older state that a process sees at first if the one before died at a request.
  void SetStaleView(StaleView view) { stale_view_ = std::move(view); }

  // Makes one step. Returns whether there was one to make.
  bool Step();
  std::optional<Time> NextDue() const;
  bool AreAtRest() const;
  void ExpireWatches();
  void BreakWatches();
  const Fabric& fabric() const { return fabric_; }
  // Returns the daemon for a fault: a daemon whose IMEX runs, on that node if possible. Null if
  // there is none.
  const DaemonContainer* Victim(const std::string& node) const;
  // EndImex() ends its IMEX. Kill() ends the whole process.
  void EndImex(const DaemonContainer& victim);
  void Kill(const DaemonContainer& victim);

  void Run(const DaemonContainer& container, Time now) override;
  bool IsReady(const kube::Uid& pod) const override;
  std::optional<Time> Stop(const kube::Uid& pod, Time now) override;
  void SetSilent(const std::string& node, bool silent) override {
    fabric_.SetSilent(node, silent, store_.now());
  }
  void Lose(const std::string& node, Time now) override;

 private:
  struct Process {
    DaemonContainer container = {};
    std::unique_ptr<Daemon> daemon = {};  // Null if it died.
    std::optional<Time> told_to_stop = {};
    Time restart_at = {};
    int starts = 0;
  };

  void Start(Process& process, StaleView view);
  void Die(Process& process);
  bool StepOne(Process& process);

  ApiServer& server_;
  ObjectStore& store_;
  const ServeClient serve_;
  const OpenClient open_;
  const Wake wake_;
  const std::uint64_t seed_;
  int started_ = 0;
  DaemonRules rules_;
  StaleView stale_view_;
  Fabric fabric_;
  std::map<kube::Uid, Process> processes_;  // By pod.
};

}  // namespace simulation
