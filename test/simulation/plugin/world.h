// The world of the kubelet plugin for domains: domains, their daemons, labels and channels.
//
// Daemons of domains start on labelled nodes. For one thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "node/plugin/host/host_reader.h"
#include "node/plugin/rules/rules.h"
#include "test/simulation/driver/world.h"

namespace simulation {

struct DomainPodOptions {
  std::string pod = {};
  std::string claim = {};  // Its name. If empty, the pod's.
  std::string ns = {};
  std::string domain = {};
  std::string node = "node-a";
  std::string device = "channel-0";
  std::string extra_field = {};  // Added to the configuration.
  bool keeps_claim = false;      // A user created the claim, and it outlives the pod.
};

class DomainWorld final : public PluginWorld {
 public:
  DomainWorld(PluginRunSpec spec, bool trace);

  // Actions of users.
  void MakeDomain(const std::string& name, const std::string& ns);
  void DeleteDomain(const std::string& name);
  void MakePod(const DomainPodOptions& options);
  // Removes the label, as a person or another controller may.
  void RemoveLabel(const std::string& node);
  void SetFabric(const std::string& clique) { clique_ = clique; }
  void SetDaemonsReady(bool ready) { daemons_work_ = ready; }

 private:
  struct Use {
    DomainPodOptions options = {};
    std::string domain = {};  // UID.
  };

  std::unique_ptr<Plugin> NewProcess(Node& node, const PluginOptions& options, Serve serve,
                                     EditDisk edit) override;
  void MakeAgain(const PluginPod& pod, const std::string& claim) override;
  bool StepWorkload(Node& node) override;
  Time NextOfWorkload() const override;
  bool HasOldNumbers(const Node& node, const kube::Uid& claim) const override;
  bool CanHappen(const Node& node) const override;
  void Disturb(Node& node) override;
  void OnEdit(Node& node, const DiskEdit& edit) override;
  void OnUnprepared(const Node& node, const PluginPod& pod, PluginEvent& event) override;
  void CheckNode(const Node& node, bool is_last) override;
  std::string Describe(const Node& node) const override;
  Violations Check() const override;

  const std::string& DomainOf(const PluginPod& pod) const { return uses_.at(pod.uid).domain; }
  void SetEntry(const PluginPod& daemon, bool ready);
  bool HasEntry(const PluginPod& daemon) const;
  std::string LabelOf(const Node& node) const;
  bool Lives(const kube::Uid& domain) const;
  plugin::DriverRead DriverOf(const Node& node) const;
  // Returns an error while the driver is being loaded.
  base::Result<plugin::DriverRead> ReadDriver(const Node& node) const;

  plugin::Rules rules_;
  std::map<std::string, kube::Uid> domains_;       // By name. Keeps deleted domains.
  std::map<std::string, std::string> namespaces_;  // Their namespaces.
  std::map<kube::Uid, Use> uses_;                  // By claim.
  std::string clique_ = "f4b1c0de-0000-4000-8000-000000000001.1";
  bool daemons_work_ = true;
  int daemons_ = 0;
};

const std::vector<PluginScenario<DomainWorld>>& PluginScenarios();
// The program of these plugins, for runs.
const PluginProgram& DomainPlugins();

}  // namespace simulation
