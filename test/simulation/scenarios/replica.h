// One controller process in the simulation: the product's own reflectors, elector, queue, planner
// and reconciler, moved one request or one frame at a time. To crash it is to destroy it.
//
// For one thread. Time is the store's.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "controller/compute_domain/controller.h"
#include "pkg/http/gate.h"
#include "pkg/kube/events/event_recorder.h"
#include "pkg/kube/lease/leader_elector.h"
#include "pkg/kube/workqueue/work_queue.h"
#include "test/simulation/apiserver/api_server.h"
#include "test/simulation/cluster/process_parts.h"
#include "test/simulation/cluster/watcher.h"

namespace simulation {

struct ReplicaOptions {
  std::string client = "controller-1";
  bool elects = true;  // False: it acts as if it always led, beside others that do too.
  bool controller_writes = false;
  // The seed says which of its parts moves next, which request of a step is sent next, by eight
  // workers, and how late it hears of each kind. Else they move in turn, one worker keeps the
  // order, and nothing is late.
  bool mixed = false;
  std::string image = "cdom";  // Of the daemons.
  compute_domain::Rules rules = compute_domain::kRules;
  // Lists and watches of these kinds (by plural) show only what was there at the revision, until
  // CatchUp().
  std::map<std::string, Revision> stale = {};
  std::uint64_t seed = 1;
  Skew skew = {};  // Of its host's clock.
};

class Replica {
 public:
  // In mixed order it hears of a kind so late at the most.
  static constexpr std::chrono::seconds kLagMax{3};

  // `serve` stands between the replica and the server for every request but watches, and `open` for
  // these; null: nothing does.
  Replica(ApiServer& server, ReplicaOptions options, Serve serve, const OpenWatch& open = {});

  // Moves one thing: serves one request, or hands in one frame. Whether there was one to move now.
  bool Step();
  // When something of it is due although nothing moves.
  [[nodiscard]] std::optional<Time> NextDue() const;
  [[nodiscard]] const std::string& client() const { return options_.client; }
  [[nodiscard]] bool Leads() const { return !options_.elects || elector_.IsLeader(); }
  // It led and does not any more, and nothing of its term is under way: as a process it ends.
  [[nodiscard]] bool HasEnded() const;
  // Nothing is under way, and nothing due before `horizon` but watches and the lease, and what
  // waits for it to lead.
  [[nodiscard]] bool IsAtRest(Time horizon) const;
  // Nothing of it moves before, as if its host stood still.
  void FreezeUntil(Time time) { frozen_until_ = time; }
  [[nodiscard]] bool IsFrozen() const { return clock_.StoreTime() < frozen_until_; }
  // From now on it sees no later state of that kind.
  void FallBehind(const std::string& kind, Revision view) { options_.stale[kind] = view; }
  // The servers that it reads from know the newest state again.
  // False if they did all along.
  bool CatchUp() { return !std::exchange(options_.stale, {}).empty(); }
  // The server no longer knows the version that any open watch has come to: 410.
  void ExpireWatches();
  // Breaks the connection of each open watch of at least this age, in the middle of its next event.
  void BreakWatches(std::chrono::seconds lived);
  [[nodiscard]] bool HasOpenWatch() const {
    return std::ranges::any_of(watches_, &Watcher::IsOpen);
  }

  // The passes that have been under way at once, at the most.
  [[nodiscard]] int passes_at_once() const { return passes_at_once_; }

  [[nodiscard]] const RingLogger& logger() const { return logger_; }

 private:
  // The pass under way, its requests and the replies that have come.
  struct Worker {
    std::string uid = {};
    std::optional<compute_domain::ReconcilePass> pass = {};
    std::vector<http::Request> requests = {};
    std::vector<std::optional<base::Result<http::Response>>> replies = {};
    std::size_t missing = 0;
  };

  [[nodiscard]] Revision ViewOf(const kube::Reflector& reflector) const;
  [[nodiscard]] Watcher::Lag DrawLag();
  bool StepWatch(Watcher& watch);
  bool StepElector();
  bool StepEvents();
  bool StepWorker(Worker& worker);
  [[nodiscard]] base::Result<http::Response> SendOfPass(const http::Request& request);
  void Record(const std::vector<kube::Event>& events);
  [[nodiscard]] bool Works() const;

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
  kube::EventRecorder events_;
  base::Clock::TimePoint observed_at_ = {};
  base::Clock::TimePoint events_until_ = base::Clock::TimePoint::max();
  std::deque<Worker> workers_;
  std::mt19937_64 order_;
  std::mt19937_64 lags_;
  int passes_at_once_ = 0;
  bool has_begun_ = false;
  std::size_t turn_ = 0;
  Time frozen_until_ = {};
};

}  // namespace simulation
