// One daemon process in the simulation.
//
// It has the product's own Decide(), writes and reflectors. It moves one request, one frame or one
// decision at a time, and its IMEX is a value. Destroying it is a crash. For one thread. Time is
// the store's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/types.h"
#include "node/daemon/step.h"
#include "node/daemon/writes.h"
#include "pkg/kube/cache/store.h"
#include "test/simulation/cluster/imex.h"
#include "test/simulation/cluster/process_parts.h"
#include "test/simulation/cluster/watcher.h"

namespace simulation {

// The rules that a mutant replaces.
struct DaemonRules {
  std::function<imex_daemon::DaemonStep(const imex_daemon::DaemonIdentity&,
                                        const imex_daemon::DaemonObservation&,
                                        const imex_daemon::DaemonMemory&)>
      decide = &imex_daemon::Decide;
};

// An older state, which a process sees at first.
struct StaleView {
  std::string kind = {};  // Plural. Empty if it sees the newest state.
  Revision revision = 0;
};

struct DaemonOptions {
  std::string client = {};
  DaemonContainer container = {};
  DaemonRules rules = {};
  StaleView stale_view = {};
  std::uint64_t seed = 1;
};

class Daemon {
 public:
  // `serve` handles every request except watches, and `open` handles watches.
  Daemon(ApiServer& server, Fabric& fabric, DaemonOptions options, Serve serve, OpenWatch open);

  // Makes one step. Returns whether there was one to make.
  bool Step();
  // Returns when it has something to do although nothing changes. Empty if never.
  std::optional<Time> NextDue() const;
  // Returns whether nothing is in flight, and its actions have had no effect for a while.
  bool IsAtRest() const;

  void TellToStop();
  // Returns the result of its readiness probe.
  bool IsReady() const;
  bool IsOver() const { return over_; }
  // Returns why it ended with a failure. Empty if it did not.
  const std::string& fatal() const { return fatal_; }
  // Returns why its entry is still in its clique. Empty if it is not, as far as it knows.
  const std::string& why_it_stays() const { return why_it_stays_; }
  void ExpireWatches();
  void BreakWatches();

  const DaemonContainer& container() const { return options_.container; }

 private:
  Revision ViewOf(const Watcher& watch) const;
  void Watch();
  bool StepWatches();
  bool StepWrite();
  bool StepQuery();
  bool StepDecision();
  void Observe();
  bool Execute(const imex_daemon::DaemonStep& step);
  void StartImex();
  void EndImex();
  void TakeWritten(const base::Result<imex_daemon::Written>& written);
  void NoteAction() { last_action_ = clock_.Wall(); }

  ApiServer& server_;
  Fabric& fabric_;
  const DaemonOptions options_;
  const Serve serve_;
  const OpenWatch open_;
  StoreClock clock_;
  const Time born_;
  SeededRandom random_;
  RingLogger logger_;
  const imex_daemon::DaemonIdentity self_;
  imex_daemon::DaemonObservation observed_;
  imex_daemon::DaemonMemory memory_;
  kube::Store<api::Clique> cliques_;
  kube::Store<api::DaemonPod> pods_;
  kube::Reflector clique_reflector_;
  std::optional<kube::Reflector> pod_reflector_;
  std::deque<Watcher> watches_;
  // The write in flight, and the replies so far.
  std::optional<imex_daemon::WriteOrder> order_;
  std::vector<base::Result<http::Response>> replies_;
  bool is_decided_ = false;  // Nothing has changed since the last decision.
  imex_daemon::TimePoint requeue_at_ = {};
  Time last_action_ = {};
  bool over_ = false;
  std::string fatal_;
  std::string why_it_stays_;
};

}  // namespace simulation
