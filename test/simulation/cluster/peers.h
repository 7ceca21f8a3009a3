// The whole cluster around the controller: the truth, its API server, and every other actor.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "test/simulation/apiserver/api_server.h"
#include "test/simulation/cluster/cluster_controllers.h"
#include "test/simulation/cluster/node_agent.h"
#include "test/simulation/cluster/peer.h"

namespace simulation {

// Pods that use a domain, one for each of some nodes. As a Job would, it makes them once the
// domain's claim template is there, and makes one again that somebody deleted.
class Workload final : public Peer {
 public:
  Workload(ObjectStore& store, kube::ObjectKey key, std::string template_name,
           std::vector<std::string> nodes);

  // Its work is done: its pods go.
  void Finish();

 private:
  void Act(Time now) override;
  [[nodiscard]] bool CreatePod(const kube::ObjectKey& key, const std::string& node);

  const kube::ObjectKey key_;
  const std::string template_name_;
  const std::vector<std::string> nodes_;
  bool finished_ = false;
};

class Cluster {
 public:
  static constexpr Time kStart{std::chrono::seconds(1'767'225'600)};  // 2026-01-01T00:00:00Z

  // With the driver's namespace, and no nodes yet.
  explicit Cluster(Revision start = 980);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  [[nodiscard]] ObjectStore& store() { return store_; }
  [[nodiscard]] const ObjectStore& store() const { return store_; }
  [[nodiscard]] ApiServer& server() { return server_; }
  [[nodiscard]] Time now() const { return store_.now(); }
  void Advance(std::chrono::microseconds by) { store_.SetTime(now() + by); }

  // Of the nodes that are added from now on; else they play them. It outlives the cluster.
  void RunDaemonsBy(DaemonRunner& daemons) { daemons_ = &daemons; }
  void AddNamespace(const std::string& name);
  // An empty clique: a node without NVLink fabric.
  NodeAgent& AddNode(const std::string& name, const std::string& clique);
  Workload& AddWorkload(const kube::ObjectKey& key, const std::string& template_name,
                        std::vector<std::string> nodes);
  [[nodiscard]] NodeAgent& agent(const std::string& node) { return *agents_.at(node); }

  // All actors but the controller, in a fixed order. Their number only grows.
  [[nodiscard]] const std::vector<std::unique_ptr<Peer>>& peers() const { return peers_; }
  // Lets every actor move in turn until none does; how many steps that took. Time stands still.
  int Settle();
  // When the next of them wants to be asked again although nothing has changed.
  [[nodiscard]] std::optional<Time> NextDue() const;

  [[nodiscard]] NamespaceController& namespace_controller() { return *namespace_controller_; }

  // What a user does.
  kube::Uid CreateDomain(const kube::ObjectKey& key, const std::string& template_name,
                         int num_nodes = 0);
  Reply DeleteDomain(const kube::ObjectKey& key, const std::string& propagation = "Background");
  void FailNode(const std::string& node);
  void RecoverNode(const std::string& node, bool rebooted);

 private:
  template <typename T, typename... Args>
  T& AddPeer(Args&&... args);

  ObjectStore store_;
  ApiServer server_{store_};
  std::vector<std::unique_ptr<Peer>> peers_;
  std::map<std::string, NodeAgent*> agents_;
  NodeController* node_controller_ = nullptr;
  NamespaceController* namespace_controller_ = nullptr;
  DaemonRunner* daemons_ = nullptr;
};

}  // namespace simulation
