// The world of one run: a cluster, the controller's processes, the fault.
//
// For one thread. A scenario acts on it. Violations are collected, and never end a run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "test/simulation/cluster/daemons.h"
#include "test/simulation/cluster/peers.h"
#include "test/simulation/oracles/end_state.h"
#include "test/simulation/oracles/oracle_runner.h"
#include "test/simulation/scenarios/replica.h"
#include "test/simulation/scenarios/run_spec.h"
#include "test/simulation/scenarios/scenarios.h"

namespace simulation {

struct Outcome {
  Violations violations = {};
  bool faulted = false;                 // Whether the fault happened.
  int requests = 0;                     // Number of requests with a possible fault,
  int watches = 0;                      // and of openings of watches.
  int passes_at_once = 0;               // Maximum of one process.
  std::vector<std::string> trace = {};  // Requests and restarts, if asked for.
};

// A domain as its user knows it.
struct DomainName {
  kube::ObjectKey key = {};
  std::string template_name = {};
  int num_nodes = 0;
};

class World {
 public:
  // Called before each request at which a fault can happen. The request's number is
  // outcome().requests, or outcome().watches if it opens a watch.
  using BeforeRequest = std::function<void(const http::Request& request)>;

  World(const RunSpec& spec, bool trace, BeforeRequest before_request = {});

  // Runs the spec's scenario, or `scenario`, and then the end of all domains. Call it once.
  void Execute() { Execute(FindScenario(spec_.scenario)->run); }
  void Execute(void (*scenario)(World& world));

  const RunSpec& spec() const { return spec_; }
  // Returns the revision after the nodes were created and before any process started.
  Revision start() const { return start_; }
  // Continues as the run of `spec`. REQUIRES: both runs are the same until now.
  void ContinueAs(const RunSpec& spec);
  // Shows the oracles the events so far, once for all runs that branch off here.
  void RunOraclesSoFar() { oracle_runner_.CatchUp(); }
  // Returns whether the fault changes anything at this request.
  bool Applies(Fault fault, const http::Request& request) const;
  const Outcome& outcome() const { return outcome_; }
  // course() returns the course so far. Expect() sets the correct courses, the usual one first, for
  // a spec that ChangesNothing(). `courses` must outlive the world.
  const Course& course() const { return course_; }
  void Expect(const std::vector<Course>& courses) { expected_ = &courses; }

  // ---- For scenarios: the state.
  Cluster& cluster() { return cluster_; }
  Daemons& daemons() { return daemons_; }
  const Objects& All(Kind kind) const { return cluster_.store().Live(kind); }
  ObjectPtr Get(Kind kind, const kube::ObjectKey& key) const {
    return cluster_.store().Get(kind, key);
  }
  // ---- For scenarios: users' actions. An impossible action has no effect.
  void CreateDomain(const DomainName& domain);
  void UserDeletes(const DomainName& domain, const std::string& propagation = "Background");
  // Creates a new domain as soon as the name is free.
  void UserRecreates(const DomainName& domain);
  void UserDeletes(Kind kind, const kube::ObjectKey& key);
  void UserForceDeletes(const kube::ObjectKey& pod);
  void UserCreates(Kind kind, const std::string& ns, json::Value object);
  void UserEdits(Kind kind, const kube::ObjectKey& key,
                 const std::function<void(json::Value& object)>& change);
  // Sets a ResourceQuota of the namespace for claim templates. Empty removes it.
  void SetQuota(const std::string& ns, std::optional<std::size_t> templates);
  // Refuses the controller's writes of the kind with 403. Empty stops that.
  void RefuseWrites(std::optional<Kind> kind) { refused_ = kind; }
  void UserLabelsNode(const std::string& node, const std::string& value);  // Empty removes it.
  // While true, another client undoes each repair at once: it edits the DaemonSet, and takes the
  // finalizer off domains and the label off cliques.
  void UndoRepairs(bool undoes) {
    undoes_repairs_ = undoes;
    system_.repairs_are_undone = true;  // The condition outlives it.
  }
  // Replaces every controller process by one that gives daemons this image.
  void UpgradeController(const std::string& image);
  // Kills every controller process, and starts new ones when `meanwhile`, which has no Rest(), is
  // over.
  void RunWithoutController(const std::function<void()>& meanwhile);
  // Starts pods named after `name`, one for each node, that use the domain. If `claim` is not
  // empty, they share the claim of that name.
  Workload& StartJob(const std::string& name, const DomainName& domain,
                     std::vector<std::string> nodes, const std::string& claim = {});
  // ---- For scenarios: time. RunToRest() runs until no actor has anything to do. RunUntil() runs
  // until `done` holds, which it must at rest, unless there was a fault.
  void RunToRest(const std::string& phase) {
    RunPhase(phase, [](const World&) { return false; });
  }
  void RunUntil(const std::string& phase, const std::function<bool(const World&)>& done);
  void RunFor(std::chrono::seconds time);
  // ---- For scenarios: checks. Rest() checks the oracles of rest; a run with a short tail may
  // leave its scenario there.
  void CheckRest();
  void Rest(const std::string& phase) {
    RunToRest(phase);
    CheckRest();
    if (spec_.short_tail && outcome_.faulted) throw LeavesScenario();
  }
  // Checks that nothing is sent while nothing happens.
  void CheckQuiet();
  void Say(std::string violation) { outcome_.violations.push_back(std::move(violation)); }

