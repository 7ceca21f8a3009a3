// The local state of one simulated node.
//
// It has the pods of the kubelet, the claims of the plugin, and the memory of the daemons.
// Everything else is read from the API server each time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "node/daemon/step.h"
#include "pkg/base/clock.h"
#include "pkg/kube/api/meta.h"
#include "test/cluster/nodesim/objects.h"
#include "test/cluster/nodesim/write_backoff.h"

namespace nodesim {

using TimePoint = base::Clock::TimePoint;
using WallTime = base::Clock::WallTime;

// The constant properties of a node.
struct Identity {
  int index = 0;
  std::string name = {};
  std::string host_ip = {};
  std::string machine_id = {};
};

// The product's daemon, for pods whose entry the controller writes: the product's own rules decide.
// Its IMEX is ready at once, and reaches every peer at the address that it has looked up.
struct OwnDaemon {
  imex_daemon::DaemonIdentity self = {};
  imex_daemon::DaemonObservation observed = {};
  imex_daemon::DaemonMemory memory = {};
  std::map<int, std::string> knows = {};     // IMEX's addresses of peers, by index.
  TimePoint deaf_until = {};                 // IMEX ignores signals until then.
  std::optional<TimePoint> dead_until = {};  // Set after it ended with a failure.
};

// The IMEX daemon inside a daemon pod's container.
struct Daemon {
  kube::Uid domain = {};
  std::string clique_id = {};  // From the plugin, at the start. Empty if no fabric.
  bool controller_writes = false;
  int members_max = 18;
  bool labelled = false;  // Its pod has the clique's id as a label.
  bool left = false;      // Ended: its entry is removed, or was not its own.
  bool restarting = false;
  std::optional<TimePoint> member_since =
      {};                    // When its entry with its own address was first seen.
  std::string problem = {};  // Why it cannot join.
  WriteBackoff label_backoff = {};
  WriteBackoff clique_backoff = {};
  std::optional<OwnDaemon> own =
      {};  // Empty for NVIDIA's daemons, and for those that run elsewhere.
};

// One pod, as its kubelet runs it.
struct PodRun {
  enum class Stage {
    kPreparing,    // Waits for its claims.
    kRunning,      // Its containers run.
    kStopping,     // They are stopping, and end at `stop_at`.
    kUnpreparing,  // They have ended; its claims are being unprepared.
    kReporting,    // The last status must be written.
    kFinished,     // The last status was read back.
  };

  kube::ObjectKey key = {};
  kube::Uid uid = {};
  Stage stage = Stage::kPreparing;
  std::vector<kube::Uid> claims = {};  // Claims in use. Removed as they are unprepared.
  std::optional<Daemon> daemon = {};
  std::string waits_for = {};  // While preparing: the claim that is missing.
  bool lacks_image = false;    // Claims are prepared, but no container starts.

  std::string ip = {};
  Pod::Restart restart = Pod::Restart::kAlways;
  int restarts = 0;
  int exit_code = 0;
  bool has_init_containers = false;
  bool has_started = false;  // Since the node's last boot.
  bool ready = false;
  bool last_seen_ready = false;  // As last read from the API server. A daemon relies on it.
  bool orphan = false;           // Runs although its object is deleted.
  bool gone = false;             // Its object is deleted, and its status is not written.
  bool deleted = false;          // The last delete request was accepted.

  TimePoint ready_at = {};
  TimePoint began = {};
  TimePoint stop_at = {};
  std::optional<TimePoint> give_up_leaving_at = {};
  WallTime admitted = {};
  WallTime started = {};
  WallTime ready_changed = {};
  WallTime ended = {};

  WriteBackoff status_backoff = {};
  WriteBackoff delete_backoff = {};
};

constexpr std::string_view ToString(PodRun::Stage stage) {
  switch (stage) {
    case PodRun::Stage::kPreparing:
      return "Preparing";
    case PodRun::Stage::kRunning:
      return "Running";
    case PodRun::Stage::kStopping:
      return "Stopping";
    case PodRun::Stage::kUnpreparing:
      return "Unpreparing";
    case PodRun::Stage::kReporting:
      return "Reporting";
    case PodRun::Stage::kFinished:
      return "Finished";
  }
  return "";
}

// An entry of the plugin's checkpoint.
struct ClaimRun {
  kube::ObjectKey key = {};
  kube::Uid uid = {};
  std::vector<Grant> grants = {};
  bool prepared = false;
  std::string reason = {};  // Why it is not prepared. Empty if unknown.
  bool reason_is_permanent = false;
  int attempts = 0;
  TimePoint next_attempt = {};
};

struct LeaseState {
  enum class Step { kCreate, kRead, kUpdate };
  Step step = Step::kCreate;
  std::string version = {};  // As last read or written.
  TimePoint due = {};
  bool renewed = false;
  bool created = false;  // Created by this process.
  WriteBackoff backoff = {};
};

struct NodeState {
  Identity identity = {};
  std::string clique_id = {};  // Empty if there is no fabric.
  std::string boot_id = {};

  bool alive = true;
  bool removed = false;
  bool registered = false;  // The Node existed since the boot; it is not created twice.
  // True in the first turn of this process: takes over the state of node and pods from the API
  // server.
  bool adopt = true;
  bool wipe_slices = false;  // A starting kubelet deletes the earlier boot's slices.
  std::set<kube::Uid> doomed_slices = {};
  bool whole_status_due = true;  // Set when the kubelet starts.
  bool daemons_stalled = false;
  bool plugin_stopped = false;
  bool set_up = false;  // Node, Lease and slice existed: pods can be scheduled.

  TimePoint status_due = {};
  std::optional<TimePoint> tainted_since = {};
  LeaseState lease = {};
  WriteBackoff node_backoff = {};  // For the Node's labels and taints.
  WriteBackoff status_backoff = {};
  WriteBackoff slice_backoff = {};
  WriteBackoff gpu_backoff = {};
  WriteBackoff slice_delete_backoff = {};

  std::map<kube::Uid, PodRun> pods = {};
  std::map<kube::Uid, ClaimRun> claims = {};
  std::string last_error = {};
};

// The state that all nodes read. Implementations are thread-safe.
class Cluster {
 public:
  Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  virtual ~Cluster() = default;

  virtual std::shared_ptr<const Node> GetNode(const std::string& name) const = 0;
  virtual std::vector<std::shared_ptr<const Slice>> SlicesOf(const std::string& node) const = 0;
  virtual std::vector<std::shared_ptr<const Pod>> PodsOf(const std::string& node) const = 0;
  virtual std::shared_ptr<const Claim> GetClaim(const kube::ObjectKey& key) const = 0;
  virtual std::shared_ptr<const Domain> FindDomain(const kube::Uid& uid) const = 0;
  virtual std::shared_ptr<const Clique> GetClique(const kube::ObjectKey& key) const = 0;
};

// Assigns pod addresses, each only once. Thread-safe.
class Addresses {
 public:
  Addresses() = default;
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  virtual ~Addresses() = default;
  virtual std::string Next() = 0;
};

}  // namespace nodesim
