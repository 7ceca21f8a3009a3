// What the controller keeps of each object: the fields it decides by, and no more.
//
// Plain values. The decoders say kInvalid for an object without name, UID or resourceVersion, and
// take everything else as it comes: what is missing or of a wrong type is empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  DomainStatus status = {};
};

struct DaemonSet {
  kube::ObjectMeta meta = {};
  std::string domain = {};  // Value of the domain label, here and below.
};

struct ClaimTemplate {
  kube::ObjectMeta meta = {};
  std::string domain = {};
  std::string target = {};  // "Daemon" or "Workload".
};

struct Clique {
  kube::ObjectMeta meta = {};
  std::string domain = {};
  std::string id = {};
  std::vector<Member> daemons = {};
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
  bool controller_writes = false;          // Its clique entry is ours to write.
};

struct Claim {
  kube::ObjectMeta meta = {};       // Key, UID, version and `deleting` alone.
  std::string channel_domain = {};  // domainID of a channel config; empty: none.
  std::string daemon_domain = {};   // domainID of a daemon config.
  std::string node = {};            // Pool of the allocation; empty: not allocated.
  std::string consumer = {};        // First of reservedFor, "kind/name"; empty: not reserved.
  int consumers = 0;
  bool admin_access = false;
};

struct Node {
  kube::ObjectMeta meta = {};  // As a claim's.
  std::string domain = {};
  bool ready = false;  // Condition Ready is True.
};

[[nodiscard]] base::Result<ComputeDomain> DecodeComputeDomain(json::View object);
[[nodiscard]] base::Result<DaemonSet> DecodeDaemonSet(json::View object);
[[nodiscard]] base::Result<ClaimTemplate> DecodeClaimTemplate(json::View object);
[[nodiscard]] base::Result<Clique> DecodeClique(json::View object);
[[nodiscard]] base::Result<DaemonPod> DecodeDaemonPod(json::View object);
[[nodiscard]] base::Result<Claim> DecodeClaim(json::View object);
[[nodiscard]] base::Result<Node> DecodeNode(json::View object);

[[nodiscard]] json::Value Encode(const DomainStatus& status);
// `daemons` of a clique.
[[nodiscard]] json::Value EncodeDaemons(const std::vector<Member>& members);

}  // namespace api
