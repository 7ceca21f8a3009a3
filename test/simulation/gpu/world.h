// The world of the GPU plugin: machines with GPUs, and pods with claims for them.
//
// For one thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "node/gpu/rules/rules.h"
#include "test/simulation/driver/world.h"

namespace simulation {

struct GpuPodOptions {
  std::string pod = {};
  std::string claim = {};  // Its name. If empty, the pod's. Pods may share one.
  std::string ns = "train";
  std::string node = "node-a";
  std::vector<std::string> devices = {"gpu-0"};
  std::string pool = {};      // Of the allocation. If empty, the node.
  bool admin_access = false;  // The claim uses devices beside the claims that hold them.
  std::string strategy = {};  // How the claim asks to share its GPUs. If empty, it does not.
  bool keeps_claim = false;   // A user created the claim, and it outlives the pod.
};

class GpuWorld final : public PluginWorld {
 public:
  GpuWorld(PluginRunSpec spec, bool trace);

  // Actions of users and administrators, on node-a unless they name another.
  void MakePod(const GpuPodOptions& options);
  void LoseGpu(const std::string& device);
  void FindGpu(const std::string& device);
  // The driver is replaced by this version of it, or loaded again if it is empty.
  void ReplaceDriver(const std::string& version);
  void SetDriverReadable(bool is_readable);
  void Reboot();
  void TearCheckpoint();
  // The plugin is away for so long.
  void StopPlugin(std::chrono::seconds time);
  // The pod is deleted by force, with its claim unless it keeps that, and the kubelet never hears
  // of it.
  void DropPod(const std::string& name);
  // The claim is deleted by force, and the kubelet has its pod.
  void DeleteClaimOf(const std::string& name);

 private:
  std::unique_ptr<Plugin> NewProcess(Node& node, const PluginOptions& options, Serve serve,
                                     EditDisk edit) override;
  void MakeAgain(const PluginPod& pod, const std::string& claim) override;
  bool StepWorkload(Node& node) override;
  Time NextOfWorkload() const override { return made_good_at_; }
  bool HasOldNumbers(const Node& /*node*/, const kube::Uid& /*claim*/) const override {
    return false;  // G-2 looks at whole specs.
  }
  bool CanHappen(const Node& node) const override;
  void Disturb(Node& node) override;
  void OnUnprepared(const Node& node, const PluginPod& pod, PluginEvent& event) override;
  void CheckNode(const Node& node, bool is_last) override;
  std::string Describe(const Node& node) const override;
  Violations Check() const override;

  Node& NodeA() { return *nodes().at("node-a"); }
  PluginPod& Find(const std::string& pod);
  std::vector<std::string> PublishedOn(const std::string& node) const;
  // What the node has of a claim.
  static std::vector<std::string> LeftOf(const Node& node, const kube::Uid& claim);

  gpu::Rules rules_;
  std::map<kube::Uid, GpuPodOptions> options_;  // By claim.
  Time made_good_at_ = Time::max();             // When a fault of the host ends.
};

const std::vector<PluginScenario<GpuWorld>>& GpuScenarios();
// The program of these plugins, for runs.
const PluginProgram& GpuPlugins();

}  // namespace simulation
