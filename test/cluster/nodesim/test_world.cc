#include "test/cluster/nodesim/test_world.h"

#include <algorithm>

#include "pkg/base/check.h"
#include "test/cluster/nodesim/names.h"

namespace nodesim {

using base::ErrorCode;
using base::Fail;
using base::Result;

TestWorld::TestWorld() {
  state.identity = {.name = kNodeName, .host_ip = "172.16.0.1", .machine_id = "machine"};
  state.clique_id = kCliqueId;
  state.boot_id = "boot-1";
  settings.nodes = 1;
  settings.cliques = 1;
}

std::shared_ptr<const Node> TestWorld::GetNode(const std::string& name) const {
  const auto& seen = Seen(Watch::kNode).node;
  return seen && name == kNodeName ? std::make_shared<Node>(*seen) : nullptr;
}

std::vector<std::shared_ptr<const Slice>> TestWorld::SlicesOf(const std::string& /*node*/) const {
  std::vector<std::shared_ptr<const Slice>> found;
  for (const auto& [name, slice] : Seen(Watch::kSlice).slices)
    found.push_back(std::make_shared<Slice>(slice));
  return found;
}

std::vector<std::shared_ptr<const Pod>> TestWorld::PodsOf(const std::string& /*node*/) const {
  std::vector<std::shared_ptr<const Pod>> found;
  for (const auto& [name, pod] : Seen(Watch::kPod).pods)
    found.push_back(std::make_shared<Pod>(pod));
  return found;
}

std::shared_ptr<const Claim> TestWorld::GetClaim(const kube::ObjectKey& key) const {
  const auto& seen = Seen(Watch::kClaim).claims;
  const auto it = seen.find(key.name);
  return it == seen.end() ? nullptr : std::make_shared<Claim>(it->second);
}

std::shared_ptr<const Domain> TestWorld::FindDomain(const kube::Uid& uid) const {
  const auto& seen = Seen(Watch::kDomain).domain;
  return seen && seen->meta.uid == uid ? std::make_shared<Domain>(*seen) : nullptr;
}

std::shared_ptr<const Clique> TestWorld::GetClique(const kube::ObjectKey& key) const {
  const auto& seen = Seen(Watch::kClique).cliques;
  const auto it = seen.find(key.name);
  const bool found = it != seen.end() && it->second.meta.key == key;
  return found ? std::make_shared<Clique>(it->second) : nullptr;
}

void TestWorld::Lag(Watch watch) {
  if (!lagging_.insert(watch).second) return;
  switch (watch) {
    case Watch::kNode:
      seen_.node = node;
      break;
    case Watch::kSlice:
      seen_.slices = slices;
      break;
    case Watch::kPod:
      seen_.pods = pods;
      break;
    case Watch::kClaim:
      seen_.claims = claims;
      break;
    case Watch::kDomain:
      seen_.domain = domain;
      break;
    case Watch::kClique:
      seen_.cliques = cliques;
      break;
  }
}

// What an API server does with each write.
struct Applier {
  TestWorld& world;

  Result<Written> Done(kube::ObjectMeta& meta) const {
    meta.resource_version = world.NewVersion();
    return Written{.version = meta.resource_version, .uid = meta.uid};
  }
  // The Node at that version.
  Result<Node*> Current(const std::string& version) const {
    if (!world.node) return Fail(ErrorCode::kNotFound, "no node");
    if (world.node->meta.resource_version != version) return Fail(ErrorCode::kConflict, "stale");
    return &*world.node;
  }

