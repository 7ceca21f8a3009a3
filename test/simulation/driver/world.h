// Simulated nodes with kubelets and the plugins of a driver, and users with their pods.
//
// A driver derives its world from it: what its claims hold, and what else happens. For one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "test/simulation/driver/process.h"
#include "test/simulation/driver/scenario.h"
#include "test/simulation/oracles/oracles.h"

namespace simulation {

struct PluginPodOptions {
  std::string pod = {};
  std::string claim = {};  // Its name. If empty, the pod's. Pods may share one.
  std::string ns = {};
  std::string node = {};
  bool keeps_claim = false;  // A user created the claim, and it outlives the pod.
};

// A pod with one claim, as its kubelet sees it.
struct PluginPod {
  enum class State { kWanted, kPrepared, kEnding, kGone };
  std::string name = {};
  kube::ObjectKey key = {};  // Key of the claim.
  kube::Uid uid = {};
  std::string node = {};
  bool is_daemon = false;  // The driver's own.
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

class PluginWorld {
 public:
  virtual ~PluginWorld() = default;
  PluginWorld(const PluginWorld&) = delete;
  PluginWorld& operator=(const PluginWorld&) = delete;
  const PluginOutcome& outcome() const { return outcome_; }

  // Actions of users.
  void EndPod(const std::string& name);
  // Creates another pod for the claim of a pod that has ended.
  void ReplaceUserOf(const std::string& name);

  // Runs the phases of `scenario`, and then checks what happened.
  template <typename World>
  void Run(const PluginScenario<World>& scenario) {
    for (const PluginPhase<World>& phase : scenario.phases) {
      if (phase.begin) phase.begin(static_cast<World&>(*this));
      if (phase.prepared) {
        RunToRest(phase.lasts);
        CheckRest({.prepared = *phase.prepared,
                   .any_one = phase.any_one,
                   .is_last = phase.is_last,
                   .except = phase.except});
      } else {
        RunFor(phase.lasts);
      }
      if (!outcome_.violations.empty()) break;
    }
    for (std::string& violation : Check()) outcome_.violations.push_back(std::move(violation));
  }

 protected:
  using State = PluginPod::State;
  static constexpr std::chrono::seconds kDriverLoadsIn{3};
  static constexpr std::chrono::seconds kKubeletRetriesIn{5};

  struct Node {
    std::string name = {};
    int boots = 0;
    HostTruth host = {};
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

  PluginWorld(PluginRunSpec spec, bool trace);

  // ---- What a driver has

  virtual std::unique_ptr<Plugin> NewProcess(Node& node, const PluginOptions& options, Serve serve,
                                             EditDisk edit) = 0;
  // Makes a pod like one that the kubelet forgot, with a claim of this name.
  virtual void MakeAgain(const PluginPod& pod, const std::string& claim) = 0;
  // What else happens on the node. Returns whether something has.
  virtual bool StepWorkload(Node& /*node*/) { return false; }
  virtual Time NextOfWorkload() const { return Time::max(); }
  // Returns whether the claim's spec has device numbers of an earlier driver.
  virtual bool HasOldNumbers(const Node& node, const kube::Uid& claim) const = 0;
  // Returns whether a fault that only this driver knows can happen now.
  virtual bool CanHappen(const Node& /*node*/) const { return true; }
  virtual void Disturb(Node& /*node*/) {}
  // An edit has taken effect.
  virtual void OnEdit(Node& /*node*/, const DiskEdit& /*edit*/) {}
  // A claim was unprepared.
  virtual void OnUnprepared(const Node& /*node*/, const PluginPod& /*pod*/,
                            PluginEvent& /*event*/) {}
  // Checks what a node is left with.
  virtual void CheckNode(const Node& node, bool is_last) = 0;
  // Describes how a node is left. Equal runs leave the same.
  virtual std::string Describe(const Node& node) const = 0;
  virtual Violations Check() const = 0;

  // ---- What all have

