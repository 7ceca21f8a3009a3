#include "test/simulation/oracles/ground_truth.h"

#include "pkg/base/duration.h"

namespace simulation {

ObjectPtr GroundTruth::Get(Kind kind, const kube::ObjectKey& key) const {
  const auto it = Live(kind).find(key);
  return it == Live(kind).end() ? nullptr : it->second;
}

const DomainRecord* GroundTruth::FindDomain(const kube::Uid& uid) const {
  const auto it = domains_.find(uid);
  return it == domains_.end() ? nullptr : &it->second;
}

void GroundTruth::Apply(const Change& change) {
  Objects& objects = state_[static_cast<std::size_t>(change.kind)];
  if (change.type == Change::Type::kDeleted) {
    objects.erase(change.after->key());
  } else {
    objects.insert_or_assign(change.after->key(), change.after);
  }
  if (change.kind == Kind::kComputeDomain) Record(change);
}

void GroundTruth::Record(const Change& change) {
  DomainRecord& record = domains_[change.after->uid()];
  record.last = change.after;
  record.exists = change.type != Change::Type::kDeleted;
  record.had_finalizer = record.had_finalizer || change.after->HasFinalizer(kFinalizer);
  if (change.after->deleting() && record.deletion_asked == 0) {
    record.deletion_asked = change.revision();
  }
}

// As if all changes had been applied.
GroundTruth FinalGroundTruth(const History& history) {
  GroundTruth truth;
  for (const Kind kind : kAllKinds) {
    truth.state_[static_cast<std::size_t>(kind)] = history.Live(kind);
  }
  for (const std::size_t place : history.ChangesOf(Kind::kComputeDomain)) {
    truth.Record(history.changes()[place]);
  }
  return truth;
}

const char* ToString(Role role) {
  switch (role) {
    case Role::kNone:
      return "nothing";
    case Role::kDaemonSet:
      return "DaemonSet";
    case Role::kDaemonTemplate:
      return "daemon template";
    case Role::kWorkloadTemplate:
      return "workload template";
    case Role::kClique:
      return "clique";
  }
  return "nothing";
}

kube::Uid DomainOfClique(const Object& clique) {
  const std::string& name = clique.key().name;
  return name.substr(0, name.find('.'));
}

kube::Uid DomainOf(Kind kind, const Object& object) {
  return kind == Kind::kClique ? DomainOfClique(object) : object.Label(kDomainLabel);
}

Role RoleOf(const GroundTruth& truth, const SystemUnderTest& system, Kind kind,
            const Object& object) {
  const kube::Uid domain = DomainOf(kind, object);
  if (domain.empty()) return Role::kNone;
  const kube::ObjectKey& key = object.key();
  const bool in_driver_namespace = key.ns == system.driver_namespace;
  const bool has_daemon_name = system.any_daemon_name || key.name == DaemonName(domain);
  if (kind == Kind::kDaemonSet) {
    return in_driver_namespace && has_daemon_name ? Role::kDaemonSet : Role::kNone;
  }
  if (kind == Kind::kClique) {
    return in_driver_namespace && key.name.starts_with(domain + ".") ? Role::kClique : Role::kNone;
  }
  if (kind != Kind::kClaimTemplate) return Role::kNone;
  const std::string& target = object.Label(kTargetLabel);
  if (target == "Daemon") {
    return in_driver_namespace && has_daemon_name ? Role::kDaemonTemplate : Role::kNone;
  }
  const DomainRecord* record = truth.FindDomain(domain);
  if (target != "Workload" || record == nullptr) return Role::kNone;
  const std::string& name =
      At(record->last->value(), {"spec", "channel", "resourceClaimTemplate", "name"}).AsString();
  const bool is_there = key.ns == record->last->key().ns && key.name == name;
  return is_there ? Role::kWorkloadTemplate : Role::kNone;
}

bool IsDaemonPod(const SystemUnderTest& system, const Object& pod, const kube::Uid& domain) {
  return pod.key().ns == system.driver_namespace && pod.Label(kDomainLabel) == domain &&
         !pod["spec"]["nodeName"].AsString().empty();
}

bool IsDaemonClaim(const SystemUnderTest& system, const Object& claim, const kube::Uid& domain) {
  if (claim.key().ns != system.driver_namespace) return false;
  const auto config = FindConfig(claim);
  return config && !config->is_channel && config->domain == domain;
}

bool AsksForChannel(const Object& claim, const Object& domain) {
  if (claim.key().ns != domain.key().ns || IsAdminAccess(claim)) return false;
  const auto config = FindConfig(claim);
  return config && config->is_channel && config->domain == domain.uid();
}

bool HoldsChannel(const Object& claim, const Object& domain) {
  return AsksForChannel(claim, domain) && !AllocatedNode(claim).empty();
}

std::set<std::string> NodesWithChannels(const GroundTruth& truth, const Object& domain) {
  std::set<std::string> nodes;
  for (const auto& [key, claim] : truth.Live(Kind::kClaim)) {
    if (HoldsChannel(*claim, domain)) nodes.insert(AllocatedNode(*claim));
  }
  return nodes;
}

bool IsConsumer(const Object& claim, const Object& domain) {
  return HoldsChannel(claim, domain) && !claim["status"]["reservedFor"].items().empty();
}

Spanning SpanningOf(const Object& domain) {
  if (domain.Label(kPlacementLabel) == "any") return Spanning::kYes;
  const bool has_groups =
      !At(domain.meta(), {"annotations", kPlacementGroupAnnotation}).AsString().empty();
  return has_groups ? Spanning::kByGroup : Spanning::kNo;
}

bool MayRollUnderJob(const Object& domain) {
  return At(domain.meta(), {"annotations", kDaemonRollAnnotation}).AsString() == "Always";
}

std::chrono::seconds DeletionGraceOf(const SystemUnderTest& system, const Object& domain) {
  const std::string& said = At(domain.meta(), {"annotations", kDeletionGraceAnnotation}).AsString();
  const auto grace = base::ParseDuration(said);
  return grace ? std::chrono::ceil<std::chrono::seconds>(*grace) : system.deletion_grace;
}

bool IsNodeLost(const GroundTruth& truth, const std::string& node) {
  if (node.empty()) return false;
  const ObjectPtr found = truth.Get(Kind::kNode, {.name = node});
  return !found || FindCondition(found->value(), "Ready")["status"].AsString() != "True";
}

std::string Show(Kind kind, const kube::ObjectKey& key) {
  return Describe(kind).resource.kind + " " + kube::ToString(key);
}

}  // namespace simulation
