// Every IMEX of the cluster as a value, and the history of each.
//
// A value has the container, index, start time and the peer addresses that IMEX knows. IMEX looks
// its peers up at its start and at a signal, of which only one in 5 s has an effect. It is ready at
// once. For one thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "node/imex/hosts_file.h"
#include "test/simulation/apiserver/history.h"

namespace simulation {

// The container of a daemon's pod.
struct DaemonContainer {
  kube::ObjectKey pod = {};
  kube::Uid uid = {};  // The pod's.
  std::string node = {};
  std::string ip = {};
  std::string domain = {};
  std::string clique = {};  // Empty if there is no fabric.
  std::string names = {};   // $IMEX_NODE_NAMES, which decides what its nodes file says.
};

struct ImexEvent {
  enum class What {
    kContainer,   // The container starts, and nothing earlier is left.
    kStart,       // The daemon starts IMEX with `index`, or -1 if none.
    kSignal,      // The daemon signals IMEX to look peers up.
    kTellsToEnd,  // The daemon stops IMEX.
    kEnd,         // IMEX ends by itself.
    kToldToStop,  // The kubelet stops the container.
    kStopped,     // The container has stopped. `why` its entry stays, if known.
  };
  What what = What::kContainer;
  DaemonContainer container = {};
  int index = -1;
  std::string why = {};
  Time time = {};
  Revision revision = 0;  // Newest revision.
};

// A running IMEX.
struct RunningImex {
  DaemonContainer container = {};
  int index = -1;
  Time since = {};
  int restarts = 0;                       // Restarts in its container.
  std::map<int, std::string> knows = {};  // Peers' addresses, by index.
  Time deaf_until = {};
};

class Fabric {
 public:
  explicit Fabric(const History& history) : history_(history) {}

  // ---- Events.
  void StartContainer(const DaemonContainer& container, Time now);
  void TellToStop(const DaemonContainer& container, Time now);
  // The container and its IMEX have ended. With `stopped` the kubelet had stopped it.
  void EndContainer(const DaemonContainer& container, bool stopped, const std::string& why,
                    Time now);
  // The index is the one that `hosts` has for the container's address.
  void Start(const DaemonContainer& container, const std::vector<imex::HostsEntry>& hosts,
             Time now);
  void Signal(const DaemonContainer& container, const std::vector<imex::HostsEntry>& hosts,
              Time now);
  void TellToEnd(const DaemonContainer& container, Time now);
  void End(const kube::Uid& pod, Time now);  // It ends by itself. REQUIRES: it runs.
  // IMEX on a silent node has no connections.
  void SetSilent(const std::string& node, bool silent, Time now);

  // ---- State.
  const RunningImex* Find(const kube::Uid& pod) const;  // Null if it does not run.
  const std::map<kube::Uid, RunningImex>& running() const { return running_; }
  // Returns the running containers by pod, also on silent nodes.
  const std::map<kube::Uid, DaemonContainer>& containers() const { return containers_; }
  // Returns when a node last became silent or reachable.
  Time silenced_at() const { return silenced_at_; }
  bool IsSilent(const std::string& node) const { return silent_.contains(node); }
  // Returns the indices of the peers that it is connected to: peers with the same nodes file.
  std::set<int> ConnectedWith(const RunningImex& imex) const;
  const std::vector<ImexEvent>& events() const { return events_; }

 private:
  void Note(ImexEvent::What what, const DaemonContainer& container, Time now, int index = -1,
            const std::string& why = {});

  const History& history_;
  std::map<kube::Uid, DaemonContainer> containers_;
  std::map<kube::Uid, RunningImex> running_;
  std::map<kube::Uid, int> ends_;  // By pod: ends in its container.
  std::set<std::string> silent_;   // Nodes.
  Time silenced_at_ = {};
  std::vector<ImexEvent> events_;
};

}  // namespace simulation
