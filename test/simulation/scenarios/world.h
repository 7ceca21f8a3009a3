// The world of one life: a cluster, the controller's processes in it, and what strikes them.
//
// For one thread. A script lives in it; whatever is wrong is collected, and never ends a life.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "test/simulation/cluster/daemons.h"
#include "test/simulation/cluster/peers.h"
#include "test/simulation/oracles/end_state.h"
#include "test/simulation/oracles/judge.h"
#include "test/simulation/scenarios/replica.h"
#include "test/simulation/scenarios/scenario.h"
#include "test/simulation/scenarios/scripts.h"

namespace simulation {

struct Outcome {
  Violations violations = {};
  bool struck = false;                  // The fault happened.
  int requests = 0;                     // That could have been struck,
  int watches = 0;                      // and openings of watches.
  int passes_at_once = 0;               // Of one process, at the most.
  std::vector<std::string> trace = {};  // Every request and restart, for people; only if asked for.
};

// A domain as its user knows it.
struct DomainName {
  kube::ObjectKey key = {};
  std::string template_name = {};
  int num_nodes = 0;
};

class World {
 public:
  // Called before each request that can be struck, which is number outcome().requests or, if it is
  // the opening of a watch, outcome().watches.
  using BeforeRequest = std::function<void(const http::Request& request)>;

  World(const Plan& plan, bool trace, BeforeRequest before_request = {});

  // The whole life: the script of the plan's workload, or one in its place, then the end of all
  // domains. Once.
  void Live() { Live(FindScript(plan_.workload)->live); }
  void Live(void (*script)(World& world));

  [[nodiscard]] const Plan& plan() const { return plan_; }
  // When the nodes were there, and nobody had begun.
  [[nodiscard]] Revision start() const { return start_; }
  // From now on the life that `plan` says. REQUIRES: up to here they are the same.
  void GoOnWith(const Plan& plan);
  // What has been lived so far is judged, once for all that branch off here.
  void JudgeSoFar() { judge_.Look(); }
  // Whether the strike would change anything at this request.
  [[nodiscard]] bool Hits(Strike strike, const http::Request& request) const;
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }
  // What the life has come to so far; and one of what it shall, if its plan may change nothing of
  // it. These outlive the world, and the first is the one that is usual.
  [[nodiscard]] const Course& course() const { return course_; }
  void Expect(const std::vector<Course>& courses) { expected_ = &courses; }

  // For scripts: what there is,
  [[nodiscard]] Cluster& cluster() { return cluster_; }
  [[nodiscard]] Daemons& daemons() { return daemons_; }
  [[nodiscard]] const Objects& All(Kind kind) const { return cluster_.store().Live(kind); }
  [[nodiscard]] ObjectPtr Get(Kind kind, const kube::ObjectKey& key) const {
    return cluster_.store().Get(kind, key);
  }
  // what users do; where that is not possible it is left,
  void CreateDomain(const DomainName& domain);
  void UserDeletes(const DomainName& domain, const std::string& propagation = "Background");
  // As soon as the name is free a new domain has it.
  void UserRecreates(const DomainName& domain);
  void UserDeletes(Kind kind, const kube::ObjectKey& key);
  void UserForceDeletes(const kube::ObjectKey& pod);
  void UserCreates(Kind kind, const std::string& ns, json::Value object);
  void UserEdits(Kind kind, const kube::ObjectKey& key,
                 const std::function<void(json::Value& object)>& change);
  // A ResourceQuota of the namespace for claim templates; none: it is taken away.
  void SetQuota(const std::string& ns, std::optional<std::size_t> templates);
  void UserLabelsNode(const std::string& node, const std::string& value);  // Empty: takes it off.
  // Every process of the controller makes room for one that gives daemons this image.
  void UpgradeController(const std::string& image);
  // Pods named after `name`, one for each node, that use the domain.
  Workload& StartJob(const std::string& name, const DomainName& domain,
                     std::vector<std::string> nodes);
  // and how time goes by: until nobody has anything to do; or until `done` holds, which it must by
  // then, unless something struck;
  void RunToRest(const std::string& phase) {
    Run(phase, [](const World&) { return false; });
  }
  void RunUntil(const std::string& phase, const std::function<bool(const World&)>& done);
  void RunFor(std::chrono::seconds time);
  // what must hold at rest does; a life that is brief may leave its script there;
  void CheckRest();
  void Rest(const std::string& phase) {
    RunToRest(phase);
    CheckRest();
    if (plan_.brief && outcome_.struck) throw LeavesItsScript();
  }
  // nothing is sent while nothing happens.
  void CheckQuiet();
  void Say(std::string violation) { outcome_.violations.push_back(std::move(violation)); }

 private:
  struct LeavesItsScript {};

  void Run(const std::string& phase, const std::function<bool(const World&)>& done);
  void StartReplica(std::size_t slot, std::map<std::string, Revision> stale);
  base::Result<http::Response> ServeRequest(const std::string& client,
                                            const http::Request& request);
  base::Result<WatchStream> OpenWatch(const std::string& client, const http::Request& request);
  // `serve` has the server answer it.
  template <typename Reply>
  base::Result<Reply> StrikeRequest(const std::string& client, const http::Request& request,
                                    const std::function<Reply()>& serve);
  void ExcuseStrike();
  void KillDaemon(const std::string& client);
  bool StepReplica(std::size_t slot);
  bool StepUser();
  bool StepAnybody();
  bool StepSomebody();
  void LetPeersLag();  // Those that are new, too.
  [[nodiscard]] std::optional<Time> NextDue() const;
  void AdvanceTo(Time time);
  bool AdvanceTime();
  bool CatchUp();
  void LoseNode();
  void Note(const std::string& line);
  [[nodiscard]] bool DomainLives(const DomainName& domain) const {
    const ObjectPtr found = Get(Kind::kComputeDomain, domain.key);
    return found && !found->deleting();
  }
  // Once more all is as a script that ends leaves it: nodes run, and jobs are done.
  void TidyUp();
  [[nodiscard]] std::size_t CountTemplates(const std::string& ns) const;
  [[nodiscard]] std::string WhyOverQuota(const ObjectStore::Admission& write) const;
  void EndAllDomains();
  void Compare();
  [[nodiscard]] Violations CompareWith(const Course& expected) const;

  Plan plan_;
  const bool trace_;
  const BeforeRequest before_request_;
  std::mt19937_64 random_;
  Cluster cluster_;
  Daemons daemons_;  // None where they are played.
  Revision start_ = 0;
  std::vector<std::unique_ptr<Replica>> replicas_;
  Suspects suspects_;
  Judge judge_{cluster_.server(), suspects_};
  int processes_ = 0;
  std::map<std::string, int> lease_requests_ = {};  // By client.
  std::map<std::string, std::size_t> quotas_ = {};  // For claim templates, by namespace.
  bool is_quiet_ = false;  // Nothing may be sent, so nothing can be struck.
  int steps_ = 0;
  std::vector<Workload*> jobs_;
  std::size_t lagging_ = 0;  // Of the cluster's actors, so many.
  bool node_is_lost_ = false;
  std::optional<DomainName> wanted_ = {};  // By a user who waits for its name.
  std::optional<DomainName> first_ = {};   // What strikes users' domains strikes this one.
  Outcome outcome_;
  Course course_;
  const std::vector<Course>* expected_ = nullptr;
};

}  // namespace simulation
