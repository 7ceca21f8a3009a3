// What keeps a node alive in the eyes of the control plane: its Node, its Lease and its
// ResourceSlice.
#include <algorithm>

#include "test/cluster/nodesim/names.h"
#include "test/cluster/nodesim/turn.h"

namespace nodesim {

namespace {

// The taints of the node lifecycle controller stay with it: it removes them when it hears of the
// node. Where it does not run, or cannot keep up, we do.
void RemoveStaleTaints(Turn& turn) {
  const Node& object = *turn.object;
  std::vector<Taint> others = object.taints;
  std::erase_if(others, [](const Taint& taint) { return taint.SaysNodeIsLost(); });
  if (others.size() == object.taints.size() || object.ready != "True") {
    turn.node.tainted_since.reset();
    return;
  }
  if (!turn.node.tainted_since) turn.node.tainted_since = turn.now;
  const TimePoint due = *turn.node.tainted_since + turn.settings.taint_patience;
  if (turn.now < due) return turn.At(due);
  if (turn.writes_node || !turn.MayWrite(turn.node.node_backoff, object.meta.resource_version))
    return;
  turn.writes_node = true;
  turn.Do(SetTaints{.version = object.meta.resource_version, .taints = std::move(others)});
}

// What a driver on the node should publish.
struct WantedSlice {
  std::string_view driver = {};
  CreateSlice slice = {};
  std::vector<std::string> devices = {};  // None: it is not there, and neither is a slice.
  WriteBackoff& backoff;
};

WantedSlice OfDomains(Turn& turn) {
  WantedSlice wanted = {.driver = kDriver,
                        .slice = {.node = turn.object->meta.uid},
                        .backoff = turn.node.slice_backoff};
  if (!turn.node.plugin_stopped) wanted.devices = {"channel-0", "daemon-0"};
  return wanted;
}

WantedSlice OfGpus(Turn& turn) {
  const int gpus = turn.settings.gpus;
  WantedSlice wanted = {.driver = kGpuDriver,
                        .slice = {.node = turn.object->meta.uid, .gpus = gpus},
                        .backoff = turn.node.gpu_backoff};
  for (int i = 0; i < gpus; ++i) wanted.devices.push_back("gpu-" + std::to_string(i));
  return wanted;
}

bool IsCurrent(const Slice& slice, const Node& node, const WantedSlice& wanted) {
  const kube::OwnerReference* owner = slice.meta.ControllerOwner();
  return owner != nullptr && owner->uid == node.meta.uid && slice.pool == node.meta.key.name &&
         slice.devices == wanted.devices;
}

// Whether that is how it is.
bool Publish(Turn& turn, const WantedSlice& wanted) {
  bool published = false;
  for (const auto& slice : turn.cluster.SlicesOf(turn.node.identity.name)) {
    if (slice->driver != wanted.driver) continue;
    const bool keep = !published && !wanted.devices.empty() &&
                      !turn.node.doomed_slices.contains(slice->meta.uid) &&
                      IsCurrent(*slice, *turn.object, wanted);
    if (keep) {
      published = true;
    } else if (turn.MayWrite(turn.node.slice_delete_backoff, "")) {
      turn.Do(DeleteSlice{.name = slice->meta.key.name, .uid = slice->meta.uid});
      break;
    }
  }
  if (wanted.devices.empty() || published) return true;
  if (turn.MayWrite(wanted.backoff, "")) turn.Do(wanted.slice);
  return false;
}

}  // namespace

void AdvanceNode(Turn& turn) {
  NodeState& node = turn.node;
  if (!turn.object) {
    // A kubelet creates its Node when it starts, and not again when somebody deletes it.
    if (!node.registered && turn.MayWrite(node.status_backoff, "")) turn.Do(CreateNode());
    return;
  }
  node.registered = true;
  const Node& object = *turn.object;
  if (node.adopt && !object.boot_id.empty()) node.boot_id = object.boot_id;
  const std::string& version = object.meta.resource_version;

  const bool labels_differ = object.clique != node.clique_id || !object.gpu_present;
  if (labels_differ && turn.MayWrite(node.node_backoff, version)) {
    turn.writes_node = true;
    turn.Do(SetNodeLabels{.version = version});
  }
  const bool transition = object.ready != "True";
  const bool due = turn.now >= node.status_due || node.whole_status_due || transition ||
                   object.boot_id != node.boot_id;
  if (due && turn.MayWrite(node.status_backoff, version)) {
    turn.Do(WriteNodeStatus{.whole = node.whole_status_due || object.boot_id != node.boot_id,
                            .transition = transition});
  }
  turn.At(node.status_due);
  RemoveStaleTaints(turn);
}

std::optional<Action> Beat(const NodeState& node, const Cluster& cluster, TimePoint now) {
  const LeaseState& lease = node.lease;
  if (!node.alive || now < lease.due || !lease.backoff.MayWrite(now, "")) return std::nullopt;
  const auto object = cluster.GetNode(node.identity.name);
  if (!object) return std::nullopt;
  const kube::Uid& owner = object->meta.uid;
  switch (lease.step) {
    case LeaseState::Step::kCreate:
      return CreateLease{.node = owner};
    case LeaseState::Step::kRead:
      return ReadLease();
    case LeaseState::Step::kUpdate:
      return UpdateLease{.node = owner, .version = lease.version};
  }
  return std::nullopt;
}

void AdvanceSlices(Turn& turn) {
  NodeState& node = turn.node;
  if (!turn.object) return;
  const auto slices = turn.cluster.SlicesOf(node.identity.name);
  if (node.wipe_slices) {
    for (const auto& slice : slices) node.doomed_slices.insert(slice->meta.uid);
    node.wipe_slices = false;
  }
  std::erase_if(node.doomed_slices, [&](const kube::Uid& uid) {
    return std::ranges::none_of(slices, [&](const auto& slice) { return slice->meta.uid == uid; });
  });
  const bool published = Publish(turn, OfDomains(turn)) && Publish(turn, OfGpus(turn));
  if (published && !node.plugin_stopped && node.lease.renewed && turn.object->ready == "True" &&
      !node.tainted_since) {
    node.set_up = true;
  }
}

}  // namespace nodesim
