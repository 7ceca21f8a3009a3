#include "test/simulation/cluster/cluster_controllers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "pkg/base/fingerprint.h"
#include "pkg/base/rfc3339.h"
#include "test/simulation/apiserver/contract.h"
#include "test/simulation/cluster/claims.h"
#include "test/simulation/cluster/taints.h"

namespace simulation {

namespace {

using json::Value;

constexpr std::string_view kClaimFinalizer = "resource.kubernetes.io/delete-protection";
constexpr std::string_view kPodClaimAnnotation = "resource.kubernetes.io/pod-claim-name";
constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kRevisionLabel = "controller-revision-hash";
constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";
constexpr std::string_view kUnreachable = "node.kubernetes.io/unreachable";
constexpr std::string_view kGpuDriver = "gpu.nvidia.com";

// Returns how many GPUs the request of a claim asks for.
std::size_t GpusOf(const Value& request) {
  const Value& exactly = request["exactly"];
  if (exactly["deviceClassName"].AsString() != kGpuDriver) return 0;
  return static_cast<std::size_t>(exactly["count"].AsInt().value_or(1));
}

Value OwnerOf(const char* api_version, const char* kind, const Object& owner) {
  return Value::Object({{"apiVersion", api_version},
                        {"kind", kind},
                        {"name", owner.key().name},
                        {"uid", owner.uid()},
                        {"controller", true}});
}

bool IsOwnedBy(const Object& object, const Object& owner) {
  return object.ControllerOwner()["uid"].AsString() == owner.uid();
}

void TakeOff(Value& object, std::string_view finalizer) {
  std::erase_if(object["metadata"]["finalizers"].MutableItems(),
                [&](const Value& item) { return item.AsString() == finalizer; });
}

// Affinity to one node, as the DaemonSet controller gives its pods for the scheduler.
Value AffinityTo(const std::string& node) {
  const Value field = Value::Object(
      {{"key", "metadata.name"}, {"operator", "In"}, {"values", Value::Array({node})}});
  const Value terms =
      Value::Object({{"nodeSelectorTerms",
                      Value::Array({Value::Object({{"matchFields", Value::Array({field})}})})}});
  return Value::Object(
      {{"nodeAffinity",
        Value::Object({{"requiredDuringSchedulingIgnoredDuringExecution", terms}})}});
}

std::string HashOf(const Object& daemon_set) {
  return base::Fingerprint(json::Serialize(daemon_set["spec"]["template"]));
}

std::vector<Kind> AllBut(const std::set<Kind>& left_out) {
  std::vector<Kind> kinds(kAllKinds.begin(), kAllKinds.end());
  std::erase_if(kinds, [&](Kind kind) { return left_out.contains(kind); });
  return kinds;
}

// Returns the first term of the pod's required affinity to other pods. Null if it has none.
const Value& PeersOf(const Object& pod) {
  static const Value kNone;
  const Value& terms = At(
      pod["spec"], {"affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
  return terms.items().empty() ? kNone : terms.items().front();
}

// A pod that will not run again, or never did.
bool IsDone(const Object& pod) {
  return IsTerminal(pod) || (pod.deleting() && pod["spec"]["nodeName"].AsString().empty());
}

}  // namespace

// ---- DaemonSetController

void DaemonSetController::Act(Time now) {
  for (const auto& [key, set] : store().Live(Kind::kDaemonSet)) {
    if (set->deleting()) continue;
    if (ClaimPod(*set)) return;
    for (const auto& [node_key, node] : store().Live(Kind::kNode)) {
      if (SyncNode(*set, *node, now)) return;
    }
    const bool rolls = (*set)["spec"]["updateStrategy"]["type"].AsString() != "OnDelete";
    if (rolls && RollOne(*set)) return;
    if (SyncStatus(*set)) return;
  }
}

// Before it counts its pods.
bool DaemonSetController::ClaimPod(const Object& set) {
  const Value& selector = At(set.value(), {"spec", "selector", "matchLabels"});
  for (const auto& [key, pod] : store().Live(Kind::kPod)) {
    if (key.ns != set.key().ns || pod->deleting()) continue;
    const bool matches = !selector.members().empty() && MatchesLabels(*pod, selector);
    if (matches && pod->ControllerOwner().IsNull()) return Adopt(set, *pod);
    if (!matches && IsOwnedBy(*pod, set)) return Release(set, *pod);
  }
  return false;
}

bool DaemonSetController::Adopt(const Object& set, const Object& pod) {
  Value owner = OwnerOf("apps/v1", "DaemonSet", set);
  owner["blockOwnerDeletion"] = true;
  return store()
      .Edit(name(), Kind::kPod, pod.key(),
            [&](Value& object) {
              Value& owners = object["metadata"]["ownerReferences"];
              if (!owners.IsArray()) owners = Value::Array();
              owners.Append(std::move(owner));
            })
      .ok();
}

bool DaemonSetController::Release(const Object& set, const Object& pod) {
  return store()
      .Edit(name(), Kind::kPod, pod.key(),
            [&](Value& object) {
              std::erase_if(
                  object["metadata"]["ownerReferences"].MutableItems(),
                  [&](const Value& owner) { return owner["uid"].AsString() == set.uid(); });
            })
      .ok();
}

bool DaemonSetController::SyncNode(const Object& set, const Object& node, Time now) {
  const std::string& name = node.key().name;
  const Value& selector = At(set.value(), {"spec", "template", "spec", "nodeSelector"});
  Value pod_spec = set["spec"]["template"]["spec"];
  AddDaemonTolerations(pod_spec);
  const bool may_stay = MatchesLabels(node, selector) && ToleratesAll(pod_spec, node, "NoExecute");
  const bool may_start = may_stay && ToleratesAll(pod_spec, node, "NoSchedule");
  bool exists = false;
  for (const auto& [key, pod] : store().Live(Kind::kPod)) {
    if (key.ns != set.key().ns || !IsOwnedBy(*pod, set) || TargetNode(*pod) != name) continue;
    exists = true;
    if (pod->deleting() || (may_stay && !IsTerminal(*pod))) continue;
    const bool failed = (*pod)["status"]["phase"].AsString() == "Failed";
    if (may_stay && failed && !MayReplace(set.uid() + "/" + name, now)) continue;
    return store().Delete(this->name(), Kind::kPod, key, {.uid = pod->uid()}).ok();
  }
  return may_start && !exists && CreatePod(set, name);
}

bool DaemonSetController::MayReplace(const std::string& place, Time now) {
  const auto [it, is_first] = back_offs_.try_emplace(place, BackOff{.since = now});
  BackOff& back_off = it->second;
  if (is_first) return true;
  if (now < back_off.since + back_off.wait) {
    AskAgainAt(back_off.since + back_off.wait);
    return false;
  }
  const bool is_forgotten = now > back_off.since + 2 * kLongestBackOff;
  const auto next = std::min<std::chrono::seconds>(2 * back_off.wait, kLongestBackOff);
  back_off = {.since = now, .wait = is_forgotten ? kFirstBackOff : next};
  return true;
}

// Those first that do not serve anyway; then one, if all others do.
bool DaemonSetController::RollOne(const Object& set) {
  const std::string hash = HashOf(set);
  ObjectPtr old;
  bool all_serve = true;
  for (const auto& [key, pod] : store().Live(Kind::kPod)) {
    if (key.ns != set.key().ns || !IsOwnedBy(*pod, set)) continue;
    const bool serves = IsPodReady(*pod) && !pod->deleting();
    all_serve = all_serve && serves;
    if (pod->deleting() || pod->Label(kRevisionLabel) == hash) continue;
    if (!old || !serves) old = pod;
  }
  if (!old || (!all_serve && IsPodReady(*old))) return false;
  return store().Delete(name(), Kind::kPod, old->key(), {.uid = old->uid()}).ok();
}

bool DaemonSetController::CreatePod(const Object& set, const std::string& node) {
  const Value& pod_template = set["spec"]["template"];
  Value owner = OwnerOf("apps/v1", "DaemonSet", set);
  owner["blockOwnerDeletion"] = true;
  Value pod = Value::Object(
      {{"metadata", Value::Object({{"generateName", set.key().name + "-"},
                                   {"labels", pod_template["metadata"]["labels"]},
                                   {"annotations", pod_template["metadata"]["annotations"]},
                                   {"ownerReferences", Value::Array({std::move(owner)})}})},
       {"spec", pod_template["spec"]}});
  pod["metadata"]["labels"][kRevisionLabel] = HashOf(set);
  AddDaemonTolerations(pod["spec"]);
  pod["spec"]["affinity"] = AffinityTo(node);
  return store().Create(name(), Kind::kPod, set.key().ns, std::move(pod)).ok();
}

bool DaemonSetController::SyncStatus(const Object& set) {
  int pods = 0;
  int ready = 0;
  for (const auto& [key, pod] : store().Live(Kind::kPod)) {
    if (key.ns != set.key().ns || !IsOwnedBy(*pod, set)) continue;
    ++pods;
    ready += IsPodReady(*pod) ? 1 : 0;
  }
  const Value status = Value::Object({{"currentNumberScheduled", pods},
                                      {"desiredNumberScheduled", pods},
                                      {"numberReady", ready},
                                      {"observedGeneration", set.meta()["generation"]}});
  if (SameValue(status, set["status"])) return false;
  return store()
      .Edit(
          name(), Kind::kDaemonSet, set.key(), [&](Value& object) { object["status"] = status; },
          Subresource::kStatus)
      .ok();
}

// ---- ClaimController

void ClaimController::Act(Time /*now*/) {
  for (const auto& [key, pod] : store().Live(Kind::kPod)) {
    if (!pod->deleting() && !IsTerminal(*pod) && SyncPod(*pod)) return;
  }
  for (const auto& [key, claim] : store().Live(Kind::kClaim)) {
    if (SyncClaim(*claim)) return;
  }
}

bool ClaimController::SyncPod(const Object& pod) {
  bool has_news = false;
  for (const PodClaim& wanted : ClaimsOf(pod)) {
    if (wanted.template_name.empty()) continue;
    const std::string found = FindClaim(pod, wanted);
    if (found.empty() && CreateClaim(pod, wanted)) return true;
    has_news = has_news || (!found.empty() && found != wanted.claim);
  }
  return has_news && TellPod(pod);
}

std::string ClaimController::FindClaim(const Object& pod, const PodClaim& wanted) const {
  const auto is_it = [&](const Object& claim) {
    return IsOwnedBy(claim, pod) &&
           At(claim.meta(), {"annotations", kPodClaimAnnotation}).AsString() == wanted.request;
  };
  const auto& claims = store().Live(Kind::kClaim);
  const auto known = claims.find({.ns = pod.key().ns, .name = std::string(wanted.claim)});
  if (known != claims.end() && is_it(*known->second)) return known->first.name;
  for (const auto& [key, claim] : claims) {
    if (key.ns == pod.key().ns && is_it(*claim)) return key.name;
  }
  return "";
}

bool ClaimController::TellPod(const Object& pod) {
  Value statuses = Value::Array();
  for (const PodClaim& wanted : ClaimsOf(pod)) {
    const std::string found = wanted.template_name.empty() ? "" : FindClaim(pod, wanted);
    if (found.empty()) continue;
    statuses.Append(Value::Object({{"name", wanted.request}, {"resourceClaimName", found}}));
  }
  return store()
      .Edit(
          name(), Kind::kPod, pod.key(),
          [&](Value& object) { object["status"]["resourceClaimStatuses"] = statuses; },
          Subresource::kStatus)
      .ok();
}

bool ClaimController::CreateClaim(const Object& pod, const PodClaim& wanted) {
  const ObjectPtr found = store().Get(
      Kind::kClaimTemplate, {.ns = pod.key().ns, .name = std::string(wanted.template_name)});
  if (!found) return false;
  Value metadata = Value::Object(
      {{"generateName", pod.key().name + "-" + std::string(wanted.request) + "-"},
       {"annotations", Value::Object({{std::string(kPodClaimAnnotation), wanted.request}})},
       {"ownerReferences", Value::Array({OwnerOf("v1", "Pod", pod)})}});
  if (const Value& labels = At(found->value(), {"spec", "metadata", "labels"}); labels.IsObject()) {
    metadata["labels"] = labels;
  }
  Value claim = Value::Object({{"metadata", metadata}, {"spec", (*found)["spec"]["spec"]}});
  return store().Create(name(), Kind::kClaim, pod.key().ns, std::move(claim)).ok();
}

bool ClaimController::SyncClaim(const Object& claim) {
  const Value::Items& consumers = claim["status"]["reservedFor"].items();
  const auto is_over = [&](const Value& consumer) {
    if (consumer["resource"].AsString() != "pods") return false;
    const ObjectPtr pod =
        store().Get(Kind::kPod, {.ns = claim.key().ns, .name = consumer["name"].AsString()});
    return !pod || pod->uid() != consumer["uid"].AsString() || IsDone(*pod);
  };
  if (std::ranges::none_of(consumers, is_over)) return consumers.empty() && ReleaseClaim(claim);
  Value left = Value::Array(consumers);
  std::erase_if(left.MutableItems(), is_over);
  return Deallocate(claim, std::move(left));
}

bool ClaimController::Deallocate(const Object& claim, Value consumers) {
  const bool unused = consumers.items().empty();
  if (unused) deallocated_.insert(claim.uid());
  return store()
      .Edit(
          name(), Kind::kClaim, claim.key(),
          [&](Value& object) {
            object["status"]["reservedFor"] = std::move(consumers);
            if (unused) object.Erase("status");
          },
          Subresource::kStatus)
      .ok();
}

// Takes leave of a claim that nobody uses: allocation, finalizer, and the claim itself if its pod
// will not run.
bool ClaimController::ReleaseClaim(const Object& claim) {
  const bool has_finalizer = claim.HasFinalizer(kClaimFinalizer);
  const bool is_allocated = !AllocatedNode(claim).empty();
  if (has_finalizer && claim.deleting() && is_allocated) return Deallocate(claim, Value::Array());
  if (has_finalizer && !is_allocated && (claim.deleting() || deallocated_.erase(claim.uid()) > 0)) {
    deallocated_.erase(claim.uid());
    return store()
        .Edit(name(), Kind::kClaim, claim.key(),
              [](Value& object) { TakeOff(object, kClaimFinalizer); })
        .ok();
  }
  const Value& owner = claim.ControllerOwner();
  if (claim.deleting() || owner["kind"].AsString() != "Pod") return false;
  const ObjectPtr pod =
      store().Get(Kind::kPod, {.ns = claim.key().ns, .name = owner["name"].AsString()});
  const bool is_over = pod && (pod->uid() != owner["uid"].AsString() || IsDone(*pod));
  return is_over && store().Delete(name(), Kind::kClaim, claim.key()).ok();
}

// ---- Scheduler

void Scheduler::Act(Time /*now*/) {
  for (const auto& [key, pod] : store().Live(Kind::kPod)) {
    const bool is_waiting = !pod->deleting() && (*pod)["spec"]["nodeName"].AsString().empty();
    if (is_waiting && Schedule(*pod)) return;
  }
}

bool Scheduler::Schedule(const Object& pod) {
  std::vector<ObjectPtr> claims;
  for (const PodClaim& wanted : ClaimsOf(pod)) {
    const ObjectPtr claim =
        store().Get(Kind::kClaim, {.ns = pod.key().ns, .name = std::string(wanted.claim)});
    if (!claim || claim->deleting()) return false;  // Not made yet.
    claims.push_back(claim);
  }
  for (const auto& [key, node] : store().Live(Kind::kNode)) {
    const std::string& name = key.name;
    const bool possible =
        Fits(pod, *node) && std::ranges::all_of(claims, [&](const ObjectPtr& claim) {
          const std::string allocated = AllocatedNode(*claim);
          const bool is_channel = FindConfig(*claim).value_or(ClaimConfig{}).is_channel;
          if (!allocated.empty()) return allocated == name;
          if (!HasGpus(*claim, name)) return false;
          return IsAdminAccess(*claim) || IsFree(name, is_channel ? "channel-0" : "daemon-0");
        });
    if (!possible) continue;
    for (const ObjectPtr& claim : claims) {
      if (!IsReservedFor(*claim, pod.uid())) return Allocate(pod, *claim, name);
    }
    return store().Bind(this->name(), pod.key(), name).ok();
  }
  return SayUnschedulable(pod);
}

bool Scheduler::Fits(const Object& pod, const Object& node) const {
  const std::string target = TargetNode(pod);
  if (!target.empty() && target != node.key().name) return false;
  if (!MatchesLabels(node, pod["spec"]["nodeSelector"]) || !IsNearItsPeers(pod, node)) return false;
  const Value& spec = pod["spec"];
  if (!ToleratesAll(spec, node, "NoSchedule") || !ToleratesAll(spec, node, "NoExecute")) {
    return false;
  }
  // As by the taint of a node that is not ready, which comes and goes with the condition.
  const Value not_ready = Value::Object({{"key", kNotReady}, {"effect", "NoExecute"}});
  return FindCondition(node.value(), "Ready")["status"].AsString() == "True" ||
         Tolerates(spec, not_ready);
}

bool Scheduler::IsNearItsPeers(const Object& pod, const Object& node) const {
  const Value& term = PeersOf(pod);
  if (term.IsNull()) return true;
  const std::string& topology = term["topologyKey"].AsString();
  const auto place_of = [&](const Object& object) -> const std::string& {
    return object["metadata"]["labels"][topology].AsString();
  };
  const std::string& place = place_of(node);
  if (place.empty()) return false;
  const Value& labels = term["labelSelector"]["matchLabels"];
  bool has_peers = false;
  for (const auto& [key, peer] : store().Live(Kind::kPod)) {
    const std::string& where = (*peer)["spec"]["nodeName"].AsString();
    if (where.empty() || key.ns != pod.key().ns || !MatchesLabels(*peer, labels)) continue;
    const ObjectPtr its_node = store().Get(Kind::kNode, {.name = where});
    if (its_node && place_of(*its_node) == place) return true;
    has_peers = true;
  }
  return !has_peers && MatchesLabels(pod, labels);
}

bool Scheduler::IsFree(const std::string& node, const std::string& device) const {
  if (!store().Get(Kind::kSlice, {.name = SliceName(node)})) return false;
  for (const auto& [key, claim] : store().Live(Kind::kClaim)) {
    if (IsAdminAccess(*claim)) continue;
    for (const Value& result :
         At(claim->value(), {"status", "allocation", "devices", "results"}).items()) {
      if (result["pool"].AsString() == node && result["device"].AsString() == device) return false;
    }
  }
  return true;
}

// Whole GPUs, of which the node's slices have a number.
bool Scheduler::HasGpus(const Object& claim, const std::string& node) const {
  std::size_t wanted = 0;
  for (const Value& request : At(claim.value(), {"spec", "devices", "requests"}).items()) {
    wanted += GpusOf(request);
  }
  if (wanted == 0) return true;
  std::size_t free = 0;
  for (const auto& [key, slice] : store().Live(Kind::kSlice)) {
    const Value& spec = (*slice)["spec"];
    if (spec["driver"].AsString() != kGpuDriver || spec["nodeName"].AsString() != node) continue;
    free += spec["devices"].items().size();
  }
  for (const auto& [key, other] : store().Live(Kind::kClaim)) {
    for (const Value& result :
         At(other->value(), {"status", "allocation", "devices", "results"}).items()) {
      const bool is_taken =
          result["driver"].AsString() == kGpuDriver && result["pool"].AsString() == node;
      if (is_taken) --free;
    }
  }
  return free >= wanted;
}

// First the finalizer that protects the allocation, then the allocation, or one more consumer of
// it.
bool Scheduler::Allocate(const Object& pod, const Object& claim, const std::string& node) {
  if (!claim.HasFinalizer(kClaimFinalizer)) {
    return store()
        .Edit(name(), Kind::kClaim, claim.key(),
              [](Value& object) { object["metadata"]["finalizers"].Append(kClaimFinalizer); })
        .ok();
  }
  const bool is_channel = FindConfig(claim).value_or(ClaimConfig{}).is_channel;
  Value results = Value::Array();
  for (const Value& request : At(claim.value(), {"spec", "devices", "requests"}).items()) {
    const std::size_t gpus = GpusOf(request);
    const auto append = [&](std::string_view driver, const std::string& device) {
      results.Append(Value::Object(
          {{"request", request["name"]}, {"driver", driver}, {"pool", node}, {"device", device}}));
    };
    if (gpus == 0) append(kDriver, is_channel ? "channel-0" : "daemon-0");
    for (std::size_t i = 0; i < gpus; ++i) append(kGpuDriver, "gpu-" + std::to_string(i));
  }
  Value configs = Value::Array();
  for (const Value& config : At(claim.value(), {"spec", "devices", "config"}).items()) {
    Value copied = Value::Object({{"source", "FromClaim"}});
    for (const auto& [member, value] : config.members()) copied[member] = value;
    configs.Append(std::move(copied));
  }
  const Value allocation = Value::Object(
      {{"devices",
        Value::Object({{"results", std::move(results)}, {"config", std::move(configs)}})}});
  const Value consumer =
      Value::Object({{"resource", "pods"}, {"name", pod.key().name}, {"uid", pod.uid()}});
  return store()
      .Edit(
          name(), Kind::kClaim, claim.key(),
          [&](Value& object) {
            if (AllocatedNode(claim).empty()) object["status"]["allocation"] = allocation;
            object["status"]["reservedFor"].Append(consumer);
          },
          Subresource::kStatus)
      .ok();
}

bool Scheduler::SayUnschedulable(const Object& pod) {
  const Value& said = FindCondition(pod.value(), "PodScheduled");
  if (said["status"].AsString() == "False") return false;
  const std::string nodes = std::to_string(store().Live(Kind::kNode).size());
  const Value condition = Value::Object(
      {{"type", "PodScheduled"},
       {"status", "False"},
       {"reason", "Unschedulable"},
       {"message", "0/" + nodes + " nodes are available: cannot allocate all claims."}});
  return store()
      .Edit(
          name(), Kind::kPod, pod.key(),
          [&](Value& object) { object["status"]["conditions"].Append(condition); },
          Subresource::kStatus)
      .ok();
}

// ---- GarbageCollector

GarbageCollector::GarbageCollector(ObjectStore& store)
    : Peer("garbage-collector", store, AllBut({Kind::kLease, Kind::kEvent})) {}

void GarbageCollector::Act(Time /*now*/) {
  for (const Kind kind : kAllKinds) {
    for (const auto& [key, object] : store().Live(kind)) {
      const bool acted =
          object->deleting() ? FinishDeletion(kind, *object) : Collect(kind, *object);
      if (acted) return;
    }
  }
}

GarbageCollector::Owner GarbageCollector::Classify(const Object& dependent,
                                                   const Value& reference) const {
  const KindInfo* kind =
      FindOwnerKind(reference["apiVersion"].AsString(), reference["kind"].AsString());
  // An owner that cannot be looked up is taken to live.
  if (kind == nullptr || !store().IsServed(kind->kind)) return Owner::kSolid;
  const ObjectPtr owner =
      store().Get(kind->kind, {.ns = kind->resource.namespaced ? dependent.key().ns : "",
                               .name = reference["name"].AsString()});
  if (!owner || owner->uid() != reference["uid"].AsString()) return Owner::kAbsent;
  return owner->deleting() && owner->HasFinalizer(kForeground) ? Owner::kWaiting : Owner::kSolid;
}

bool GarbageCollector::Collect(Kind kind, const Object& object) {
  const Value::Items& references = object.meta()["ownerReferences"].items();
  if (references.empty()) return false;
  bool has_solid = false;
  bool is_awaited = false;
  std::set<kube::Uid> droppable;
  for (const Value& reference : references) {
    const Owner owner = Classify(object, reference);
    has_solid = has_solid || owner == Owner::kSolid;
    is_awaited = is_awaited || owner == Owner::kWaiting;
    if (owner != Owner::kSolid) droppable.insert(reference["uid"].AsString());
  }
  if (has_solid) return !droppable.empty() && DropOwners(kind, object, droppable);
  const bool in_foreground = is_awaited && HasDependents(object.uid(), false);
  return store()
      .Delete(name(), kind, object.key(),
              {.uid = object.uid(),
               .resource_version = object.meta()["resourceVersion"].AsString(),
               .propagation = in_foreground ? "Foreground" : "Background"})
      .ok();
}

bool GarbageCollector::FinishDeletion(Kind kind, const Object& object) {
  const auto take_off = [&](std::string_view finalizer) {
    return store()
        .Edit(name(), kind, object.key(), [&](Value& value) { TakeOff(value, finalizer); })
        .ok();
  };
  if (object.HasFinalizer(kForeground) && !HasDependents(object.uid(), true)) {
    return take_off(kForeground);
  }
  if (object.HasFinalizer(kOrphan)) return OrphanOne(object.uid()) || take_off(kOrphan);
  return false;
}

bool GarbageCollector::HasDependents(const kube::Uid& owner, bool blocking_only) const {
  for (const Kind kind : kAllKinds) {
    for (const auto& [key, object] : store().Live(kind)) {
      for (const Value& reference : object->meta()["ownerReferences"].items()) {
        const bool counts = !blocking_only || reference["blockOwnerDeletion"].AsBool();
        if (reference["uid"].AsString() == owner && counts) return true;
      }
    }
  }
  return false;
}

bool GarbageCollector::OrphanOne(const kube::Uid& owner) {
  for (const Kind kind : kAllKinds) {
    for (const auto& [key, object] : store().Live(kind)) {
      for (const Value& reference : object->meta()["ownerReferences"].items()) {
        if (reference["uid"].AsString() == owner) return DropOwners(kind, *object, {owner});
      }
    }
  }
  return false;
}

bool GarbageCollector::DropOwners(Kind kind, const Object& object,
                                  const std::set<kube::Uid>& owners) {
  return store()
      .Edit(name(), kind, object.key(),
            [&](Value& value) {
              std::erase_if(value["metadata"]["ownerReferences"].MutableItems(),
                            [&](const Value& reference) {
                              return owners.contains(reference["uid"].AsString());
                            });
            })
      .ok();
}

// ---- NamespaceController

NamespaceController::NamespaceController(ObjectStore& store)
    : Peer("namespace-controller", store, AllBut({Kind::kLease})),
      kinds_(kAllKinds.begin(), kAllKinds.end()) {}

void NamespaceController::Act(Time /*now*/) {
  for (const auto& [key, ns] : store().Live(Kind::kNamespace)) {
    if (!ns->deleting()) continue;
    if (DeleteOne(key.name)) return;
    if (!IsEmpty(key.name)) continue;  // What is left goes at its own pace.
    (void)store().Edit(name(), Kind::kNamespace, key,
                       [](Value& object) { TakeOff(object, kFinalizer); });
    return;
  }
}

bool NamespaceController::DeleteOne(const std::string& ns) {
  for (const Kind kind : kinds_) {
    for (const auto& [key, object] : store().Live(kind)) {
      if (key.ns != ns || object->deleting()) continue;
      return store().Delete(name(), kind, key, {.propagation = "Background"}).ok();
    }
  }
  return false;
}

bool NamespaceController::IsEmpty(const std::string& ns) const {
  return std::ranges::none_of(kAllKinds, [&](const Kind kind) {
    return std::ranges::any_of(store().Live(kind),
                               [&](const auto& item) { return item.first.ns == ns; });
  });
}

// ---- NodeController

void NodeController::Act(Time now) {
  for (const auto& [key, node] : store().Live(Kind::kNode)) {
    if (SyncNode(*node, now)) return;
    for (const Value& taint : (*node)["spec"]["taints"].items()) {
      const bool waits = taint["key"].AsString() == kUnreachable;
      if (taint["effect"].AsString() == "NoExecute" && !waits && EvictOne(key.name, taint)) return;
    }
  }
  for (const auto& [key, pod] : store().Live(Kind::kPod)) {
    const std::string& node = (*pod)["spec"]["nodeName"].AsString();
    if (!node.empty() && !store().Get(Kind::kNode, {.name = node})) {
      if (store().Delete(name(), Kind::kPod, key, {.uid = pod->uid(), .grace = 0}).ok()) return;
    }
  }
}

bool NodeController::SyncNode(const Object& node, Time now) {
  const std::optional<Time> silent = silent_since_(node.key().name);
  const bool is_known = FindCondition(node.value(), "Ready")["status"].AsString() == "Unknown";
  const auto is_ours = [](const Value& taint) { return taint["key"].AsString() == kUnreachable; };
  const bool is_tainted = std::ranges::any_of(node["spec"]["taints"].items(), is_ours);
  if (!silent) {
    if (!is_tainted || is_known) return false;
    return store()
        .Edit(name(), Kind::kNode, node.key(),
              [&](Value& object) {
                Value others = Value::Array();
                for (const Value& taint : object["spec"]["taints"].items()) {
                  if (!is_ours(taint)) others.Append(taint);
                }
                object["spec"].Erase("taints");
                if (!others.items().empty()) object["spec"]["taints"] = std::move(others);
              })
        .ok();
  }
  if (now < *silent + kMonitorGrace) {
    AskAgainAt(*silent + kMonitorGrace);
    return false;
  }
  if (!is_known) {
    return store()
        .Edit(
            name(), Kind::kNode, node.key(),
            [&](Value& object) {
              object["status"]["conditions"] =
                  Value::Array({Value::Object({{"type", "Ready"},
                                               {"status", "Unknown"},
                                               {"reason", "NodeStatusUnknown"},
                                               {"message", "Kubelet stopped posting node status."},
                                               {"lastTransitionTime", base::FormatSeconds(now)}})});
            },
            Subresource::kStatus)
        .ok();
  }
  if (!is_tainted) {
    return store()
        .Edit(name(), Kind::kNode, node.key(),
              [](Value& object) {
                object["spec"]["taints"].Append(
                    Value::Object({{"key", kUnreachable}, {"effect", "NoExecute"}}));
              })
        .ok();
  }
  if (now < *silent + kMonitorGrace + kTolerated) {
    AskAgainAt(*silent + kMonitorGrace + kTolerated);
    return false;
  }
  return EvictOne(node.key().name, Value::Object({{"key", kUnreachable}, {"effect", "NoExecute"}}));
}

bool NodeController::EvictOne(const std::string& node, const Value& taint) {
  for (const auto& [key, pod] : store().Live(Kind::kPod)) {
    const bool is_here = (*pod)["spec"]["nodeName"].AsString() == node;
    if (is_here && !pod->deleting() && !Tolerates((*pod)["spec"], taint)) {
      return store().Delete(name(), Kind::kPod, key, {.uid = pod->uid()}).ok();
    }
  }
  return false;
}

}  // namespace simulation
