// What one simulated node knows by itself: what its kubelet runs, what its plugin has prepared,
// what its daemons remember. Everything else it reads from the API server each time.
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

// What never changes about a node.
struct Identity {
  int index = 0;
  std::string name = {};
  std::string host_ip = {};
  std::string machine_id = {};
};

// The product's daemon, of pods whose entry the controller writes: its own rules decide. Its IMEX
// is ready at once and reaches every peer where it has looked it up.
struct OwnDaemon {
  imex_daemon::DaemonIdentity self = {};
  imex_daemon::DaemonObservation observed = {};
  imex_daemon::DaemonMemory memory = {};
  std::map<int, std::string> knows = {};     // By IMEX: addresses, by index.
  TimePoint deaf_until = {};                 // To signals.
  std::optional<TimePoint> dead_until = {};  // It ended with a failure.
};

// The IMEX daemon inside a daemon pod's container.
struct Daemon {
  kube::Uid domain = {};
  std::string clique_id = {};  // As the plugin gave it at the start; empty: no fabric.
  bool controller_writes = false;
  int members_max = 18;
  bool labelled = false;  // Its pod carries the clique's ID.
  bool left = false;      // Ended: its entry is out of the clique, or was never ours to take out.
  bool restarting = false;
  std::optional<TimePoint> member_since = {};  // Its entry was there, with its own address.
  std::string problem = {};                    // Why it cannot join.
  WriteBackoff label_backoff = {};
  WriteBackoff clique_backoff = {};
  std::optional<OwnDaemon> own = {};  // None: it is one of NVIDIA's, or runs elsewhere.
};

// One pod, as the kubelet's process side has it.
struct PodRun {
  enum class Stage {
    kPreparing,    // Waits for its claims.
    kRunning,      // Its containers run.
    kStopping,     // They were told to end, and end at `stop_at`.
    kUnpreparing,  // They have ended; its claims are given back.
    kReporting,    // The last status is to be written.
    kFinished,     // It was read back.
  };

  kube::ObjectKey key = {};
  kube::Uid uid = {};
  Stage stage = Stage::kPreparing;
  std::vector<kube::Uid> claims = {};  // That it uses; emptied as they are unprepared.
  std::optional<Daemon> daemon = {};
  std::string waits_for = {};  // While it prepares: which claim is not there yet.
  bool lacks_image = false;    // Its claims are prepared, and that is all.

  std::string ip = {};
  Pod::Restart restart = Pod::Restart::kAlways;
  int restarts = 0;
  int exit_code = 0;
  bool has_init_containers = false;
  bool has_started = false;  // In this incarnation of the node.
  bool ready = false;
  bool last_seen_ready = false;  // What the API server said last; a daemon relies on it.
  bool orphan = false;           // Goes on although its object is gone.
  bool gone = false;             // Its object is gone, and nothing more is said of it.
  bool deleted = false;          // The last delete was accepted.

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

[[nodiscard]] constexpr std::string_view ToString(PodRun::Stage stage) {
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
  std::string reason = {};  // Why it is not.
  bool reason_is_permanent = false;
  int attempts = 0;
  TimePoint next_attempt = {};
};

struct LeaseState {
  enum class Step { kCreate, kRead, kUpdate };
  Step step = Step::kCreate;
  std::string version = {};  // As it was last read or written.
  TimePoint due = {};
  bool renewed = false;
  bool created = false;  // By this process.
  WriteBackoff backoff = {};
};

struct NodeState {
  Identity identity = {};
  std::string clique_id = {};  // Empty: no fabric.
  std::string boot_id = {};

  bool alive = true;
  bool removed = false;
  bool registered = false;  // The Node was there once since then; it is not created a second time.
  // In the first turn of this process: what the API server says of the node and its pods holds.
  bool adopt = true;
  bool wipe_slices = false;  // A kubelet that starts removes the slices of the boot before.
  std::set<kube::Uid> doomed_slices = {};
  bool whole_status_due = true;  // At the kubelet's start.
  bool daemons_stalled = false;
  bool plugin_stopped = false;
  bool set_up = false;  // Node, Lease and slice were there, and pods could land.

  TimePoint status_due = {};
  std::optional<TimePoint> tainted_since = {};
  LeaseState lease = {};
  WriteBackoff node_backoff = {};  // The Node's labels and taints.
  WriteBackoff status_backoff = {};
  WriteBackoff slice_backoff = {};
  WriteBackoff gpu_backoff = {};
  WriteBackoff slice_delete_backoff = {};

  std::map<kube::Uid, PodRun> pods = {};
  std::map<kube::Uid, ClaimRun> claims = {};
  std::string last_error = {};
};

// What all nodes read. Implementations are thread-safe.
class Cluster {
 public:
  Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  virtual ~Cluster() = default;

  [[nodiscard]] virtual std::shared_ptr<const Node> GetNode(const std::string& name) const = 0;
  [[nodiscard]] virtual std::vector<std::shared_ptr<const Slice>> SlicesOf(
      const std::string& node) const = 0;
  [[nodiscard]] virtual std::vector<std::shared_ptr<const Pod>> PodsOf(
      const std::string& node) const = 0;
  [[nodiscard]] virtual std::shared_ptr<const Claim> GetClaim(const kube::ObjectKey& key) const = 0;
  [[nodiscard]] virtual std::shared_ptr<const Domain> FindDomain(const kube::Uid& uid) const = 0;
  [[nodiscard]] virtual std::shared_ptr<const Clique> GetClique(
      const kube::ObjectKey& key) const = 0;
};

// Hands out pod addresses; none twice. Thread-safe.
class Addresses {
 public:
  Addresses() = default;
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  virtual ~Addresses() = default;
  [[nodiscard]] virtual std::string Next() = 0;
};

}  // namespace nodesim