  Result<Written> operator()(const CreateNode&) const {
    if (world.node) return Fail(ErrorCode::kAlreadyExists, "node");
    world.node = Node{.meta = {.key = {.name = kNodeName}, .uid = "node-" + world.NewVersion()},
                      .clique = world.state.clique_id,
                      .gpu_present = true,
                      .created_by_simulator = true,
                      .boot_id = world.state.boot_id,
                      .ready = "True"};
    return Done(world.node->meta);
  }
  Result<Written> operator()(const WriteNodeStatus&) const {
    if (!world.node) return Fail(ErrorCode::kNotFound, "no node");
    world.node->ready = "True";
    world.node->boot_id = world.state.boot_id;
    return Done(world.node->meta);
  }
  Result<Written> operator()(const SetNodeLabels& action) const {
    Node* const node = TRY(Current(action.version));
    node->clique = world.state.clique_id;
    node->gpu_present = true;
    return Done(node->meta);
  }
  Result<Written> operator()(const SetTaints& action) const {
    Node* const node = TRY(Current(action.version));
    node->taints = action.taints;
    return Done(node->meta);
  }
  Result<Written> operator()(const SetDomainLabel& action) const {
    Node* const node = TRY(Current(action.version));
    node->domain = action.domain;
    return Done(node->meta);
  }
  Result<Written> operator()(const ReadLease&) const { return Written{.version = "1"}; }
  Result<Written> operator()(const CreateLease&) const { return Written{.version = "1"}; }
  Result<Written> operator()(const UpdateLease&) const { return Written{.version = "1"}; }

  Result<Written> operator()(const CreateSlice& action) const {
    const std::string name = "slice-" + world.NewVersion();
    Slice& slice = world.slices[name];
    slice.meta = {.key = {.name = name},
                  .uid = name,
                  .owners = {{.kind = "Node", .uid = action.node, .controller = true}}};
    slice.node = slice.pool = kNodeName;
    slice.driver = action.gpus > 0 ? kGpuDriver : kDriver;
    slice.devices = {"channel-0", "daemon-0"};
    if (action.gpus > 0) slice.devices.clear();
    for (int i = 0; i < action.gpus; ++i) slice.devices.push_back("gpu-" + std::to_string(i));
    return Done(slice.meta);
  }
  Result<Written> operator()(const DeleteSlice& action) const {
    if (world.slices.erase(action.name) == 0) return Fail(ErrorCode::kNotFound, "no slice");
    return Written();
  }

  Result<Pod*> ThePod(const std::string& name, const kube::Uid& uid) const {
    const auto it = world.pods.find(name);
    if (it == world.pods.end()) return Fail(ErrorCode::kNotFound, "no pod");
    if (it->second.meta.uid != uid) return Fail(ErrorCode::kConflict, "another pod");
    return &it->second;
  }
  Result<Written> operator()(const WritePodStatus& action) const {
    Pod* const pod = TRY(ThePod(action.pod->meta.key.name, action.pod->meta.uid));
    pod->status = action.status;
    return Done(pod->meta);
  }
  Result<Written> operator()(const nodesim::DeletePod& action) const {
    TRY(ThePod(action.key.name, action.uid));
    world.pods.erase(action.key.name);
    return Written();
  }
  Result<Written> operator()(const LabelPod& action) const {
    Pod* const pod = TRY(ThePod(action.key.name, action.uid));
    pod->clique_label = action.clique_id;
    return Done(pod->meta);
  }

  Result<Written> operator()(const ReportImex& action) const {
    Pod* const pod = TRY(ThePod(action.key.name, action.uid));
    pod->imex = action.report;
    return Done(pod->meta);
  }

