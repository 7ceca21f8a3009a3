// One process of a kubelet plugin in the simulation.
//
// It has the product's own rules and reflectors. It moves one request, one frame or one edit of the
// disk at a time. Destroying it is a crash. For one thread. Time is the store's.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/api/types.h"
#include "node/plugin/rules/garbage.h"
#include "node/plugin/rules/prepare.h"
#include "pkg/kube/cache/store.h"
#include "test/simulation/cluster/process_parts.h"
#include "test/simulation/cluster/watcher.h"
#include "test/simulation/plugin/disk.h"

namespace simulation {

// The rules that a mutant replaces.
struct PluginRules {
  std::function<plugin::ClaimStep(const plugin::NodeIdentity&, const std::string&,
                                  const plugin::ClaimToPrepare*, const plugin::Checkpoint&,
                                  const plugin::NodeObservation&)>
      prepare = &plugin::Prepare;
  std::function<plugin::ClaimStep(const plugin::NodeIdentity&, const std::string&,
                                  const plugin::Checkpoint&, const plugin::NodeObservation&)>
      unprepare = &plugin::Unprepare;
  std::function<plugin::GarbagePlan(const plugin::NodeIdentity&, const plugin::Checkpoint&,
                                    const plugin::NodeResidue&)>
      find_garbage = &plugin::FindGarbage;
  std::function<plugin::Resumed(const std::optional<std::string>&, const std::string&)> resume =
      &plugin::Resume;
  std::function<plugin::Checkpoint(const plugin::NodeIdentity&, const std::string&,
                                   const std::vector<plugin::ClaimToPrepare>&,
                                   const plugin::NodeResidue&)>
      rebuild = &plugin::Rebuild;
};

struct PluginOptions {
  std::string client = {};
  plugin::NodeIdentity self = {};
  PluginRules rules = {};
  // The revision of domains and cliques that it sees at first.
  Revision old_view = kNewest;
  std::uint64_t seed = 1;
};

// Carries out an edit, or injects a fault. May throw ProcessDied.
using EditDisk = std::function<base::Result<void>(const DiskEdit& edit)>;

enum class Verb { kPrepare, kUnprepare };
struct PluginAnswer {
  Verb verb = Verb::kPrepare;
  int ticket = 0;
  kube::Uid uid = {};
  std::string error = {};
  std::vector<std::string> cdi_ids = {};
};

class Plugin {
 public:
  Plugin(ApiServer& server, const NodeDisk& disk, PluginOptions options, Serve serve,
         EditDisk edit);

  // A call of the kubelet. Its answer has the same ticket.
  void Call(Verb verb, const kube::ObjectKey& key, const kube::Uid& uid, int ticket);
  // The kubelet no longer waits for the answer with this ticket.
  void Cancel(int ticket);
  std::vector<PluginAnswer> TakeAnswers() { return std::exchange(answers_, {}); }

  // Makes one step. Returns whether there was one to make.
  bool Step();
  // Returns when it has something to do although nothing changes. Empty if never.
  std::optional<Time> NextDue() const;
  void ExpireWatches();

 private:
  struct PendingCall {
    Verb verb = Verb::kPrepare;
    kube::ObjectKey key = {};
    kube::Uid uid = {};
    int ticket = 0;
    plugin::TimePoint since = {};
    std::optional<plugin::ClaimToPrepare> claim = {};
    bool looked_for_domain = false;
    std::optional<plugin::DomainIdentity> domain = {};  // Result of that read.
    bool tried_node = false;
    bool is_withdrawn = false;
    std::optional<plugin::TimePoint> sleeps_until = {};
    std::size_t slept_at = 0;  // Value of `news_` at that time.
    bool over = false;
  };
  struct NodeSeen {
    std::string domain = {};
    std::string version = {};
  };

  Revision View() const;
  std::optional<std::string> Text(const http::Request& request);
  bool StepWatches();
  bool StepStart();
  bool StepCall(PendingCall& call);
  bool StepGarbage();
  bool CollectGarbage(const plugin::GarbagePlan& garbage);
  void EndRound(bool failed);
  void Withdraw(PendingCall& call);
  bool ReadClaim(PendingCall& call);
  bool ReadNode();
  std::optional<std::vector<api::ComputeDomain>> ListDomains();
  plugin::NodeObservation Observe(const PendingCall& call) const;
  std::optional<plugin::DomainIdentity> FindDomain(const std::string& uid) const;
  bool IsReady(const std::string& domain) const;
  bool IsAlive(const std::string& domain) const;
  bool KeepsLabel(const PendingCall& call) const;
  plugin::NodeResidue FindResidue() const;
  void Execute(PendingCall& call, const plugin::ClaimStep& step);
  base::Result<void> Try(PendingCall& call, const plugin::ClaimStep& step);
  base::Result<void> WriteCheckpoint(plugin::Checkpoint checkpoint);
  base::Result<void> Label(const std::string& domain);
  void Answer(PendingCall& call, const plugin::AnswerKubelet& result);
  void Sleep(PendingCall& call, plugin::TimePoint until);
  bool Sleeps(const PendingCall& call) const;

  ApiServer& server_;
  const NodeDisk& disk_;
  const PluginOptions options_;
  const Serve serve_;
  const EditDisk edit_;
  StoreClock clock_;
  const Time born_;
  SeededRandom random_;
  RingLogger logger_;
  kube::Store<api::ComputeDomain> domains_;
  kube::Store<api::Clique> cliques_;
  kube::Reflector domain_reflector_;
  kube::Reflector clique_reflector_;
  std::deque<Watcher> watches_;
  std::size_t news_ = 0;

  std::optional<plugin::Resumed> resumed_;
  std::optional<std::vector<plugin::ClaimToPrepare>> claims_;  // To rebuild the checkpoint.
  bool started_ = false;
  plugin::TimePoint start_again_ = {};
  plugin::Checkpoint checkpoint_;
  std::optional<NodeSeen> node_;
  std::deque<PendingCall> calls_;
  std::vector<PluginAnswer> answers_;

  plugin::TimePoint next_round_ = {};
  bool listed_ = false;  // Whether domains were listed in this round.
  std::set<std::string> domains_gone_;
  plugin::TimePoint label_kept_until_ = {};
  std::set<std::string> looked_up_;
  std::map<std::string, plugin::TimePoint> missing_;  // Prepared claims, and since when.
};

}  // namespace simulation
