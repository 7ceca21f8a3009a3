// The writes of a node as values, and the effects of replies.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "test/cluster/nodesim/objects.h"
#include "test/cluster/nodesim/settings.h"
#include "test/cluster/nodesim/state.h"

namespace nodesim {

// The kubelet's writes of its Node. With `version` the write fails if the Node has changed since.
struct CreateNode {
  friend bool operator==(const CreateNode&, const CreateNode&) = default;
};
struct WriteNodeStatus {
  bool whole = false;       // Everything, at the kubelet's start; else conditions.
  bool transition = false;  // The node was not Ready until now.
  friend bool operator==(const WriteNodeStatus&, const WriteNodeStatus&) = default;
};
struct SetNodeLabels {
  std::string version = {};
  friend bool operator==(const SetNodeLabels&, const SetNodeLabels&) = default;
};
struct SetTaints {
  std::string version = {};
  std::vector<Taint> taints = {};
  friend bool operator==(const SetTaints&, const SetTaints&) = default;
};
struct ReadLease {
  friend bool operator==(const ReadLease&, const ReadLease&) = default;
};
struct CreateLease {
  kube::Uid node = {};
  friend bool operator==(const CreateLease&, const CreateLease&) = default;
};
struct UpdateLease {
  kube::Uid node = {};
  std::string version = {};
  friend bool operator==(const UpdateLease&, const UpdateLease&) = default;
};

// The kubelet's writes of a pod.
struct WritePodStatus {
  std::shared_ptr<const Pod> pod = {};
  PodStatus status = {};
  WallTime admitted = {};
  WallTime started = {};
  WallTime ready_changed = {};
  WallTime ended = {};
};
struct DeletePod {
  kube::ObjectKey key = {};
  kube::Uid uid = {};
  friend bool operator==(const DeletePod&, const DeletePod&) = default;
};

// The plugin's writes.
struct SetDomainLabel {
  std::string version = {};
  std::string domain = {};  // Empty removes it.
  friend bool operator==(const SetDomainLabel&, const SetDomainLabel&) = default;
};
struct CreateSlice {
  kube::Uid node = {};
  int gpus = 0;  // GPUs of the GPU driver's slice. 0 for this driver's slice.
  friend bool operator==(const CreateSlice&, const CreateSlice&) = default;
};
struct DeleteSlice {
  std::string name = {};
  kube::Uid uid = {};
  friend bool operator==(const DeleteSlice&, const DeleteSlice&) = default;
};

// The daemon's writes.
struct LabelPod {
  kube::ObjectKey key = {};
  kube::Uid uid = {};
  std::string clique_id = {};
  friend bool operator==(const LabelPod&, const LabelPod&) = default;
};
struct ReportImex {
  kube::ObjectKey key = {};
  kube::Uid uid = {};
  api::ImexReport report = {};
  friend bool operator==(const ReportImex&, const ReportImex&) = default;
};
struct CreateClique {
  kube::Uid pod = {};
  Clique clique = {};
};
struct UpdateClique {
  kube::Uid pod = {};
  Clique clique = {};  // Has the version at which it was read.
};

using Action =
    std::variant<CreateNode, WriteNodeStatus, SetNodeLabels, SetTaints, ReadLease, CreateLease,
                 UpdateLease, WritePodStatus, DeletePod, SetDomainLabel, CreateSlice, DeleteSlice,
                 LabelPod, ReportImex, CreateClique, UpdateClique>;

// Returns text for logs and errors, such as "write pod status ns/name".
std::string Describe(const Action& action);

http::Request ToRequest(const Action& action, const NodeState& node, WallTime wall);

// Returns a request with a grace period of 0 and this UID as precondition.
http::Request DeletePodRequest(const DeletePod& action);

// The used part of a reply.
struct Written {
  std::string version = {};
  kube::Uid uid = {};
};
base::Result<Written> ReadReply(base::Result<http::Response> reply, http::Method method);

// Applies the outcome of `action` to the node's state.
void Note(NodeState& node, const Action& action, const base::Result<Written>& outcome,
          const Settings& settings, TimePoint now, base::Random& random);

}  // namespace nodesim
