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

// A pod with one claim, as its kubelet sees it.
struct PluginPod {
  static constexpr std::chrono::seconds kDaemonStartsIn{2};
  enum class State { kWanted, kPrepared, kEnding, kGone };
  std::string name = {};
  kube::ObjectKey key = {};  // Key of the claim.
  kube::Uid uid = {};
  std::string node = {};
  std::string domain = {};  // UID.
  bool is_daemon = false;   // A pod of the DaemonSet.
  bool keeps_claim = false;
  bool is_replaced = false;  // Another pod uses its claim afterwards.
  State state = State::kWanted;
  bool called = false;         // The kubelet has called to prepare it,
  std::string called_in = {};  // in this boot.
  std::optional<int> ticket = {};
  Verb verb = Verb::kPrepare;  // Operation of the ticket.
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
  struct PodOptions {
    std::string pod = {};
    std::string ns = {};
    std::string domain = {};
    std::string node = "node-a";
    std::string device = "channel-0";
    std::string extra_field = {};  // Added to the configuration.
    bool keeps_claim = false;      // A user created the claim, and it outlives the pod.
  };
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
    NodeDisk disk = {};
    std::unique_ptr<Plugin> plugin = {};
    Time start_at = {};
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
  void StartPlugin(Node& node, bool after_crash);
  void Boot(Node& node, bool keeps_specs);
  void EndProcess(Node& node);
  void CheckRest(const PluginPhase& phase);
  void CheckNode(const Node& node, bool is_last);
  std::string Describe(const Node& node) const;
  void Trace(const std::string& line);
  Time NextDue() const;
  PluginEvent& Log(Node& node, PluginEvent::What what, const std::string& name);
  // Returns whether the fault happens now.
  bool IsFaulted(const Node& node, bool is_request, bool is_write, bool is_checkpoint);
  // Returns whether the kubelet waits for a prepare of this pod.
  static bool IsUnderWay(const PluginPod& pod);
  void DisturbWorld(Node& node);
  base::Result<http::Response> Serve(Node& node, const http::Request& request);
  base::Result<void> Edit(Node& node, const DiskEdit& edit);

  const PluginRunSpec spec_;
  const bool traced_;
  PluginRules rules_;
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
  int starts_ = 0;
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
