// Simulated kubelets with their plugins, users and daemons.
//
// Users create and delete pods with claims. Daemons of domains start on labelled nodes. For one
// thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "test/simulation/plugin/oracles.h"
#include "test/simulation/plugin/process.h"
#include "test/simulation/plugin/scenario.h"

namespace simulation {

struct PluginPodOptions {
  std::string pod = {};
  std::string claim = {};  // Its name. If empty, the pod's.
  std::string ns = {};
  std::string domain = {};
  std::string node = "node-a";
  std::string device = "channel-0";
  std::string extra_field = {};  // Added to the configuration.
  bool keeps_claim = false;      // A user created the claim, and it outlives the pod.
};

// A pod with one claim, as its kubelet sees it.
struct PluginPod {
  static constexpr std::chrono::seconds kDaemonStartsIn{2};
  enum class State { kWanted, kPrepared, kEnding, kGone };
  std::string name = {};
  kube::ObjectKey key = {};  // Key of the claim.
  kube::Uid uid = {};
  std::string node = {};
  std::string domain = {};  // UID.
  PluginPodOptions options = {};
  bool is_daemon = false;  // A pod of the DaemonSet.
  bool keeps_claim = false;
  bool is_replaced = false;  // Another pod uses its claim afterwards.
  State state = State::kWanted;
  bool called = false;         // The kubelet has called to prepare it,
  std::string called_in = {};  // in this boot.
  std::optional<int> ticket = {};
  Verb verb = Verb::kPrepare;  // Operation of the ticket.
  std::uint64_t process = 0;   // Which has it.
  Time called_at = {};
  Time call_at = {};
  Time prepared_at = {};
};

class PluginWorld;
struct PluginPhase {
  std::function<void(PluginWorld&)> begin = {};
  std::chrono::seconds lasts{0};
  // The users' pods that must be prepared by its end, and no others. Empty if not checked.
  std::optional<std::set<std::string>> prepared = {};
  bool any_one = false;  // Exactly one pod must be, whichever it is.
  bool is_last = false;
};

class PluginWorld {
 public:
  PluginWorld(PluginRunSpec spec, bool trace);
  void Run();
  const PluginOutcome& outcome() const { return outcome_; }

  // Actions of users.
  void MakeDomain(const std::string& name, const std::string& ns);
  void DeleteDomain(const std::string& name);
  using PodOptions = PluginPodOptions;
  void MakePod(const PodOptions& options);
  void EndPod(const std::string& name);
  // Creates another pod for the claim of a pod that has ended.
  void ReplaceUserOf(const std::string& name);
  // Removes the label, as a person or another controller may.
  void RemoveLabel(const std::string& node);
  void SetFabric(const std::string& clique) { clique_ = clique; }
  void SetDaemonsReady(bool ready) { daemons_work_ = ready; }

 private:
  struct Node {
    std::string name = {};
    int boots = 0;
    int driver_loads = 0;
    DiskContent disk = {};
    // The youngest is the last. There are two during a rolling update.
    std::vector<std::unique_ptr<Plugin>> plugins = {};
    bool is_rolling = false;
    Time rolls_at = Time::max();
    Time start_at = {};
    Time lock_free_at = {};  // When a stranger gives the lock back.
    Time elder_ends_at = {};
    Time driver_ready_at = {};  // When its load has ended.
  };
  // A call to prepare that arrives once more, and whose answer nobody awaits.
  struct LateCall {
    std::string node = {};
    kube::ObjectKey key = {};
    kube::Uid uid = {};
    Time at = {};
  };

  void RunFor(std::chrono::seconds time);
  bool StepAll();
  bool StepNode(Node& node);
  bool StepKubelet(Node& node, PluginPod& pod);
  void Take(Node& node, const PluginAnswer& answer);
  bool StepDaemons(Node& node);
  void SetEntry(const PluginPod& daemon, bool ready);
  bool HasEntry(const PluginPod& daemon) const;
  std::string LabelOf(const Node& node) const;
  bool Lives(const kube::Uid& domain) const;
  plugin::DriverRead DriverOf(const Node& node) const;
  // Returns an error while the driver is being loaded.
  base::Result<plugin::DriverRead> ReadDriver(const Node& node) const;
  // Returns whether the claim's spec has device numbers of an earlier driver.
  bool HasOldNumbers(const Node& node, const kube::Uid& claim) const;
  void StartPlugin(Node& node, bool after_crash);
  void Roll(Node& node);
  // Begins a rolling update that is due. Ends its older process if that has served out.
  bool StepRollout(Node& node);
  // Steps the processes, and takes their answers.
  bool StepPlugins(Node& node);
  // Null if none serves.
  static Plugin* Serving(const Node& node);
  void Boot(Node& node, bool keeps_specs);
  void EndProcess(Node& node, std::uint64_t process);
  // The kubelet forgets its pods there, and others replace them.
  void Forget(const Node& node);
  bool StepLateCalls();
  void CheckRest(const PluginPhase& phase);
  void CheckNode(const Node& node, bool is_last);
  std::string Describe(const Node& node) const;
  // UIDs of the claims that the checkpoint has as started or prepared.
  static std::set<std::string> HeldClaims(const std::optional<std::string>& checkpoint);
  void Trace(const std::string& line);
  Time NextDue() const;
  PluginEvent& Log(Node& node, PluginEvent::What what, const std::string& name);
  // Returns whether the fault happens now.
  bool IsFaulted(const Node& node, bool is_request, bool is_write, bool is_checkpoint);
  // Returns whether the kubelet waits for a prepare of this pod.
  static bool IsUnderWay(const PluginPod& pod);
  void DisturbWorld(Node& node);
  // Leaves half of a checkpoint on the disk.
  static void Tear(Node& node, const std::string& text);
  base::Result<http::Response> Serve(Node& node, const http::Request& request);
  base::Result<void> Edit(Node& node, const DiskEdit& edit);

  const PluginRunSpec spec_;
  const bool traced_;
  plugin::Rules rules_;
  PluginOutcome outcome_;
  ObjectStore store_;
  ApiServer server_;
  std::map<std::string, kube::Uid> domains_;       // By name. Keeps deleted domains.
  std::map<std::string, std::string> namespaces_;  // Their namespaces.
  std::map<std::string, std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<PluginPod>> pods_;
  PluginEvents events_;
  std::string clique_ = "f4b1c0de-0000-4000-8000-000000000001.1";
  bool daemons_work_ = true;
  Revision began_ = 0;
  int tickets_ = 0;
  int daemons_ = 0;
  std::uint64_t starts_ = 0;
  std::vector<LateCall> late_calls_;
  int replaced_ = 0;
  Time faulted_at_ = {};
};

// README.md lists the scenarios; `test/lint/lint.sh scenarios` keeps both equal.
struct PluginScenario {
  const char* name = "";
  const char* what = "";
  std::vector<PluginPhase> phases = {};
};
const std::vector<PluginScenario>& PluginScenarios();
// Null if none has the name.
const PluginScenario* FindPluginScenario(const std::string& name);

}  // namespace simulation
