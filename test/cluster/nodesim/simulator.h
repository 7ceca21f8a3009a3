// Simulates the nodes of a cluster.
//
// One thread watches the API server. A few workers, each with its own connections, take the turns
// of the nodes from a queue. One thread sends the heartbeats of all nodes, so that busy workers do
// not delay them. Thread-safe: the operations below may be called from any thread while Run() runs.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/mutex.h"
#include "pkg/base/result.h"
#include "pkg/http/endpoint.h"
#include "pkg/http/transport.h"
#include "pkg/json/value.h"
#include "pkg/kube/runtime/blocking_queue.h"
#include "test/cluster/nodesim/action.h"
#include "test/cluster/nodesim/addresses.h"
#include "test/cluster/nodesim/daemon_account.h"
#include "test/cluster/nodesim/seeded_random.h"
#include "test/cluster/nodesim/settings.h"
#include "test/cluster/nodesim/state.h"
#include "test/cluster/nodesim/world.h"

namespace nodesim {

class Simulator {
 public:
  // `credentials`, `clock` and `logger` must outlive the simulator. `on_ready` is called once, from
  // a worker, when every node is set up. REQUIRES: Validate(settings) succeeded.
  Simulator(Settings settings, http::Endpoint endpoint, http::Credentials& credentials,
            const base::Clock& clock, base::Logger& logger, std::function<void()> on_ready);

  // Blocks until `stop` is requested. Objects of the nodes stay.
  void Run(const std::stop_token& stop);

  // ---- Operations. They return kNotFound, with a sentence, if there is no such node or pod.

  // After it has returned, nothing is written for the node.
  base::Result<void> Kill(const std::string& node);
  base::Result<void> Revive(const std::string& node);
  base::Result<void> Reboot(const std::string& node);
  // Kills the node and deletes its Node and slices. Returns once they are deleted.
  base::Result<void> Remove(const std::string& node);
  base::Result<void> Move(const std::string& node, const std::string& clique_id);
  base::Result<void> StallDaemon(const std::string& node, bool stalled);
  // Stops the kubelet plugin and deletes its slices: nothing is prepared or unprepared. Starts it
  // again with false.
  base::Result<void> StopPlugin(const std::string& node, bool stopped);
  // Deletes the pod with a grace period of 0, as a user does. Its processes continue until the node
  // is rebooted or its orphans are reaped. Returns once the object is deleted.
  base::Result<void> ForceDelete(const kube::ObjectKey& pod);
  base::Result<void> ReapOrphans(const std::string& node);

  // Returns whether every node was set up once: Node, Lease and slice exist, and pods can be
  // scheduled.
  bool IsSetUp() const { return nodes_set_up_ == nodes_.size(); }
  std::size_t nodes_set_up() const { return nodes_set_up_; }
  json::Value State() const;

  // Kills all nodes and deletes what simulators created: Nodes, Leases and slices.
  base::Result<void> CleanUp();

 private:
  struct SimulatedNode {
    SimulatedNode(NodeState initial, std::uint64_t seed, const http::Endpoint& endpoint)
        : name(initial.identity.name),
          state(std::move(initial)),
          random(seed),
          daemon_account(endpoint) {}

    const std::string name;
    base::Mutex turn;  // Held from a plan until its replies are applied. Lock before `state`.
    base::Guarded<NodeState> state;
    SeededRandom random;           // For the holder of `turn`.
    DaemonAccount daemon_account;  // For the holder of `turn`.
    bool counted_set_up = false;   // For the holder of `turn`.
  };
  struct Write {
    http::Request request = {};
    std::optional<DaemonPod> daemon = {};  // The writer. Empty if it is the node.
  };
  struct Heartbeat {
    SimulatedNode* node = nullptr;
    http::Request request = {};
    Action action = {};
  };
  struct Counters {
    std::atomic<std::uint64_t> requests = 0;
    std::atomic<std::uint64_t> conflicts = 0;
    std::atomic<std::uint64_t> failures = 0;  // Without conflicts and 404.
  };

  void Work(const std::stop_token& stop);
  void SendHeartbeats(const std::stop_token& stop);
  // Sends the heartbeats that are due, in parallel. Returns whether there were any.
  bool SendDueHeartbeats(http::Transport& transport, base::Random& random);
  std::vector<Heartbeat> DueHeartbeats() REQUIRES(heartbeats_);
  TimePoint TakeTurn(SimulatedNode& node, http::Transport& transport);
  std::vector<base::Result<http::Response>> SendWrites(SimulatedNode& node,
                                                       const std::vector<Write>& writes,
                                                       http::Transport& transport);
  void Count(const SimulatedNode& node, const Action& action, const base::Result<Written>& outcome);
  void CountIfSetUp(SimulatedNode& node);
  base::Result<SimulatedNode*> Find(const std::string& node);
  // Changes the node between two of its turns, and schedules a turn.
  base::Result<void> Change(const std::string& node, const std::function<void(NodeState&)>& change);
  base::Result<void> DeleteAll(const std::vector<http::Request>& requests);
  std::unique_ptr<http::Transport> NewTransport() const;

  const Settings settings_;
  const http::Endpoint endpoint_;
  http::Credentials& credentials_;
  const base::Clock& clock_;
  base::Logger& logger_;
  const std::function<void()> on_ready_;

  kube::BlockingQueue queue_;  // Names of nodes with their next turns.
  base::Mutex heartbeats_;     // Held while heartbeats are sent. Lock before any node's `state`.
  std::string last_heartbeat_ GUARDED_BY(heartbeats_);
  std::map<std::string, std::unique_ptr<SimulatedNode>> nodes_;  // Constant after construction.
  World world_;
  PodAddresses addresses_;
  std::atomic<bool> synced_ = false;
  std::atomic<std::size_t> nodes_set_up_ = 0;
  Counters counters_;
};

}  // namespace nodesim
