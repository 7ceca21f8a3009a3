// One node: the kubelet, the kubelet plugin, and IMEX daemons.
//
// A label of the daemon's pod selects the membership writer. Without it the daemon joins its
// clique, updates its own entry, and removes it when it ends, like the reference driver's. With it
// the controller writes the entry, and the daemon waits for it. The agent simulates such daemons; a
// DaemonRunner runs the product's own.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "test/simulation/cluster/claims.h"
#include "test/simulation/cluster/daemon_runner.h"
#include "test/simulation/cluster/peer.h"

namespace simulation {

class NodeAgent final : public Peer {
 public:
  static constexpr int kMembersMax = 18;  // Maximum in one clique.

  // `clique` is the node's NVLink clique, empty without fabric. `number` differs for each node and
  // is part of its pods' addresses. `daemons` must outlive the agent. If it is null, the agent
  // simulates daemons.
  NodeAgent(ObjectStore& store, std::string node, std::string clique, int number,
            DaemonRunner* daemons = nullptr);

  const std::string& node() const { return node_; }

  // The node loses power: it sends nothing any more, and its processes are lost.
  void Fail(Time now);
  // The node comes back: in the same boot (after a network failure), or rebooted, without prepared
  // claims.
  void Recover(bool rebooted, Time now);
  // The node moves to another rack. REQUIRES: it has failed, and comes back rebooted.
  void MoveTo(std::string clique) { clique_ = std::move(clique); }
  // The kubelet plugin stops: claims are neither prepared nor unprepared. After its grace period
  // the kubelet deletes the node's ResourceSlices.
  void StopPlugin(Time now);
  void StartPlugin();
  // The kubelet restarts: it deletes the node's ResourceSlices, and the plugin creates them again
  // after kPutsBackAfter, like NVIDIA's plugin.
  static constexpr std::chrono::seconds kPutsBackAfter{30};
  void RestartKubelet(Time now);
  // The state of this node's daemons from now on. A crashing daemon does not update its clique. The
  // kubelet does not know the state of a lost daemon.
  enum class Health { kWell, kUnready, kCrashing, kLost };
  static constexpr std::string_view kLastWords = "no CDI device";  // Of a crashing daemon.
  void SetHealth(Health health);
  // Sets whether daemons write their entries into their clique or into the domain's status.
  // NVIDIA's daemons do the latter if their feature gate ComputeDomainCliques is off.
  void SetKeepsCliques(bool keeps_cliques) { keeps_cliques_ = keeps_cliques; }
  // Ends the containers of that pod; it stays as "Failed" or "Succeeded".
  void EndPod(const kube::Uid& pod, std::string phase);
  // Makes the plugin answer like NVIDIA's: it polls with back-off whether a channel is ready, and
  // gives up after kAnswersWithin; the kubelet retries kAsksAgain later. By default the plugin
  // knows at once.
  static constexpr std::chrono::seconds kAnswersWithin{45};
  static constexpr std::chrono::seconds kAsksAgain{10};
  void LookNowAndThen() { looks_now_and_then_ = true; }
  // Returns when it polls next for a claim whose prepare began at `began`.
  static Time NextLook(Time began, Time now);
  // Takes over the pod addresses of another node, and assigns them from the first on.
  void TakeAddressesOf(int number);
  int number() const { return number_; }
  std::optional<Time> silent_since() const { return silent_since_; }

 private:
  // The containers of one pod, while they run here.
  struct Running {
    kube::ObjectKey key = {};
    std::string ip = {};
    Time started = {};
    std::string domain = {};  // Domain of a daemon. Empty for a workload.
    bool writes_own_entry = false;

    std::string Client() const { return "daemon/" + key.name; }
  };
  // An entry of the plugin's checkpoint.
  struct Prepared {
    ClaimConfig config = {};
    bool completed = false;
    std::set<kube::Uid> pods = {};
    Time began = {};
    std::optional<Time> looks_at = {};  // When the plugin finds it ready, if it still is.
  };

  void Act(Time now) override;
  // Each returns whether it wrote.
  bool Report(Time now);
  bool Publish(Time now);
  bool SyncPod(const Object& pod, Time now);
  bool PlayDaemon(const Object& pod, const Running& running, Time now);
  bool RunDaemon(const Object& pod, const Running& running, Time now);
  bool WritePodStatus(const Object& pod, const Running& running, bool ready, Time now);
  json::Value ContainerStatus(const Running& running, bool ready) const;
  const char* PhaseOf(const Running& running) const;
  // Returns the object with the entry of a daemon of this node. Null if there is none.
  ObjectPtr FindRoll(const std::string& domain) const;
  const char* NameField() const { return keeps_cliques_ ? "nodeName" : "name"; }
  // REQUIRES: FindRoll().
  bool EditEntries(const Running& running, const std::function<void(json::Value& entries)>& change);
  bool CreateClique(const Object& pod, const Running& running);
  bool OwnClique(const Object& pod, const Running& running, const Object& clique);
  bool JoinClique(const Object& pod, const Running& running);
  bool WriteOwnStatus(const Running& running);
  bool SayEnded(const Object& pod, const std::string& phase, Time now);
  bool LeaveClique(const Running& running);
  bool Stop(const kube::Uid& pod, Time now);
  bool Unprepare(const kube::Uid& pod);

  // Returns whether all claims of the pod are ready for its containers. Sets `wrote` if it wrote
  // instead.
  bool PrepareAll(const Object& pod, Time now, bool& wrote);
  bool Prepare(const Object& claim, const kube::Uid& pod, Time now, bool& wrote);
  bool PrepareChannel(const Object& claim, Prepared& prepared, Time now, bool& wrote);

  const json::Value* FindOwnEntry(const std::string& domain) const;
  bool IsNodeReadyIn(const Object& domain) const;

  const std::string node_;
  const std::string plugin_;  // Its user name at the API server.
  std::string clique_;
  int number_;
  DaemonRunner* const daemons_;
  int boots_ = 1;
  int addresses_ = 0;
  std::optional<Time> silent_since_ = {};
  std::optional<Time> plugin_gone_since_ = {};
  bool wipes_slices_ = false;
  Time publishes_at_ = {};
  Health health_ = Health::kWell;
  bool looks_now_and_then_ = false;
  bool keeps_cliques_ = true;
  std::map<kube::Uid, std::string> ends_;   // Pods and the phase that they end in.
  std::map<kube::Uid, Running> running_;    // By pod.
  std::map<kube::Uid, Prepared> prepared_;  // By claim.
};

}  // namespace simulation