  Result<Written> operator()(const CreateClique& action) const {
    const std::string& name = action.clique.meta.key.name;
    if (world.cliques.contains(name)) return Fail(ErrorCode::kAlreadyExists, "clique");
    Clique& clique = world.cliques[name];
    clique = action.clique;
    clique.meta.uid = "clique-" + world.NewVersion();
    return Done(clique.meta);
  }
  Result<Written> operator()(const UpdateClique& action) const {
    const auto it = world.cliques.find(action.clique.meta.key.name);
    if (it == world.cliques.end()) return Fail(ErrorCode::kNotFound, "no clique");
    const std::string& version = it->second.meta.resource_version;
    if (version != action.clique.meta.resource_version) return Fail(ErrorCode::kConflict, "stale");
    it->second = action.clique;
    return Done(it->second.meta);
  }
};

Result<Written> TestWorld::Write(const Action& action) {
  const bool of_lease = std::holds_alternative<CreateLease>(action) ||
                        std::holds_alternative<ReadLease>(action) ||
                        std::holds_alternative<UpdateLease>(action);
  if (!of_lease) log.push_back(Describe(action));
  const std::optional<Fault> failure = fault ? fault(action) : std::nullopt;
  if (failure && !failure->applied) return Fail(failure->code, "failed");
  Result<Written> outcome = std::visit(Applier{*this}, action);
  if (failure) return Fail(failure->code, "failed, but applied");
  return outcome;
}

bool TestWorld::Turn() {
  const Plan plan = Advance(state, *this, settings, *this, now, WallTime(std::chrono::hours(1)));
  wake_ = plan.wake;
  if (const auto beat = Beat(state, *this, now)) {
    Note(state, *beat, Write(*beat), settings, now, random_);
  }
  for (const Action& action : plan.actions) {
    CHECK(ToRequest(action, state, WallTime()).path.starts_with("/api"));
    const Result<Written> outcome = Write(action);
    Note(state, action, outcome, settings, now, random_);
  }
  return !plan.actions.empty();
}

void TestWorld::Settle() {
  constexpr int kTurnsMax = 1'000;
  for (int i = 0; i < kTurnsMax; ++i) {
    if (!Turn()) return;
  }
  const bool comes_to_rest = false;
  CHECK(comes_to_rest);
}

void TestWorld::Run(milliseconds span) {
  const TimePoint end = now + span;
  Settle();
  while (wake_ <= end) {
    now = std::max(now, wake_);
    Settle();
  }
  now = end;
}

void TestWorld::Touch(Node& object) { object.meta.resource_version = NewVersion(); }

Pod& TestWorld::AddPod(const std::string& name) {
  Pod& pod = pods[name];
  pod = Pod{.meta = {.key = {.ns = "default", .name = name},
                     .uid = name + "-" + NewVersion(),
                     .resource_version = NewVersion()},
            .node = kNodeName,
            .containers = {{.name = "main", .image = "image"}},
            .status = {.phase = "Pending"},
            .scheduled = true};
  return pod;
}

Pod& TestWorld::AddClaimingPod(const std::string& name, const Grant& grant) {
  Pod& pod = AddPod(name);
  const std::string claim_name = name + "-claim";
  pod.claims = {{.reference = "device", .claim_name = claim_name}};
  claims[claim_name] = Claim{.meta = {.key = {.ns = "default", .name = claim_name},
                                      .uid = claim_name + "-" + NewVersion(),
                                      .resource_version = NewVersion()},
                             .allocated = true,
                             .reserved_for = {{.name = name, .uid = pod.meta.uid}},
                             .grants = {grant}};
  return pod;
}

Pod& TestWorld::AddWorkload(const std::string& name) {
  Pod& pod = AddClaimingPod(name, {.pool = kNodeName,
                                   .device = "channel-0",
                                   .kind = DeviceKind::kChannel,
                                   .domain = kDomainUid});
  pod.restart = Pod::Restart::kNever;
  pod.meta.owners = {{.kind = "Job", .controller = true}};
  return pod;
}

Pod& TestWorld::AddDaemon(const std::string& name, bool controller_writes) {
  Pod& pod = AddClaimingPod(
      name,
      {.pool = kNodeName, .device = "daemon-0", .kind = DeviceKind::kDaemon, .domain = kDomainUid});
  pod.meta.key.ns = settings.driver_namespace;
  pod.meta.owners = {{.kind = "DaemonSet", .controller = true}};
  pod.controller_writes_membership = controller_writes;
  return pod;
}

void TestWorld::AddDomain(const std::string& ns) {
  domain = Domain{.meta = {.key = {.ns = ns, .name = "domain"}, .uid = kDomainUid}};
}

void TestWorld::DeletePod(const std::string& name, int grace_seconds) {
  Pod& pod = pods.at(name);
  pod.meta.deleting = true;
  pod.grace_period = std::chrono::seconds(grace_seconds);
  pod.meta.resource_version = NewVersion();
}

void TestWorld::RemovePod(const std::string& name) { pods.erase(name); }

const Member* TestWorld::Entry() {
  const auto it = cliques.find(std::string(kDomainUid) + "." + kCliqueId);
  return it == cliques.end() ? nullptr : it->second.Find(kNodeName);
}

}  // namespace nodesim
