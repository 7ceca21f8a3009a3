// Plays the nodes: one thread follows the API server, a few workers take the turns of the nodes,
// each with connections of its own, a queue holds whose turn it is, now or later, and one thread
// sends the heartbeats of all of them, so that none is late because the workers are busy.
//
// Thread-safe: the operations below may be called from any thread while Run() runs.
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
  // `credentials`, `clock` and `logger` outlive the simulator. `on_ready` is called once, from a
  // worker, when every node has been set up. REQUIRES: Validate(settings) succeeded.
  Simulator(Settings settings, http::Endpoint endpoint, http::Credentials& credentials,
            const base::Clock& clock, base::Logger& logger, std::function<void()> on_ready);

  // Blocks until `stop` is requested. What the nodes have made stays.
  void Run(const std::stop_token& stop);

  // ---- Operations. kNotFound, in a sentence: there is no such node or pod.

  // From its return on nothing is written for the node.
  [[nodiscard]] base::Result<void> Kill(const std::string& node);
  [[nodiscard]] base::Result<void> Revive(const std::string& node);
  [[nodiscard]] base::Result<void> Reboot(const std::string& node);
  // Kills the node and deletes its Node and slices; returns once they are gone.
  [[nodiscard]] base::Result<void> Remove(const std::string& node);
  [[nodiscard]] base::Result<void> Move(const std::string& node, const std::string& clique_id);
  [[nodiscard]] base::Result<void> StallDaemon(const std::string& node, bool stalled);
  // The kubelet plugin is gone, with what it published: nothing is prepared or taken back.
  [[nodiscard]] base::Result<void> StopPlugin(const std::string& node, bool stopped);
  // Deletes the pod with a grace period of 0, as a user does; its processes go on until the node is
  // rebooted or its orphans are reaped. Returns once the object is gone.
  [[nodiscard]] base::Result<void> ForceDelete(const kube::ObjectKey& pod);
  [[nodiscard]] base::Result<void> ReapOrphans(const std::string& node);

  // Every node was set up once: Node, Lease and slice are there, and pods can land.
  [[nodiscard]] bool IsSetUp() const { return nodes_set_up_ == nodes_.size(); }
  [[nodiscard]] std::size_t nodes_set_up() const { return nodes_set_up_; }
  [[nodiscard]] json::Value State() const;

  // Kills all nodes and deletes what simulators created: Nodes, Leases and slices.
  [[nodiscard]] base::Result<void> CleanUp();

 private:
  struct SimulatedNode {
    SimulatedNode(NodeState initial, std::uint64_t seed, const http::Endpoint& endpoint)
        : name(initial.identity.name),
          state(std::move(initial)),
          random(seed),
          daemon_account(endpoint) {}

    const std::string name;
    base::Mutex turn;  // Held from a plan until its replies are noted; before `state`.
    base::Guarded<NodeState> state;
    SeededRandom random;           // For the holder of `turn`.
    DaemonAccount daemon_account;  // For the holder of `turn`.
    bool counted_set_up = false;   // For the holder of `turn`.
  };
  struct Write {
    http::Request request = {};
    std::optional<DaemonPod> daemon = {};  // Who writes, if not the node itself.
  };
  struct Heartbeat {
    SimulatedNode* node = nullptr;
    http::Request request = {};
    Action action = {};
  };
  struct Counters {
    std::atomic<std::uint64_t> requests = 0;
    std::atomic<std::uint64_t> conflicts = 0;
    std::atomic<std::uint64_t> failures = 0;  // Without conflicts and what was not there.
  };

  void Work(const std::stop_token& stop);
  void SendHeartbeats(const std::stop_token& stop);
  // Those that are due, side by side; says whether there were any.
  bool SendDueHeartbeats(http::Transport& transport, base::Random& random);
  [[nodiscard]] std::vector<Heartbeat> DueHeartbeats() REQUIRES(heartbeats_);
  [[nodiscard]] TimePoint TakeTurn(SimulatedNode& node, http::Transport& transport);
  [[nodiscard]] std::vector<base::Result<http::Response>> SendWrites(
      SimulatedNode& node, const std::vector<Write>& writes, http::Transport& transport);
  void Count(const SimulatedNode& node, const Action& action, const base::Result<Written>& outcome);
  void CountIfSetUp(SimulatedNode& node);
  [[nodiscard]] base::Result<SimulatedNode*> Find(const std::string& node);
  // Changes the node between two of its turns, and gives it another.
  [[nodiscard]] base::Result<void> Change(const std::string& node,
                                          const std::function<void(NodeState&)>& change);
  [[nodiscard]] base::Result<void> DeleteAll(const std::vector<http::Request>& requests);
  [[nodiscard]] std::unique_ptr<http::Transport> NewTransport() const;

  const Settings settings_;
  const http::Endpoint endpoint_;
  http::Credentials& credentials_;
  const base::Clock& clock_;
  base::Logger& logger_;
  const std::function<void()> on_ready_;

  kube::BlockingQueue queue_;  // Names of nodes whose turn it is, or will be.
  base::Mutex heartbeats_;     // Held while some are sent; before any node's `state`.
  std::string last_heartbeat_ GUARDED_BY(heartbeats_);
  std::map<std::string, std::unique_ptr<SimulatedNode>> nodes_;  // Not changed after construction.
  World world_;
  PodAddresses addresses_;
  std::atomic<bool> synced_ = false;
  std::atomic<std::size_t> nodes_set_up_ = 0;
  Counters counters_;
};

}  // namespace nodesim