  // Creates the claim, with these devices in its allocation, unless another pod has made it.
  PluginPod& AddPod(const PluginPodOptions& options, const json::Value& devices);
  // Runs for this time, and longer until the fault must be made good.
  void RunToRest(std::chrono::seconds time);
  void RunFor(std::chrono::seconds time);
  // As in PluginPhase.
  struct Rest {
    std::set<std::string> prepared = {};
    bool any_one = false;
    bool is_last = false;
    std::set<PluginFault> except = {};
  };
  void CheckRest(const Rest& wanted);
  void Boot(Node& node, bool keeps_specs);
  // A stranger removes all CDI specs of claims.
  void LoseSpecs(Node& node);
  // Leaves half of a checkpoint on the disk.
  void Tear(Node& node, const std::string& text);
  // NVIDIA's driver is loaded again. Empty: the same version of it.
  void ReloadDriver(Node& node, const std::string& version = "");
  void LogHost(Node& node) { Log(node, PluginEvent::What::kHostChanged, "").host = node.host; }
  // The plugin of the node ends, and starts again at `until`.
  void StopPlugins(Node& node, Time until);
  // The kubelet never hears of the pod again, and its claim is deleted unless `keeps_claim`.
  void ForgetPod(PluginPod& pod, bool keeps_claim);
  PluginEvent& Log(Node& node, PluginEvent::What what, const std::string& name);
  void Trace(const std::string& line);
  // UIDs of the claims that the checkpoint has as started or prepared.
  static std::set<std::string> HeldClaims(const std::optional<std::string>& checkpoint);
  bool IsUsed(const Node& node) const;  // By a pod that is not gone.

  const PluginRunSpec& spec() const { return spec_; }
  const PluginEvents& events() const { return events_; }
  ObjectStore& store() { return store_; }
  const ObjectStore& store() const { return store_; }
  ApiServer& server() { return server_; }
  const ApiServer& server() const { return server_; }
  std::map<std::string, std::unique_ptr<Node>>& nodes() { return nodes_; }
  std::vector<std::unique_ptr<PluginPod>>& pods() { return pods_; }
  const std::vector<std::unique_ptr<PluginPod>>& pods() const { return pods_; }
  void Report(std::string violation) { outcome_.violations.push_back(std::move(violation)); }
  bool has_faulted() const { return outcome_.faulted; }

 private:
  // A call to prepare that arrives once more, and whose answer nobody awaits.
  struct LateCall {
    std::string node = {};
    kube::ObjectKey key = {};
    kube::Uid uid = {};
    Time at = {};
  };

  bool StepAll();
  bool StepNode(Node& node);
  bool StepKubelet(Node& node, PluginPod& pod);
  // The kubelet calls to unprepare a claim only when no other pod uses it.
  bool IsShared(const PluginPod& pod) const;
  void EndNow(PluginPod& pod);
  void Take(Node& node, const PluginAnswer& answer);
  void StartPlugin(Node& node, bool after_crash);
  void Roll(Node& node);
  // Begins a rolling update that is due. Ends its older process if that has served out.
  bool StepRollout(Node& node);
  // Steps the processes, and takes their answers.
  bool StepPlugins(Node& node);
  // Null if none serves.
  static Plugin* Serving(const Node& node);
  void EndProcess(Node& node, std::uint64_t process);
  // The kubelet forgets its pods there, and others replace them.
  void Forget(const Node& node);
  bool StepLateCalls();
  Time NextDue() const;
  // Returns whether the fault happens now.
  bool IsFaulted(const Node& node, bool is_request, bool is_write, bool is_checkpoint);
  // Returns whether the kubelet waits for a prepare of this pod.
  static bool IsUnderWay(const PluginPod& pod);
  void DisturbWorld(Node& node);
  base::Result<http::Response> Handle(Node& node, const http::Request& request);
  base::Result<void> Edit(Node& node, const DiskEdit& edit);
  void Apply(Node& node, const DiskEdit& edit);

  const PluginRunSpec spec_;
  const bool traced_;
  PluginOutcome outcome_;
  ObjectStore store_;
  ApiServer server_;
  std::map<std::string, std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<PluginPod>> pods_;
  PluginEvents events_;
  Revision began_ = 0;
  int tickets_ = 0;
  std::uint64_t starts_ = 0;
  std::vector<LateCall> late_calls_;
  int replaced_ = 0;
  Time faulted_at_ = {};
};

}  // namespace simulation
