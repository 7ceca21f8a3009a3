#include "test/cluster/nodesim/action.h"

#include <utility>

#include "pkg/base/overload.h"
#include "pkg/json/reader.h"
#include "pkg/kube/client/request.h"
#include "test/cluster/nodesim/names.h"
#include "test/cluster/nodesim/render.h"

namespace nodesim {

namespace {

using base::ErrorCode;
using json::Value;
using std::chrono::milliseconds;

constexpr milliseconds kRequestTimeout{10'000};
constexpr milliseconds kLeaseTimeout{5'000};  // The next heartbeats wait for it.

kube::ObjectKey NodeKey(const NodeState& node) { return {.name = node.identity.name}; }
kube::ObjectKey LeaseKey(const NodeState& node) {
  return {.ns = std::string(kLeaseNamespace), .name = node.identity.name};
}

// Lists with a key are merged by it, as a kubelet's patches are.
http::Request StrategicPatchRequest(const kube::Resource& resource, const kube::ObjectKey& key,
                                    const Value& patch, std::string_view subresource) {
  http::Request request = kube::MergePatchRequest(resource, key, patch, subresource);
  request.content_type = "application/strategic-merge-patch+json";
  return request;
}

Value RenderDomainLabelPatch(const SetDomainLabel& action) {
  const Value value = action.domain.empty() ? Value() : Value(action.domain);
  return Value::Object(
      {{"metadata",
        Value::Object({{"resourceVersion", action.version},
                       {"labels", Value::Object({{std::string(kDomainLabel), value}})}})}});
}

Value RenderTaintsPatch(const SetTaints& action) {
  Value taints = Value::Array();
  for (const Taint& taint : action.taints) {
    Value rendered = Value::Object({{"key", taint.key}, {"effect", taint.effect}});
    if (!taint.value.empty()) rendered["value"] = taint.value;
    if (!taint.time_added.empty()) rendered["timeAdded"] = taint.time_added;
    taints.Append(std::move(rendered));
  }
  return Value::Object({{"metadata", Value::Object({{"resourceVersion", action.version}})},
                        {"spec", Value::Object({{"taints", std::move(taints)}})}});
}

Value RenderCliqueIdPatch(const LabelPod& action) {
  return Value::Object(
      {{"metadata", Value::Object({{"uid", action.uid},
                                   {"labels", Value::Object({{std::string(kCliqueIdLabel),
                                                              action.clique_id}})}})}});
}

Value RenderImexPatch(const ReportImex& action) {
  return Value::Object(
      {{"metadata",
        Value::Object({{"uid", action.uid},
                       {"annotations", Value::Object({{std::string(api::kImexAnnotation),
                                                       api::Encode(action.report)}})}})}});
}

// The next of the node's own moments, which are spread evenly over the period.
TimePoint NextSlot(const NodeState& node, const Settings& settings, milliseconds period,
                   TimePoint now) {
  const std::chrono::nanoseconds step = period;
  const auto phase = step * node.identity.index / std::max(settings.nodes, 1);
  const auto into_period = (now.time_since_epoch() - phase) % step;
  return now + step - into_period;
}

void NoteFailure(NodeState& node, const Action& action, const base::Error& error) {
  const bool expected = error.code == ErrorCode::kConflict || error.code == ErrorCode::kNotFound ||
                        error.code == ErrorCode::kAlreadyExists;
  if (!expected) node.last_error = Describe(action) + ": " + error.message;
}

PodRun* FindRun(NodeState& node, const kube::Uid& uid) {
  const auto it = node.pods.find(uid);
  return it == node.pods.end() ? nullptr : &it->second;
}

// How one kind of write went. `backoff` is that of what it wrote to.
class Noter {
 public:
  Noter(NodeState& node, const base::Result<Written>& outcome, const Settings& settings,
        TimePoint now, base::Random& random)
      : node_(node), outcome_(outcome), settings_(settings), now_(now), random_(random) {}

  void operator()(const CreateNode&) {
    Record(node_.status_backoff);
    if (!outcome_) return;
    node_.whole_status_due = false;
    node_.status_due = NextSlot(node_, settings_, settings_.status_period, now_);
  }
  void operator()(const WriteNodeStatus&) {
    Record(node_.status_backoff);
    if (!outcome_) return;
    node_.whole_status_due = false;
    node_.status_due = NextSlot(node_, settings_, settings_.status_period, now_);
  }
  void operator()(const SetNodeLabels&) { Record(node_.node_backoff); }
  void operator()(const SetTaints&) { Record(node_.node_backoff); }
  void operator()(const SetDomainLabel&) { Record(node_.node_backoff); }

  void operator()(const ReadLease&) {
    using Step = LeaseState::Step;
    if (!outcome_) return Fail(node_.lease.backoff, Is(ErrorCode::kNotFound), Step::kCreate);
    node_.lease.version = outcome_->version;
    node_.lease.step = Step::kUpdate;
  }
  void operator()(const CreateLease&) {
    if (!outcome_) {
      return Fail(node_.lease.backoff, Is(ErrorCode::kAlreadyExists), LeaseState::Step::kRead);
    }
    node_.lease.created = true;
    Renewed();
  }
  void operator()(const UpdateLease&) {
    // Whatever went wrong, what is there now decides.
    if (!outcome_)
      return Fail(node_.lease.backoff, Is(ErrorCode::kConflict), LeaseState::Step::kRead);
    Renewed();
  }

  void operator()(const WritePodStatus& action) {
    if (PodRun* run = FindRun(node_, action.pod->meta.uid)) Record(run->status_backoff);
  }
  void operator()(const DeletePod& action) {
    PodRun* run = FindRun(node_, action.uid);
    if (run == nullptr) return;
    run->deleted = Delete(run->delete_backoff);
  }
  void operator()(const CreateSlice& a) {
    Record(a.gpus > 0 ? node_.gpu_backoff : node_.slice_backoff);
  }
  void operator()(const DeleteSlice&) { Delete(node_.slice_delete_backoff); }

  void operator()(const LabelPod& action) {
    PodRun* run = FindRun(node_, action.uid);
    if (run == nullptr || !run->daemon) return;
    Record(run->daemon->label_backoff);
    if (!run->daemon->own) return;
    imex_daemon::DaemonMemory& memory = run->daemon->own->memory;
    if (!outcome_) return WriteFailed(memory, imex_daemon::Write::kLabel);
    imex_daemon::OnLabelled(memory, imex_daemon::MembershipWriter::kController, now_, random_);
  }
  void operator()(const ReportImex& action) {
    PodRun* run = FindRun(node_, action.uid);
    if (run == nullptr || !run->daemon || !run->daemon->own) return;
    imex_daemon::DaemonMemory& memory = run->daemon->own->memory;
    if (!outcome_) return WriteFailed(memory, imex_daemon::Write::kReport);
    imex_daemon::OnReported(memory, action.report, now_);
  }
  void operator()(const CreateClique& action) { CliqueWritten(action.pod); }
  void operator()(const UpdateClique& action) { CliqueWritten(action.pod); }

 private:
  bool Is(ErrorCode code) const { return !outcome_ && outcome_.error().code == code; }
  void Record(WriteBackoff& backoff, WriteBackoff::Policy policy = {}) {
    if (outcome_) {
      backoff.Succeeded(now_, outcome_->version);
    } else {
      backoff.Failed(now_, policy, random_);
    }
  }
  bool Delete(WriteBackoff& backoff) {
    const bool done = outcome_ || Is(ErrorCode::kNotFound);
    if (done) {
      backoff.Deleted(now_);
    } else {
      backoff.Failed(now_, {}, random_);
    }
    return done;
  }
  void Fail(WriteBackoff& backoff, bool at_once, LeaseState::Step step) {
    if (at_once) {
      node_.lease.step = step;
      return;
    }
    node_.lease.step = LeaseState::Step::kRead;
    backoff.Failed(now_, {}, random_);
  }
  void Renewed() {
    LeaseState& lease = node_.lease;
    lease.version = outcome_->version;
    lease.step = LeaseState::Step::kUpdate;
    lease.renewed = true;
    lease.due = NextSlot(node_, settings_, settings_.lease_period, now_);
    lease.backoff.Succeeded(now_, "");  // No watch shows Leases.
  }
  void WriteFailed(imex_daemon::DaemonMemory& memory, imex_daemon::Write write) {
    imex_daemon::OnWriteFailed(memory, write, outcome_.error(), now_, random_);
  }
  void CliqueWritten(const kube::Uid& pod) {
    PodRun* run = FindRun(node_, pod);
    if (run == nullptr || !run->daemon) return;
    // That of NVIDIA's daemon.
    Record(run->daemon->clique_backoff, {.first = milliseconds(5), .most = milliseconds(6'000)});
  }

  NodeState& node_;
  const base::Result<Written>& outcome_;
  const Settings& settings_;
  const TimePoint now_;
  base::Random& random_;
};

}  // namespace

std::string Describe(const Action& action) {
  return std::visit(
      base::Overload{
          [](const CreateNode&) -> std::string { return "create Node"; },
          [](const WriteNodeStatus&) -> std::string { return "write Node status"; },
          [](const SetNodeLabels&) -> std::string { return "label Node"; },
          [](const SetTaints&) -> std::string { return "remove taints"; },
          [](const ReadLease&) -> std::string { return "read Lease"; },
          [](const CreateLease&) -> std::string { return "create Lease"; },
          [](const UpdateLease&) -> std::string { return "renew Lease"; },
          [](const WritePodStatus& a) {
            return "write status " + a.status.phase + (a.status.ready ? ", ready" : "") +
                   " of pod " + kube::ToString(a.pod->meta.key);
          },
          [](const DeletePod& a) { return "delete pod " + kube::ToString(a.key); },
          [](const SetDomainLabel& a) {
            return a.domain.empty() ? std::string("remove the domain label")
                                    : "label the node for domain " + a.domain;
          },
          [](const CreateSlice&) -> std::string { return "create ResourceSlice"; },
          [](const DeleteSlice& a) { return "delete ResourceSlice " + a.name; },
          [](const LabelPod& a) { return "label pod " + kube::ToString(a.key); },
          [](const ReportImex& a) { return "report IMEX of pod " + kube::ToString(a.key); },
          [](const CreateClique& a) { return "create clique " + a.clique.meta.key.name; },
          [](const UpdateClique& a) { return "update clique " + a.clique.meta.key.name; },
      },
      action);
}

http::Request DeletePodRequest(const DeletePod& action) {
  http::Request request =
      kube::DeleteRequest(kube::kPods, action.key, action.uid, kube::Propagation::kBackground);
  request.content_type = "application/json";
  request.body =
      json::Serialize(Value::Object({{"apiVersion", "v1"},
                                     {"kind", "DeleteOptions"},
                                     {"gracePeriodSeconds", 0},
                                     {"preconditions", Value::Object({{"uid", action.uid}})}}));
  return request;
}

http::Request ToRequest(const Action& action, const NodeState& node, WallTime wall) {
  const kube::ObjectKey key = NodeKey(node);
  const std::string& name = node.identity.name;
  http::Request request = std::visit(
      base::Overload{
          [&](const CreateNode&) {
            return kube::CreateRequest(kube::kNodes, "", RenderNode(node, wall));
          },
          [&](const WriteNodeStatus& a) {
            return StrategicPatchRequest(kube::kNodes, key, RenderNodeStatusPatch(node, a, wall),
                                         "status");
          },
          [&](const SetNodeLabels& a) {
            return kube::MergePatchRequest(kube::kNodes, key,
                                           RenderNodeLabelsPatch(node, a.version));
          },
          [&](const SetTaints& a) {
            return kube::MergePatchRequest(kube::kNodes, key, RenderTaintsPatch(a));
          },
          [&](const ReadLease&) { return kube::GetRequest(kube::kLeases, LeaseKey(node)); },
          [&](const CreateLease& a) {
            return kube::CreateRequest(kube::kLeases, std::string(kLeaseNamespace),
                                       RenderLease(name, a.node, "", wall));
          },
          [&](const UpdateLease& a) {
            return kube::UpdateRequest(kube::kLeases, LeaseKey(node),
                                       RenderLease(name, a.node, a.version, wall));
          },
          [&](const WritePodStatus& a) {
            return StrategicPatchRequest(kube::kPods, a.pod->meta.key,
                                         RenderPodStatusPatch(a, node.identity.host_ip), "status");
          },
          [](const DeletePod& a) { return DeletePodRequest(a); },
          [&](const SetDomainLabel& a) {
            return kube::MergePatchRequest(kube::kNodes, key, RenderDomainLabelPatch(a));
          },
          [&](const CreateSlice& a) {
            return kube::CreateRequest(kube::kResourceSlices, "", RenderSlice(name, a));
          },
          [](const DeleteSlice& a) {
            return kube::DeleteRequest(kube::kResourceSlices, {.name = a.name}, a.uid,
                                       kube::Propagation::kBackground);
          },
          [](const LabelPod& a) {
            return kube::MergePatchRequest(kube::kPods, a.key, RenderCliqueIdPatch(a));
          },
          [](const ReportImex& a) {
            return kube::MergePatchRequest(kube::kPods, a.key, RenderImexPatch(a));
          },
          [](const CreateClique& a) {
            return kube::CreateRequest(kCliques, a.clique.meta.key.ns, RenderClique(a.clique));
          },
          [](const UpdateClique& a) {
            return kube::UpdateRequest(kCliques, a.clique.meta.key, RenderClique(a.clique));
          },
      },
      action);
  const bool of_lease = std::holds_alternative<CreateLease>(action) ||
                        std::holds_alternative<ReadLease>(action) ||
                        std::holds_alternative<UpdateLease>(action);
  request.timeout = of_lease ? kLeaseTimeout : kRequestTimeout;
  return request;
}

base::Result<Written> ReadReply(base::Result<http::Response> reply, http::Method method) {
  const http::Response response = TRY(kube::CheckStatus(std::move(reply), method));
  json::Parser parser;
  const auto parsed = parser.Parse(response.body);
  if (!parsed) return Written();  // The write was accepted all the same.
  const json::View metadata = (*parsed)["metadata"];
  return Written{.version = std::string(metadata["resourceVersion"].AsString()),
                 .uid = std::string(metadata["uid"].AsString())};
}

void Note(NodeState& node, const Action& action, const base::Result<Written>& outcome,
          const Settings& settings, TimePoint now, base::Random& random) {
  if (!outcome) NoteFailure(node, action, outcome.error());
  std::visit(Noter(node, outcome, settings, now, random), action);
}

}  // namespace nodesim
