// Every IMEX of the cluster as a small value: who runs, under which index, since when, and where it
// looks for its peers; and what was done to each, in order.
//
// One looks its peers up at its start and at a signal, of which it hears one in 5 s. It is ready at
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
  std::string clique = {};  // Empty: no fabric.
};

struct ImexEvent {
  enum class What {
    kContainer,   // It starts, and whatever was there before is gone.
    kStart,       // Its daemon starts IMEX, under `index`; -1: under none.
    kSignal,      // It tells IMEX to look its peers up again.
    kTellsToEnd,  // And to end.
    kEnd,         // IMEX ends by itself.
    kToldToStop,  // The kubelet wants the container to end.
    kStopped,     // So it did; `why` its entry stays in its clique, if it says so.
  };
  What what = What::kContainer;
  DaemonContainer container = {};
  int index = -1;
  std::string why = {};
  Time time = {};
  Revision revision = 0;  // Of the truth.
};

// One that runs.
struct RunningImex {
  DaemonContainer container = {};
  int index = -1;
  Time since = {};
  int restarts = 0;                       // In its container.
  std::map<int, std::string> knows = {};  // Addresses, by index.
  Time deaf_until = {};
};

class Fabric {
 public:
  explicit Fabric(const History& history) : history_(history) {}

  // ---- What is done to them.
  void StartContainer(const DaemonContainer& container, Time now);
  void TellToStop(const DaemonContainer& container, Time now);
  // It is over, and IMEX with it. `stopped`: the kubelet wanted it to.
  void EndContainer(const DaemonContainer& container, bool stopped, const std::string& why,
                    Time now);
  // The index is that under which `hosts` has the container's address.
  void Start(const DaemonContainer& container, const std::vector<imex::HostsEntry>& hosts,
             Time now);
  void Signal(const DaemonContainer& container, const std::vector<imex::HostsEntry>& hosts,
              Time now);
  void TellToEnd(const DaemonContainer& container, Time now);
  void End(const kube::Uid& pod, Time now);  // By itself. REQUIRES: it runs.
  // What runs on a silent node reaches nobody.
  void SetSilent(const std::string& node, bool silent, Time now);

  // ---- The truth about them.
  [[nodiscard]] const RunningImex* Find(const kube::Uid& pod) const;  // Null: it does not run.
  [[nodiscard]] const std::map<kube::Uid, RunningImex>& running() const { return running_; }
  // The containers that run, by pod; also on silent nodes.
  [[nodiscard]] const std::map<kube::Uid, DaemonContainer>& containers() const {
    return containers_;
  }
  // When a node was silenced, or heard again, last.
  [[nodiscard]] Time silenced_at() const { return silenced_at_; }
  [[nodiscard]] bool IsSilent(const std::string& node) const { return silent_.contains(node); }
  // The indices of the peers that it has a connection with.
  [[nodiscard]] std::set<int> ConnectedWith(const RunningImex& imex) const;
  [[nodiscard]] const std::vector<ImexEvent>& events() const { return events_; }

 private:
  void Note(ImexEvent::What what, const DaemonContainer& container, Time now, int index = -1,
            const std::string& why = {});

  const History& history_;
  std::map<kube::Uid, DaemonContainer> containers_;
  std::map<kube::Uid, RunningImex> running_;
  std::map<kube::Uid, int> ends_;  // By pod: of this container's.
  std::set<std::string> silent_;   // Nodes.
  Time silenced_at_ = {};
  std::vector<ImexEvent> events_;
};

}  // namespace simulation
