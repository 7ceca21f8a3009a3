// What runs on one node: the kubelet, our driver's kubelet plugin, and the IMEX daemons in their
// pods.
//
// The label of its pod says who writes membership. Without it the daemon does, as in the reference
// driver: it joins its clique, updates its own entry and removes it when it ends. With it the
// controller writes the entry, and the daemon waits for that. The agent plays such daemons; a
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
  static constexpr int kMembersMax = 18;  // Of one clique.

  // `clique` is the node's NVLink clique, empty without fabric. `number` tells nodes apart: it is
  // part of the addresses of their pods. `daemons` outlives the agent; null: it plays them.
  NodeAgent(ObjectStore& store, std::string node, std::string clique, int number,
            DaemonRunner* daemons = nullptr);

  [[nodiscard]] const std::string& node() const { return node_; }

  // The power goes: nothing is said any more, and what ran is lost.
  void Fail(Time now);
  // It comes back, as the same boot (a network that was cut) or as a new one, which has forgotten
  // what was prepared.
  void Recover(bool rebooted, Time now);
  // It is carried to another rack. REQUIRES: it has failed, and comes back by a boot.
  void MoveTo(std::string clique) { clique_ = std::move(clique); }
  // The kubelet plugin goes: claims are neither prepared nor taken back, and after its grace the
  // kubelet takes the node's ResourceSlices away.
  void StopPlugin(Time now);
  void StartPlugin();
  // The kubelet restarts: it takes the node's ResourceSlices away, and the plugin puts them back
  // kPutsBackAfter later, as NVIDIA's does.
  static constexpr std::chrono::seconds kPutsBackAfter{30};
  void RestartKubelet(Time now);
  // How the daemons here are from now on. One that crashes says nothing more in its clique, and of
  // one that is lost the kubelet does not know how it is.
  enum class Health { kWell, kUnready, kCrashing, kLost };
  static constexpr std::string_view kLastWords = "no CDI device";  // Of one that crashes.
  void SetHealth(Health health);
  // Whether the daemons here write their entries into their clique, or into the domain's status: so
  // NVIDIA's do with their feature gate ComputeDomainCliques off.
  void SetKeepsCliques(bool keeps_cliques) { keeps_cliques_ = keeps_cliques; }
  // The containers of that pod end, and it stays as "Failed" or "Succeeded".
  void EndPod(const kube::Uid& pod, std::string phase);
  // The plugin answers as NVIDIA's: it looks whether a channel is ready ever more rarely, gives up
  // after kAnswersWithin, and is asked again by the kubelet kAsksAgain later. Else it knows at
  // once.
  static constexpr std::chrono::seconds kAnswersWithin{45};
  static constexpr std::chrono::seconds kAsksAgain{10};
  void LookNowAndThen() { looks_now_and_then_ = true; }
  // When it looks next, of a claim that it was first asked for at `began`.
  [[nodiscard]] static Time NextLook(Time began, Time now);
  // The pod addresses of another node are this one's now, and it gives them from the first on.
  void TakeAddressesOf(int number);
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] std::optional<Time> silent_since() const { return silent_since_; }

 private:
  // The containers of one pod, while they run here.
  struct Running {
    kube::ObjectKey key = {};
    std::string ip = {};
    Time started = {};
    std::string domain = {};  // Of a daemon; empty for a workload.
    bool writes_own_entry = false;

    [[nodiscard]] std::string Client() const { return "daemon/" + key.name; }
  };
  // An entry of the plugin's checkpoint.
  struct Prepared {
    ClaimConfig config = {};
    bool completed = false;
    std::set<kube::Uid> pods = {};
    Time began = {};
    std::optional<Time> looks_at = {};  // And finds it ready, if it still is.
  };

  void Act(Time now) override;
  // Each says whether it wrote.
  [[nodiscard]] bool Report(Time now);
  [[nodiscard]] bool Publish(Time now);
  [[nodiscard]] bool SyncPod(const Object& pod, Time now);
  [[nodiscard]] bool PlayDaemon(const Object& pod, const Running& running, Time now);
  [[nodiscard]] bool RunDaemon(const Object& pod, const Running& running, Time now);
  [[nodiscard]] bool WritePodStatus(const Object& pod, const Running& running, bool ready,
                                    Time now);
  [[nodiscard]] json::Value ContainerStatus(const Running& running, bool ready) const;
  [[nodiscard]] const char* PhaseOf(const Running& running) const;
  // Where a daemon here has its entry; null: there is none.
  [[nodiscard]] ObjectPtr FindRoll(const std::string& domain) const;
  [[nodiscard]] const char* NameField() const { return keeps_cliques_ ? "nodeName" : "name"; }
  // REQUIRES: FindRoll().
  [[nodiscard]] bool EditEntries(const Running& running,
                                 const std::function<void(json::Value& entries)>& change);
  [[nodiscard]] bool CreateClique(const Object& pod, const Running& running);
  [[nodiscard]] bool OwnClique(const Object& pod, const Running& running, const Object& clique);
  [[nodiscard]] bool JoinClique(const Object& pod, const Running& running);
  [[nodiscard]] bool WriteOwnStatus(const Running& running);
  [[nodiscard]] bool SayEnded(const Object& pod, const std::string& phase, Time now);
  [[nodiscard]] bool LeaveClique(const Running& running);
  [[nodiscard]] bool Stop(const kube::Uid& pod, Time now);
  [[nodiscard]] bool Unprepare(const kube::Uid& pod);

  // Whether all claims of the pod are ready for its containers. `wrote`: it changed something
  // instead.
  [[nodiscard]] bool PrepareAll(const Object& pod, Time now, bool& wrote);
  [[nodiscard]] bool Prepare(const Object& claim, const kube::Uid& pod, Time now, bool& wrote);
  [[nodiscard]] bool PrepareChannel(const Object& claim, Prepared& prepared, Time now, bool& wrote);

  [[nodiscard]] const json::Value* FindOwnEntry(const std::string& domain) const;
  [[nodiscard]] bool IsNodeReadyIn(const Object& domain) const;

  const std::string node_;
  const std::string plugin_;  // As the API server knows it.
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
