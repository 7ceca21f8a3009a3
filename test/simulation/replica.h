// One controller process in the simulation: the product's own reflectors, elector, queue, planner
// and reconciler, moved one request or one frame at a time. To crash it is to destroy it.
//
// For one thread. Time is the store's.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/compute_domain/controller.h"
#include "pkg/http/gate.h"
#include "pkg/kube/lease/leader_elector.h"
#include "pkg/kube/workqueue/work_queue.h"
#include "test/simulation/api_server.h"
#include "test/simulation/process_parts.h"
#include "test/simulation/watcher.h"

namespace simulation {

struct ReplicaOptions {
  std::string client = "controller-1";
  bool elects = true;  // False: it acts as if it always led, beside others that do too.
  bool controller_writes = false;
  std::string image = "cdom";  // Of the daemons.
  compute_domain::Rules rules = compute_domain::kRules;
  // Lists and watches of these kinds (by plural) show only what was there at the revision, until
  // CatchUp().
  std::map<std::string, Revision> stale = {};
  std::uint64_t seed = 1;
};

class Replica {
 public:
  // `serve` stands between the replica and the server for every request but watches.
  Replica(ApiServer& server, ReplicaOptions options, Serve serve);

  // Moves one thing: serves one request, or hands in one frame. Whether there was one to move now.
  bool Step();
  // When something of it is due although nothing moves.
  [[nodiscard]] std::optional<Time> NextDue() const;
  // It leads, with nothing under way and nothing due before `horizon` but watches and the lease.
  [[nodiscard]] bool IsAtRest(Time horizon) const;
  // The servers that it reads from know the newest state again.
  // False if they did all along.
  bool CatchUp() { return !std::exchange(options_.stale, {}).empty(); }
  // The server no longer knows the version that any open watch has come to: 410.
  void ExpireWatches();

  [[nodiscard]] const RingLogger& logger() const { return logger_; }

 private:
  [[nodiscard]] Revision ViewOf(const kube::Reflector& reflector) const;
  bool StepWatch(Watcher& watch);
  bool StepElector();
  bool StepWorker();
  [[nodiscard]] bool Leads() const { return !options_.elects || elector_.IsLeader(); }
  [[nodiscard]] base::Result<http::Response> SendOfPass(const http::Request& request);
  void EndPass();

  ReplicaOptions options_;
  const Serve serve_;
  StoreClock clock_;
  SeededRandom random_;
  RingLogger logger_;
  kube::WorkQueue queue_;
  kube::LeaderElector elector_;
  http::Gate gate_{[this] { return Leads(); }, clock_};
  compute_domain::Controller controller_;
  std::deque<Watcher> watches_;
  std::optional<base::Clock::TimePoint> elector_until_;
  // The pass under way, its requests and the replies that have come.
  std::string uid_;
  std::optional<compute_domain::Pass> pass_;
  std::vector<http::Request> requests_;
  std::vector<base::Result<http::Response>> replies_;
  std::size_t turn_ = 0;
};

}  // namespace simulation
