// One controller process in the simulation.
//
// It has the product's own reflectors, elector, queue, planner and passes. It moves one request
// or one frame at a time. Destroying it is a crash. For one thread. Time is the store's.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/compute_domain/controller.h"
#include "pkg/http/gate.h"
#include "pkg/kube/events/event_recorder.h"
#include "pkg/kube/lease/fitness.h"
#include "pkg/kube/lease/leader_elector.h"
#include "pkg/kube/workqueue/work_queue.h"
#include "test/simulation/apiserver/api_server.h"
#include "test/simulation/cluster/process_parts.h"
#include "test/simulation/cluster/watcher.h"

namespace simulation {

struct ReplicaOptions {
  std::string client = "controller-1";
  bool elects = true;  // If false, acts as leader always, beside others that do the same.
  bool controller_writes = false;
  // If true, the seed decides which part moves next, and how late it hears of each kind. It also
  // decides which request of a step is sent next, by eight workers. If false, parts move in turn,
  // one worker keeps the order, and nothing is late.
  bool mixed = false;
  std::string image = "cdom";  // Image of the daemons.
  compute_domain::Rules rules = compute_domain::kRules;
  // Lists and watches of these kinds (by plural) show only the state at the revision, until
  // CatchUp().
  std::map<std::string, Revision> stale = {};
  std::set<std::string> silent = {};  // Kinds (by plural) whose watches are silent; see Silence().
  bool believes_silence = false;      // See Watcher::BelieveSilence().
  std::uint64_t seed = 1;
  Skew skew = {};              // Error of its host's clock.
  kube::Fitness fitness = {};  // As an earlier term of the process left it.
};

class Replica {
 public:
  // Maximum delay of a kind in mixed order.
  static constexpr std::chrono::seconds kLagMax{3};

  // `serve` handles every request except watches, and `open` handles watches. If `open` is null,
  // watches go to the server directly.
  Replica(ApiServer& server, ReplicaOptions options, Serve serve, const OpenWatch& open = {});

  // Serves one request, or delivers one frame. Returns whether there was one.
  bool Step();
  // Returns when it has something to do although nothing changes. Empty if never.
  std::optional<Time> NextDue() const;
  const std::string& client() const { return options_.client; }
  bool Leads() const { return !options_.elects || elector_.IsLeader(); }
  // Returns whether its term is over and nothing is in flight. A real process starts over then,
  // with what fitness() returns.
  bool HasEnded() const;
  const kube::Fitness& fitness() const { return fitness_; }
  // Returns whether nothing is in flight, and nothing is due before `horizon`. Watches, the Lease
  // and work that waits for leadership do not count.
  bool IsAtRest(Time horizon) const;
  // Stops it until `time`, as if its host were paused.
  void FreezeUntil(Time time) { frozen_until_ = time; }
  bool IsFrozen() const { return clock_.StoreTime() < frozen_until_; }
  // From now on it sees no later state of that kind than `view`.
  void FallBehind(const std::string& kind, Revision view) { options_.stale[kind] = view; }
  // From now on the watches of that kind are accepted, deliver nothing and end after a minute.
  void Silence(const std::string& kind);
  // As after a restore of etcd: a LIST of each of `kinds` goes back to the revision, and the
  // watches of the others are silent until the next LIST of each. REQUIRES: WatchesAll().
  void GoBack(const std::map<std::string, Revision>& kinds);
  // Shows it the newest state again. Returns false if it saw that already.
  bool CatchUp() { return !std::exchange(options_.stale, {}).empty(); }
  // Answers each open watch with 410: its version is too old.
  void ExpireWatches();
  // Breaks the connection of each open watch of at least this age, in the middle of its next event.
  void BreakWatches(std::chrono::seconds lived);
  bool HasOpenWatch() const { return std::ranges::any_of(watches_, &Watcher::IsOpen); }
  // Returns whether every watch that it has permission for is open, and no frame is late.
  bool WatchesAll() const {
    return std::ranges::all_of(
        watches_, [](const Watcher& watch) { return watch.IsAtRest() || watch.IsDoneWithout(); });
  }

  // Returns the maximum number of passes that ran at once.
  int passes_at_once() const { return passes_at_once_; }

  const RingLogger& logger() const { return logger_; }
  const compute_domain::Controller& controller() const { return controller_; }
  compute_domain::Controller& controller() { return controller_; }

 private:
  // The current pass, its requests and the replies so far.
  struct Worker {
    std::string uid = {};
    std::optional<compute_domain::ReconcilePass> pass = {};
    std::vector<http::Request> requests = {};
    std::vector<std::optional<base::Result<http::Response>>> replies = {};
    std::size_t missing = 0;
  };

  Revision ViewOf(const kube::Reflector& reflector) const;
  Watcher::Lag DrawLag();
  bool StepWatch(Watcher& watch);
  bool StepElector();
  void ObserveOnceAtATime();
  bool IsFit();
  bool StepEvents();
  bool StepWorker(Worker& worker);
  base::Result<http::Response> SendAsLeader(const http::Request& request);
  void Record(const std::vector<kube::Event>& events);
  bool Works() const;

  ReplicaOptions options_;
  const Serve serve_;
  StoreClock clock_;
  SeededRandom random_;
  RingLogger logger_;
  kube::WorkQueue queue_;
  kube::LeaderElector elector_;
  http::Gate gate_{[this] { return Leads(); }, clock_};
  kube::Fitness fitness_;
  bool gives_up_ = false;  // It releases the Lease, once nothing is in flight.
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