 private:
  struct LeavesScenario {};

  void RunPhase(const std::string& phase, const std::function<bool(const World&)>& done);
  void StartReplica(std::size_t slot, std::map<std::string, Revision> stale,
                    const kube::Fitness& fitness = {});
  base::Result<http::Response> ServeRequest(const std::string& client,
                                            const http::Request& request);
  base::Result<WatchStream> OpenWatch(const std::string& client, const http::Request& request);
  // `serve` lets the server answer the request.
  template <typename Reply>
  base::Result<Reply> InjectFault(const std::string& client, const http::Request& request,
                                  const std::function<Reply()>& serve);
  void FailReads();
  void ExcuseFault();
  void KillDaemon(const std::string& client);
  bool StepReplica(std::size_t slot);
  bool StepUser();
  bool StepUndoer();
  bool StepRandomActor();
  bool StepActors();
  void LetPeersLag();  // Including new peers.
  bool IsRefused(const std::string& client, const http::Request& request) const;
  bool IsUnreadable(const std::string& client, const http::Request& request) const;
  std::optional<Time> NextDue() const;
  void AdvanceTo(Time time);
  bool AdvanceTime();
  bool CatchUp();
  void LoseNode();
  void Note(const std::string& line);
  bool DomainIsLive(const DomainName& domain) const {
    const ObjectPtr found = Get(Kind::kComputeDomain, domain.key);
    return found && !found->deleting();
  }
  // Brings the cluster to the state at a scenario's end: nodes run, and jobs are done.
  void TidyUp();
  std::size_t CountTemplates(const std::string& ns) const;
  std::string WhyOverQuota(const ObjectStore::Admission& write) const;
  void EndAllDomains();
  void Compare();
  Violations CompareWith(const Course& expected) const;

  RunSpec spec_;
  const bool trace_;
  const BeforeRequest before_request_;
  std::mt19937_64 random_;
  Cluster cluster_;
  Daemons daemons_;  // Empty if daemons are simulated.
  Revision start_ = 0;
  std::vector<std::unique_ptr<Replica>> replicas_;
  SystemUnderTest system_;
  OracleRunner oracle_runner_{cluster_.server(), system_};
  int processes_ = 0;
  std::map<std::string, int> lease_requests_ = {};  // By client.
  std::map<std::string, std::size_t> quotas_ = {};  // For claim templates, by namespace.
  std::optional<Kind> refused_ = {};                // The kind whose writes fail.
  Time reads_fail_until_ = {};                      // Reads of RunSpec::stale.
  bool undoes_repairs_ = false;
  std::set<std::string> silent_ = {};  // Kinds whose watches are silent.
  bool is_quiet_ = false;              // No request is expected, so no fault can happen.
  int steps_ = 0;
  std::vector<Workload*> jobs_;
  std::size_t lagging_ = 0;  // Number of the cluster's actors that lag.
  bool node_is_lost_ = false;
  std::optional<DomainName> wanted_ = {};  // The domain of a user who waits for its name.
  std::optional<DomainName> first_ = {};   // The domain that the fault of a user hits.
  Outcome outcome_;
  Course course_;
  const std::vector<Course>* expected_ = nullptr;
};

}  // namespace simulation
