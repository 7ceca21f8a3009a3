// The fields of each object that the controller uses, as plain values.
//
// Decoders fail with kInvalid for an object without name, UID or resourceVersion. Any other field
// that is missing or has the wrong type becomes empty.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/api/imex_report.h"
#include "pkg/base/result.h"
#include "pkg/json/reader.h"
#include "pkg/json/value.h"
#include "pkg/kube/api/meta.h"

namespace api {

// A node of a domain: an entry of the domain's `status.nodes` or of a clique's `daemons`.
struct Member {
  std::string node = {};
  std::string ip = {};
  std::string clique = {};  // Empty if the node has no fabric.
  int index = -1;           // Index of the daemon in its clique; -1 if the node has no fabric.
  bool ready = false;
  friend bool operator==(const Member&, const Member&) = default;
};

struct CliqueSummary {
  std::string id = {};
  int members = 0;
  int ready = 0;
  friend bool operator==(const CliqueSummary&, const CliqueSummary&) = default;
};

struct DomainStatus {
  std::string status = {};  // "Ready" or "NotReady". Empty if it was never written.
  std::vector<Member> nodes = {};
  // Fields that cdom adds to those of the reference driver:
  std::int64_t observed_generation = 0;
  std::vector<kube::Condition> conditions = {};
  std::string members = {};  // Such as "3/4".
  std::vector<CliqueSummary> cliques = {};
  friend bool operator==(const DomainStatus&, const DomainStatus&) = default;

