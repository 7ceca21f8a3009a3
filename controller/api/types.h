// What the controller keeps of each object: the fields it decides by, and no more.
//
// Plain values. The decoders say kInvalid for an object without name, UID or resourceVersion, and
// take everything else as it comes: what is missing or of a wrong type is empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/imex_report.h"
#include "pkg/base/result.h"
#include "pkg/json/reader.h"
#include "pkg/json/value.h"
#include "pkg/kube/api/meta.h"

namespace api {

// One node of a domain, as `status.nodes` of the domain and `daemons` of a clique have it.
struct Member {
  std::string node = {};
  std::string ip = {};
  std::string clique = {};  // Empty: no fabric.
  int index = -1;           // Of the IMEX daemon in its clique; -1: no fabric.
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
  std::string status = {};  // "Ready" or "NotReady"; empty: never written.
  std::vector<Member> nodes = {};
  // Ours, beside the reference's:
  std::int64_t observed_generation = 0;
  std::vector<kube::Condition> conditions = {};
  std::string members = {};  // Such as "3/4".
  std::vector<CliqueSummary> cliques = {};
  friend bool operator==(const DomainStatus&, const DomainStatus&) = default;

  [[nodiscard]] const kube::Condition* Find(std::string_view type) const;
};

struct ComputeDomain {
  kube::ObjectMeta meta = {};
  bool has_spec = false;
  std::int64_t num_nodes = 0;
  std::string template_name = {};    // Of the workload's ResourceClaimTemplate.
  std::string allocation_mode = {};  // "Single" or "All".
  // Annotations, as they were written; empty: not there.
  std::string deletion_grace = {};
  std::string paused = {};
  std::string daemon_roll = {};
  std::string placement_group = {};
  std::string gpus = {};
  std::string gpu_class = {};
  std::string placement = {};  // And a label.
  // Its annotations and labels of cdom.dev/ that mean nothing, such as "annotation cdom.dev/gpu".
  std::vector<std::string> unknown_keys = {};
  DomainStatus status = {};
};

struct DaemonSet {
  kube::ObjectMeta meta = {};
  std::string domain = {};  // Value of the domain label, here and below.
  // What its pod template was rendered as, and the generation which that made; empty: not by us.
  std::string template_hash = {};
  std::int64_t template_generation = 0;
};

struct ResourceClaimTemplate {
  kube::ObjectMeta meta = {};
  std::string domain = {};
  std::string target = {};         // "Daemon" or "Workload".
  std::string template_hash = {};  // What it was rendered as; empty: not by us.
  bool labels_claims = false;      // With the domain, too.
};

// An index that is kept for a node whose daemon went, in case it comes back.
struct HeldIndex {
  std::string node = {};
  int index = -1;
  std::string until = {};  // RFC 3339.
  friend bool operator==(const HeldIndex&, const HeldIndex&) = default;
};

struct Clique {
  kube::ObjectMeta meta = {};
  std::string domain = {};
  std::string id = {};      // Empty: its name says none that a pod could have.
  bool is_labelled = true;  // With the domain; its name says it as well.
  std::vector<Member> daemons = {};
  std::vector<HeldIndex> held = {};  // In an annotation: `daemons` has only those that are there.
  // In another, how many nodes were on their way into it; absent if nobody has said.
  std::optional<int> joining = {};
  friend bool operator==(const Clique&, const Clique&) = default;
};

struct DaemonPod {
  kube::ObjectMeta meta = {};
  std::string domain = {};
  std::string node = {};
  std::string ip = {};
  std::optional<std::string> clique = {};  // Absent until the daemon has labelled its pod.
  bool ready = false;                      // Phase Running and condition Ready.
  bool terminal = false;                   // Phase Succeeded or Failed.
  // Why it does not run, in the words of the kubelet or the scheduler; empty: nothing is known.
  std::string trouble = {};
  bool controller_writes = false;  // Its clique entry is ours to write.
  std::string template_hash = {};  // Of the template that it was made from.
  std::string started = {};        // When its container did, this time.
  // What its daemon says of IMEX; only those whose entry is ours to write do.
  std::optional<ImexReport> imex = {};
};

struct ResourceClaim {
  // Of one that is allocated, key, UID, version and `deleting` alone; of one that waits, its owner
  // and age as well.
  kube::ObjectMeta meta = {};
  std::string channel_domain = {};          // domainID of a channel config; empty: none.
  std::string daemon_domain = {};           // domainID of a daemon config.
  std::string node = {};                    // Pool of the allocation; empty: not allocated.
  std::vector<std::string> consumers = {};  // All of reservedFor, such as "pods/train-0".
  bool admin_access = false;
  bool has_channel = false;  // Of `node`.
  bool is_labelled = false;  // With the domain that its daemon config names.
};

struct Node {
  kube::ObjectMeta meta = {};  // Key, UID, version and `deleting` alone.
  std::string domain = {};
  std::string clique = {};     // Its NVLink clique, where somebody labels nodes with it.
  std::string boot_id = {};    // Of this boot of its machine.
  bool ready = false;          // Condition Ready is True.
  bool unschedulable = false;  // Cordoned.
  // Keys of taints that keep pods off, without those that only repeat what is known otherwise.
  std::vector<std::string> taints = {};
};

[[nodiscard]] base::Result<ComputeDomain> DecodeComputeDomain(json::View object);
[[nodiscard]] base::Result<DaemonSet> DecodeDaemonSet(json::View object);
[[nodiscard]] base::Result<ResourceClaimTemplate> DecodeResourceClaimTemplate(json::View object);
[[nodiscard]] base::Result<Clique> DecodeClique(json::View object);
[[nodiscard]] base::Result<DaemonPod> DecodeDaemonPod(json::View object);
[[nodiscard]] base::Result<ResourceClaim> DecodeResourceClaim(json::View object);
[[nodiscard]] base::Result<Node> DecodeNode(json::View object);

// What the scheduler says of a pod that it has found no node for; empty: nothing.
[[nodiscard]] std::string DecodeUnschedulableMessage(std::string_view pod);

[[nodiscard]] json::Value Encode(const DomainStatus& status);
// `daemons` of a clique.
[[nodiscard]] json::Value EncodeDaemons(const std::vector<Member>& members);
// The value of the annotation for held indices; null, which takes it away, if there are none.
[[nodiscard]] json::Value EncodeHeld(const std::vector<HeldIndex>& held);

}  // namespace api
