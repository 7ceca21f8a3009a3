// The parts of watched objects that the simulator keeps.
//
// All are values, and constant after decoding.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/api/imex_report.h"
#include "pkg/base/clock.h"
#include "pkg/base/result.h"
#include "pkg/json/reader.h"
#include "pkg/kube/api/meta.h"

namespace nodesim {

struct Taint {
  std::string key = {};
  std::string value = {};
  std::string effect = {};
  std::string time_added = {};
  friend bool operator==(const Taint&, const Taint&) = default;

  // Returns whether the node lifecycle controller added it because the node is silent.
  bool SaysNodeIsLost() const;
};

struct Node {
  kube::ObjectMeta meta = {};
  std::string domain = {};  // UID in the domain label. Empty if none.
  std::string clique = {};  // Label nvidia.com/gpu.clique.
  bool gpu_present = false;
  bool created_by_simulator = false;
  std::string boot_id = {};
  std::string ready = {};  // Status of the condition Ready. Empty if it has none.
  std::vector<Taint> taints = {};
};

struct Slice {
  kube::ObjectMeta meta = {};
  std::string driver = {};
  std::string node = {};
  std::string pool = {};
  std::vector<std::string> devices = {};
};

// State of a pod's containers, from its status. All containers of a simulated pod have the same
// state.
enum class Containers { kNone, kWaiting, kImageMissing, kRunning, kTerminated, kMixed };

struct PodStatus {
  std::string phase = {};
  std::string pod_ip = {};
  bool initialized = false;
  bool ready = false;  // Both Ready and ContainersReady.
  Containers containers = Containers::kNone;
  int restarts = 0;
  int exit_code = 0;
  friend bool operator==(const PodStatus&, const PodStatus&) = default;
};

struct Container {
  std::string name = {};
  std::string image = {};
};

// One item of spec.resourceClaims, resolved through status.resourceClaimStatuses.
struct PodClaim {
  std::string reference = {};   // Name within the pod.
  std::string claim_name = {};  // Empty if the claim does not exist yet.
  bool needed = true;           // False if the control plane found that no claim is needed.
};

struct Pod {
  enum class Restart { kAlways, kOnFailure, kNever };

  kube::ObjectMeta meta = {};
  std::string node = {};
  std::optional<std::string> clique_label = {};  // Absent and empty differ.
  bool controller_writes_membership = false;
  std::optional<api::ImexReport> imex = {};  // Report of the product's daemon in it.
  std::optional<double> run_seconds = {};
  int exit_code = 0;
  bool host_network = false;
  Restart restart = Restart::kAlways;
  std::vector<Container> containers = {};
  std::vector<Container> init_containers = {};
  std::vector<PodClaim> claims = {};
  int members_max = 18;                  // From the daemon's environment.
  std::chrono::seconds grace_period{0};  // Of the current deletion. 0 also if there is none.
  PodStatus status = {};
  std::optional<base::Clock::WallTime> start_time = {};
  bool scheduled = false;  // Has the condition PodScheduled.

  bool IsTerminal() const { return status.phase == "Succeeded" || status.phase == "Failed"; }
  // Returns whether its containers cannot start, because no registry has an image of theirs.
  bool LacksImage() const;
  bool IsOfJob() const;
  // Returns whether it ends by itself: a Job's pod, or a pod that may end and is not a daemon.
  bool RunsToCompletion() const;
};

enum class DeviceKind { kChannel, kDaemon, kUnknown };

// One allocation result of this driver, with its configuration.
struct Grant {
  std::string pool = {};
  std::string device = {};
  DeviceKind kind = DeviceKind::kUnknown;
  bool admin = false;
  std::string domain = {};   // The configuration's domainID.
  std::string problem = {};  // Why this cannot be prepared. Empty if it can.
  bool problem_is_permanent = false;
};

struct Consumer {
  std::string name = {};
  kube::Uid uid = {};
};

struct Claim {
  kube::ObjectMeta meta = {};
  bool allocated = false;
  std::vector<Consumer> reserved_for = {};  // Only the pods.
  std::vector<Grant> grants = {};
};

struct Domain {
  kube::ObjectMeta meta = {};
  std::map<std::string, bool, std::less<>> nodes = {};  // From status.nodes: whether each is Ready.
};

struct Member {
  std::string node = {};
  std::string ip = {};
  std::string clique_id = {};
  std::optional<int> index = {};
  std::string status = {};
  friend bool operator==(const Member&, const Member&) = default;
};

struct CliqueOwner {
  kube::OwnerReference reference = {};
  std::optional<bool> block_owner_deletion = {};
  friend bool operator==(const CliqueOwner&, const CliqueOwner&) = default;
};

// Complete, because a daemon writes all of it.
struct Clique {
  kube::ObjectMeta meta = {};
  std::map<std::string, std::string> labels = {};
  std::map<std::string, std::string> annotations = {};
  std::vector<CliqueOwner> owners = {};
  std::vector<Member> daemons = {};

  const Member* Find(std::string_view node) const;
};

base::Result<Node> DecodeNode(json::View object);
base::Result<Slice> DecodeSlice(json::View object);
base::Result<Pod> DecodePod(json::View object);
base::Result<Claim> DecodeResourceClaim(json::View object);
base::Result<Domain> DecodeDomain(json::View object);
base::Result<Clique> DecodeClique(json::View object);

}  // namespace nodesim
