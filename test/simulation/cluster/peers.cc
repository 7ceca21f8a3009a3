#include "test/simulation/cluster/peers.h"

#include <algorithm>
#include <utility>

#include "pkg/base/check.h"
#include "test/simulation/apiserver/fixtures.h"

namespace simulation {

using json::Value;

Workload::Workload(ObjectStore& store, kube::ObjectKey key, std::string template_name,
                   std::vector<std::string> nodes, std::string claim)
    : Peer("job/" + key.name, store, {Kind::kPod, Kind::kClaimTemplate}),
      key_(std::move(key)),
      template_name_(std::move(template_name)),
      nodes_(std::move(nodes)),
      claim_(std::move(claim)) {}

void Workload::Finish() {
  finished_ = true;
  Wake();
}

void Workload::Act(Time /*now*/) {
  const ObjectPtr found =
      store().Get(Kind::kClaimTemplate, {.ns = key_.ns, .name = template_name_});
  if (!claim_.empty() && found && !finished_ &&
      !store().Get(Kind::kClaim, {.ns = key_.ns, .name = claim_})) {
    Value claim = Value::Object(
        {{"metadata", Value::Object({{"name", claim_}})}, {"spec", (*found)["spec"]["spec"]}});
    if (store().Create(name(), Kind::kClaim, key_.ns, std::move(claim)).ok()) return;
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const kube::ObjectKey pod_key = {.ns = key_.ns, .name = key_.name + "-" + std::to_string(i)};
    const ObjectPtr pod = store().Get(Kind::kPod, pod_key);
    if (finished_ && pod && !pod->deleting()) {
      if (store().Delete(name(), Kind::kPod, pod_key, {.uid = pod->uid()}).ok()) return;
    }
    if (!finished_ && !pod && found && CreatePod(pod_key, nodes_[i])) return;
  }
}

Value WorkThatLists(const std::string& claim) {
  const Value claims = Value::Array({Value::Object({{"name", claim}})});
  return Value::Object(
      {{"name", "work"}, {"image", "work"}, {"resources", Value::Object({{"claims", claims}})}});
}

bool Workload::CreatePod(const kube::ObjectKey& key, const std::string& node) {
  Value claim = Value::Object({{"name", "channel"}});
  if (claim_.empty()) {
    claim["resourceClaimTemplateName"] = template_name_;
  } else {
    claim["resourceClaimName"] = claim_;
  }
  Value pod = Value::Object(
      {{"metadata", Value::Object({{"name", key.name}})},
       {"spec", Value::Object({{"nodeSelector", Value::Object({{"kubernetes.io/hostname", node}})},
                               {"containers", Value::Array({WorkThatLists("channel")})},
                               {"resourceClaims", Value::Array({std::move(claim)})}})}});
  return store().Create(name(), Kind::kPod, key.ns, std::move(pod)).ok();
}

template <typename T, typename... Args>
T& Cluster::AddPeer(Args&&... args) {
  auto peer = std::make_unique<T>(std::forward<Args>(args)...);
  T& added = *peer;
  peers_.push_back(std::move(peer));
  return added;
}

Cluster::Cluster(Revision start) : store_(start) {
  store_.SetTime(kStart);
  AddNamespace(std::string(kDriverNamespace));
  AddPeer<ClaimController>(store_);
  AddPeer<Scheduler>(store_);
  AddPeer<DaemonSetController>(store_);
  AddPeer<GarbageCollector>(store_);
  namespace_controller_ = &AddPeer<NamespaceController>(store_);
  node_controller_ =
      &AddPeer<NodeController>(store_, [this](const std::string& node) -> std::optional<Time> {
        const auto it = agents_.find(node);
        return it == agents_.end() ? std::nullopt : it->second->silent_since();
      });
}

void Cluster::AddNamespace(const std::string& name) {
  Value ns = NamespaceObject(name);
  ns["metadata"]["finalizers"] = Value::Array({NamespaceController::kFinalizer});
  store_.Create("admin", Kind::kNamespace, "", std::move(ns));
}

NodeAgent& Cluster::AddNode(const std::string& name, const std::string& clique) {
  store_.Create("admin", Kind::kNode, "", NodeObject(name, name + "-boot-1"));
  const int number = static_cast<int>(agents_.size());
  NodeAgent& agent = AddPeer<NodeAgent>(store_, name, clique, number, daemons_);
  agents_[name] = &agent;
  return agent;
}

Workload& Cluster::AddWorkload(const kube::ObjectKey& key, const std::string& template_name,
                               std::vector<std::string> nodes, const std::string& claim) {
  return AddPeer<Workload>(store_, key, template_name, std::move(nodes), claim);
}

int Cluster::Settle() {
  constexpr int kStepsMax = 1'000'000;
  int steps = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (const auto& peer : peers_) {
      if (!peer->Step(now())) continue;
      moved = true;
      CHECK(++steps < kStepsMax);  // Two actors undo what the other does.
    }
  }
  return steps;
}

std::optional<Time> Cluster::NextDue() const {
  std::optional<Time> next;
  for (const auto& peer : peers_) {
    if (const auto due = peer->due(); due && (!next || *due < *next)) next = due;
  }
  return next;
}

kube::Uid Cluster::CreateDomain(const kube::ObjectKey& key, const std::string& template_name,
                                int num_nodes) {
  const Reply reply = store_.Create("user", Kind::kComputeDomain, key.ns,
                                    ComputeDomainObject(key.name, template_name, num_nodes));
  CHECK(reply.ok());
  return reply.object->uid();
}

Reply Cluster::DeleteDomain(const kube::ObjectKey& key, const std::string& propagation) {
  return store_.Delete("user", Kind::kComputeDomain, key, {.propagation = propagation});
}

void Cluster::FailNode(const std::string& node) {
  agent(node).Fail(now());
  node_controller_->Wake();
}

void Cluster::RecoverNode(const std::string& node, bool rebooted) {
  agent(node).Recover(rebooted, now());
  node_controller_->Wake();
}

}  // namespace simulation
