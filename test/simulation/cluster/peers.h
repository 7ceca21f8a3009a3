// The cluster around the controller: store, API server and other actors.
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

// Returns a container that lists the pod's claim.
json::Value WorkThatLists(const std::string& claim);

// Pods that use a domain, one on each of some nodes. Like a Job, it creates them once the domain's
// claim template exists, and creates a deleted pod again. If `claim` is not empty, all its pods
// name this claim, which it creates from the template.
class Workload final : public Peer {
 public:
  Workload(ObjectStore& store, kube::ObjectKey key, std::string template_name,
           std::vector<std::string> nodes, std::string claim = {});

  // Ends the work: its pods are deleted.
  void Finish();

 private:
  void Act(Time now) override;
  bool CreatePod(const kube::ObjectKey& key, const std::string& node);

  const kube::ObjectKey key_;
  const std::string template_name_;
  const std::vector<std::string> nodes_;
  const std::string claim_;
  bool finished_ = false;
};

class Cluster {
 public:
  static constexpr Time kStart{std::chrono::seconds(1'767'225'600)};  // 2026-01-01T00:00:00Z

  // Has the driver namespace, and no nodes yet.
  explicit Cluster(Revision start = 980);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  ObjectStore& store() { return store_; }
  const ObjectStore& store() const { return store_; }
  ApiServer& server() { return server_; }
  Time now() const { return store_.now(); }
  void Advance(std::chrono::microseconds by) { store_.SetTime(now() + by); }

  // Uses `daemons` for nodes that are added from now on; otherwise nodes simulate daemons.
  // `daemons` must outlive the cluster.
  void RunDaemonsBy(DaemonRunner& daemons) { daemons_ = &daemons; }
  void AddNamespace(const std::string& name);
  // An empty clique means a node without NVLink fabric.
  NodeAgent& AddNode(const std::string& name, const std::string& clique);
  Workload& AddWorkload(const kube::ObjectKey& key, const std::string& template_name,
                        std::vector<std::string> nodes, const std::string& claim = {});
  NodeAgent& agent(const std::string& node) { return *agents_.at(node); }

  // Returns all actors except the controller, in a fixed order. Actors are never removed.
  const std::vector<std::unique_ptr<Peer>>& peers() const { return peers_; }
  // Steps every actor in turn until none moves. Returns the number of steps. Time does not advance.
  int Settle();
  // Returns when an actor next wants a step although nothing changes. Empty if never.
  std::optional<Time> NextDue() const;

  NamespaceController& namespace_controller() { return *namespace_controller_; }

  // Actions of users.
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