  // Returns null if there is no such condition.
  const kube::Condition* Find(std::string_view type) const {
    const auto it = std::ranges::find(conditions, type, &kube::Condition::type);
    return it == conditions.end() ? nullptr : &*it;
  }
  // Returns whether the condition is "True", or whether it has the reason. False if it is missing.
  bool IsTrue(std::string_view type) const {
    const kube::Condition* const condition = Find(type);
    return condition != nullptr && condition->status == "True";
  }
  bool Says(std::string_view type, std::string_view reason) const {
    const kube::Condition* const condition = Find(type);
    return condition != nullptr && condition->reason == reason;
  }
};

struct ComputeDomain {
  kube::ObjectMeta meta = {};
  bool has_spec = false;
  std::int64_t num_nodes = 0;
  std::string template_name = {};    // Name of the workload's claim template.
  std::string allocation_mode = {};  // "Single" or "All".
  // Values of annotations, unchanged. Empty if absent.
  std::string deletion_grace = {};
  std::string paused = {};
  std::string daemon_roll = {};
  std::string placement_group = {};
  std::string gpus = {};
  std::string gpu_class = {};
  std::string placement = {};  // Value of a label, unchanged. Empty if absent.
  // Unknown keys with prefix cdom.dev/.
  std::vector<std::string> unknown_annotations = {};
  std::vector<std::string> unknown_labels = {};
  DomainStatus status = {};
  // When NVIDIA's controller last wrote status, as the API server recorded it: RFC 3339 in seconds.
  // Empty if it never did.
  std::string foreign_write = {};
  // Field manager of the last write by a client other than cdom, of the object and of its status.
  // Empty if cdom wrote later.
  std::string last_writer = {};
  std::string last_status_writer = {};
};

struct DaemonSet {
  kube::ObjectMeta meta = {};
  kube::Uid domain = {};  // Value of the domain label, here and below.
  // Hash of the rendered pod template, and the generation that has it. Empty if cdom did not make
  // it.
  std::string template_hash = {};
  std::int64_t template_generation = 0;
  bool has_own_names = false;    // Its daemons have names of their domain in IMEX.
  std::string last_writer = {};  // As above, here and below.
};

struct ResourceClaimTemplate {
  kube::ObjectMeta meta = {};
  kube::Uid domain = {};
  std::string target = {};         // "Daemon" or "Workload".
  std::string template_hash = {};  // Hash of what was rendered. Empty if cdom did not make it.
  bool labels_claims = false;      // Claims made from it get the domain label, too.
  std::string last_writer = {};
};

// An index that is kept for a node whose daemon was deleted, in case the node returns.
struct HeldIndex {
  std::string node = {};
  int index = -1;
  std::string until = {};  // RFC 3339.
  friend bool operator==(const HeldIndex&, const HeldIndex&) = default;
};

struct Clique {
  kube::ObjectMeta meta = {};
  kube::Uid domain = {};    // The UID in its name, which identifies it. Any user may set its label.
  std::string id = {};      // Empty if its name has no clique id that a pod could have.
  bool is_labelled = true;  // Its domain label is `domain`, which comes from its name.
  std::vector<Member> daemons = {};
  // From an annotation, because `daemons` lists only the daemons that exist.
  std::vector<HeldIndex> held = {};
  // From an annotation: nodes of `daemons` that are not ready, and have rebooted.
  std::set<std::string> rebooted = {};
  // From an annotation: number of nodes that are joining. Empty if it was never written.
  std::optional<int> joining = {};
  std::string last_writer = {};
  friend bool operator==(const Clique&, const Clique&) = default;
};

struct DaemonPod {
  kube::ObjectMeta meta = {};
  kube::Uid domain = {};
  std::string node = {};
  std::string ip = {};
  std::optional<std::string> clique = {};  // Empty until the daemon has labelled its pod.
  bool ready = false;                      // Phase Running and condition Ready.
  bool terminal = false;                   // Phase Succeeded or Failed.
  // Why the pod does not run, as the kubelet or the scheduler reports it. Empty if not known.
  std::string trouble = {};
  bool controller_writes = false;  // The controller writes its clique entry.
  bool has_own_names = false;      // It has a name of its domain in IMEX.
  std::string template_hash = {};  // Hash of the template from which the pod was made.
  std::string started = {};        // Start of its container's current run.
  // The daemon's report on IMEX. Only daemons whose entry the controller writes send it.
  std::optional<ImexReport> imex = {};
};

struct ResourceClaim {
  // An allocated claim keeps only key, UID, resourceVersion and `deleting`. A pending claim also
  // keeps its owner and its age.
  kube::ObjectMeta meta = {};
  std::string channel_domain = {};          // domainID of a channel config. Empty if it has none.
  std::string daemon_domain = {};           // domainID of a daemon config. Empty if it has none.
  std::string node = {};                    // Pool of the allocation. Empty if it is not allocated.
  std::vector<std::string> consumers = {};  // All entries of reservedFor, such as "pods/train-0".
  bool admin_access = false;
  bool has_channel = false;  // The channel of `node` is allocated to it.
  bool is_labelled = false;  // It has the label of the domain in its daemon config.
};

struct Node {
  kube::ObjectMeta meta = {};  // Only key, UID, resourceVersion and `deleting`.
  kube::Uid domain = {};
  std::string clique = {};  // Its NVLink clique. Empty if the cluster does not label nodes with it.
  std::string boot_id = {};    // Changes with each boot of the machine.
  bool ready = false;          // Condition Ready is True.
  bool unschedulable = false;  // Cordoned.
  // Taints that keep pods away, as kubectl shows them: "key=value:effect", or "key:effect" without
  // a value. Without those that repeat the fields above.
  std::vector<std::string> taints = {};
};
// Returns the key of a taint in that form.
std::string_view KeyOfTaint(std::string_view taint);

base::Result<ComputeDomain> DecodeComputeDomain(json::View object);
base::Result<DaemonSet> DecodeDaemonSet(json::View object);
base::Result<ResourceClaimTemplate> DecodeResourceClaimTemplate(json::View object);
base::Result<Clique> DecodeClique(json::View object);
base::Result<DaemonPod> DecodeDaemonPod(json::View object);
base::Result<ResourceClaim> DecodeResourceClaim(json::View object);
base::Result<Node> DecodeNode(json::View object);

// A toleration of a pod.
struct Toleration {
  std::string key = {};                   // Empty: any key and value.
  std::optional<std::string> value = {};  // Empty: any value.
  std::string effect = {};                // Empty: any effect.
  friend auto operator<=>(const Toleration&, const Toleration&) = default;
};
// Returns whether it tolerates a taint in the form of Node::taints.
bool Tolerates(const Toleration& toleration, std::string_view taint);

// Selectors of a LIST of Nodes. Empty ones select all.
struct NodeSelection {
  std::string labels = {};
  std::string fields = {};
  friend auto operator<=>(const NodeSelection&, const NodeSelection&) = default;
};

// A pod of a domain's user, as a live read shows it.
struct UserPod {
  std::string unschedulable = {};  // The scheduler's message. Empty if there is none.
  bool has_started = false;        // It runs or has ended. So its claims were allocated.
  bool lacks_device = false;       // The scheduler found no node with the devices of its claims.
  // The nodes that its nodeSelector and its required node affinity allow: those of any of these.
  // Empty if it allows all nodes, or if it is too long to ask for.
  std::vector<NodeSelection> nodes = {};
  std::set<Toleration> tolerations = {};  // At most 64.
  // Names of its ResourceClaims that no container lists, so that none gets their devices.
  std::set<std::string> unlisted_claims = {};
};
// Returns an empty one if `pod` is no JSON.
UserPod DecodeUserPod(std::string_view pod);

// The whole GPUs of a node, in the newest generation of its pool.
struct NodeGpus {
  int count = 0;
  std::int64_t generation = 0;
  friend bool operator==(const NodeGpus&, const NodeGpus&) = default;
};
using GpusByNode = std::map<std::string, NodeGpus>;
// Adds the GPUs that a ResourceSlice of their driver names.
void CountGpus(json::View slice, GpusByNode& by_node);

json::Value Encode(const DomainStatus& status);
// Returns the value of a clique's `daemons`.
json::Value EncodeDaemons(const std::vector<Member>& members);
// Return the annotation for held indices, or for nodes that have rebooted. Null, which removes the
// annotation, if there are none.
json::Value EncodeHeld(const std::vector<HeldIndex>& held);
json::Value EncodeRebooted(const std::set<std::string>& nodes);

}  // namespace api
