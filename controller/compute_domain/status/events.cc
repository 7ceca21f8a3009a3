#include "controller/compute_domain/status/events.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "controller/api/names.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/rules/scheduler_messages.h"
#include "controller/compute_domain/status/explanation/shortage.h"
#include "controller/compute_domain/status/explanation/usage.h"
#include "controller/compute_domain/status/reasons.h"
#include "pkg/base/find.h"
#include "pkg/base/text.h"

namespace compute_domain {

namespace {

using kube::EventType;
using Events = std::vector<kube::Event>;

bool HasReason(const api::DomainStatus& status, std::string_view reason) {
  return base::Contains(status.conditions, reason, &kube::Condition::reason);
}

// Returns whether a DaemonSet's daemons were deleted with it. After --cascade=orphan they have no
// owner, and the next DaemonSet adopts them while they run.
bool GoWithTheirSet(const std::vector<api::DaemonPod>& pods) {
  return pods.empty() || std::ranges::any_of(pods, [](const api::DaemonPod& pod) {
           return pod.meta.ControllerOwner() != nullptr;
         });
}

// Returns whether all children existed when the status was written.
bool HadChildren(const api::DomainStatus& status) {
  return status.Find(api::kConditionReady) != nullptr &&
         std::ranges::none_of(status.conditions, [](const kube::Condition& condition) {
           const Reason* reason = FindReason(condition.reason);
           return reason != nullptr && reason->before_children;
         });
}

// Returns the type of the Event for a reason. Empty if the reason gives no Event.
std::optional<EventType> TypeOf(const std::string& name) {
  const Reason* reason = FindReason(name);
  if (reason == nullptr) return EventType::kNormal;
  switch (reason->telling) {
    case Telling::kNormal:
      return EventType::kNormal;
    case Telling::kWarning:
      return EventType::kWarning;
    case Telling::kSilent:
      break;
  }
  return {};
}

class EventBuilder {
 public:
  explicit EventBuilder(const Observed& observed) : observed_(observed) {}

  // A reason that several conditions share gives one Event.
  Events operator()(const WriteStatus& write) const {
    const api::DomainStatus& before = observed_.domain->status;
    Events events;
    for (const kube::Condition& condition : write.status.conditions) {
      if (HasReason(before, condition.reason)) continue;
      const bool is_listed = base::Contains(events, condition.reason, &kube::Event::reason);
      const std::optional<EventType> type = TypeOf(condition.reason);
      if (is_listed || !type) continue;
      const char* const action = observed_.domain->meta.deleting ? "Deleting" : "Reconciling";
      events.push_back(OfDomain(*type, condition.reason, action, condition.message));
      if (condition.reason == api::kReasonTemplateNameTaken) AddNameHolders(events);
    }
    return events;
  }

  // A child that existed before is created again. If it is a DaemonSet, its daemons were deleted
  // with it: the Event says why a job lost IMEX.
  Events operator()(const Create& create) const {
    if (!observed_.domain || create.kind == Kind::kClique) return {};
    if (!HadChildren(observed_.domain->status)) return {};
    const std::string what = create.object["kind"].AsString() + " " + kube::ToString(create.key);
    const std::vector<std::string> consumers = FindConsumers(observed_);
    if (create.kind == Kind::kDaemonSet && !consumers.empty() &&
        GoWithTheirSet(observed_.children.daemon_pods)) {
      return {OfDomain(EventType::kWarning, api::kEventDaemonsInterrupted, "Creating",
                       what +
                           " was deleted and created again. Every daemon of the domain "
                           "restarts, which interrupts IMEX under " +
                           Names(consumers) +
                           ". Check these jobs: a job that lost IMEX may need a restart.")};
    }
    return {OfDomain(EventType::kNormal, api::kEventRepaired, "Creating",
                     what + " was missing and was created again.")};
  }

  Events operator()(const WritePodTemplate& write) const {
    return {OfDomain(EventType::kNormal, api::kEventTemplateUpdated, "Updating",
                     "DaemonSet " + kube::ToString(write.daemon_set.key) +
                         " was edited or its settings changed. Its template was restored.")};
  }

  Events operator()(const WriteIdentity& write) const {
    if (!write.owners.IsNull()) return {};  // Adoption changes nothing for users.
    return {OfDomain(EventType::kNormal, api::kEventRepaired, "Updating",
                     ResourceOf(write.kind).kind + " " + kube::ToString(write.object.key) +
                         " had lost labels. They were restored.")};
  }

  // The same for each daemon, so that a rollout of a large domain is one series.
  Events operator()(const ReplaceDaemon& /*replace*/) const {
    return {OfDomain(EventType::kNormal, api::kEventDaemonReplaced, "Rolling",
                     "A daemon pod was created from an older template and is replaced.")};
  }

  // Reports duplicates, and daemons deleted under a job after the grace period.
  Events operator()(const Delete& remove) const {
    if (remove.kind != Kind::kDaemonSet || !observed_.domain) return {};
    if (!observed_.domain->meta.deleting) {
      return {
          OfDomain(EventType::kNormal, api::kEventDuplicateRemoved, "Deleting",
                   "DaemonSet " + kube::ToString(remove.key) +
                       " was a duplicate of this domain's DaemonSet, and had no ready daemon.")};
    }
    const std::vector<std::string> consumers = FindConsumers(observed_);
    if (consumers.empty()) return {};
    return {
        OfDomain(EventType::kWarning, api::kEventDeletionForced, "Deleting",
                 "The grace period of the deletion is over, and the daemons are removed under " +
                     base::Join(consumers) + ".")};
  }

  Events operator()(const WriteClique& write) const {
    if (!observed_.domain || observed_.domain->meta.deleting) return {};
    const auto& cliques = observed_.children.cliques;
    const auto clique =
        std::ranges::find(cliques, write.clique.meta.uid, [](const auto& c) { return c.meta.uid; });
    if (clique == cliques.end()) return {};
    std::vector<std::string> left;
    for (const api::Member& member : clique->daemons) {
      if (!base::Contains(write.clique.daemons, member.node, &api::Member::node)) {
        left.push_back(member.node);
      }
    }
    if (left.empty()) return {};
    return {OfDomain(EventType::kNormal, api::kEventMemberRemoved, "UpdatingClique",
                     "Removed from clique " + clique->id +
                         ", because no daemon is left there: " + base::Join(left) + ".")};
  }

  // No Event while a domain is being deleted, because its labels are then expected to be removed.
  Events operator()(const RemoveNodeLabel& remove) const {
    kube::ObjectMeta meta = {.key = {.name = remove.node}};
    if (const auto* const known = base::Find(observed_.nodes, remove.node)) meta = known->meta;
    const kube::ObjectReference node = kube::ReferenceTo(kube::kNodes, meta);
    if (!observed_.domain) {
      return {{.type = EventType::kNormal,
               .reason = std::string(api::kEventStaleLabelRemoved),
               .action = "RemovingLabel",
               .note = "The node was labelled for a ComputeDomain that does not exist, with UID " +
                       remove.domain_uid + ".",
               .regarding = node}};
    }
    if (observed_.domain->meta.deleting) return {};
    kube::Event event =
        OfDomain(EventType::kNormal, api::kEventStaleLabelRemoved, "RemovingLabel",
                 "Node " + remove.node + " had this domain's label, but no claim of the domain.");
    event.related = node;
    return {std::move(event)};
  }

  // All other actions give no Event.
  template <typename Other>
  Events operator()(const Other& /*action*/) const {
    return {};
  }

 private:
  kube::ObjectReference Domain() const {
    return kube::ReferenceTo(api::kComputeDomains, observed_.domain->meta);
  }

  kube::Event OfDomain(EventType type, std::string_view reason, std::string action,
                       std::string note) const {
    return {.type = type,
            .reason = std::string(reason),
            .action = std::move(action),
            .note = std::move(note),
            .regarding = Domain()};
  }

  // Also informs the holder of the name: the domain that owns the template, or the template itself.
  // It is in the same namespace, so the Event reveals nothing about other namespaces.
  void AddNameHolders(Events& events) const {
    for (const auto& [name, read] : observed_.evidence.names) {
      const bool is_found = read.is == NameCheck::Is::kFound;
      if (!is_found || name.second.ns != observed_.domain->meta.key.ns) continue;
      const kube::OwnerReference* owner = read.holder.meta.ControllerOwner();
      const bool is_a_domains = owner != nullptr && owner->kind == api::kComputeDomains.kind;
      if (is_a_domains && owner->uid == observed_.uid) continue;
      const std::string wanted = "ComputeDomain " + kube::ToString(observed_.domain->meta.key) +
                                 " names ResourceClaimTemplate " + name.second.name;
      kube::Event event = {
          .type = EventType::kWarning,
          .reason = std::string(api::kEventTemplateNameWanted),
          .action = "Reconciling",
          .note = wanted +
                  " as its claim template, and does not change this one. Delete it, or create the "
                  "domain again with another template name.",
          .regarding = ReferenceTo(kube::kResourceClaimTemplates, read.holder.meta),
          .related = Domain()};
      if (is_a_domains) {
        event.note = wanted +
                     " too, which belongs to this domain. It waits until it has another template "
                     "name, or until this domain is deleted.";
        event.regarding = {.api_version = owner->api_version,
                           .kind = owner->kind,
                           .key = {.ns = name.second.ns, .name = owner->name},
                           .uid = owner->uid};
      }
      events.push_back(std::move(event));
    }
  }

  const Observed& observed_;
};

}  // namespace

PendingPodEvents EventsForPendingPods(const Observed& observed) {
  PendingPodEvents found;
  const std::map<kube::Uid, Shortage> shortages = FindShortages(observed);
  for (const kube::OwnerReference& pod : FindPodsWithoutChannel(observed)) {
    const Shortage& shortage = shortages.at(pod.uid);
    found.sent.reasons[pod.uid] = shortage.reason;
    if (base::FindOr(observed.memory.event_reasons, pod.uid, "") == shortage.reason) continue;
    const bool passes_by_itself = shortage.reason == api::kReasonNoChannelFree;
    found.events.push_back(
        {.type = passes_by_itself ? EventType::kNormal : EventType::kWarning,
         .reason = shortage.reason,
         .action = "Scheduling",
         .note = "The pod waits for a channel of ComputeDomain " +
                 kube::ToString(observed.domain->meta.key) + ". " + shortage.message,
         .regarding = {.api_version = pod.api_version,
                       .kind = pod.kind,
                       .key = {.ns = observed.domain->meta.key.ns, .name = pod.name},
                       .uid = pod.uid},
         .related = kube::ReferenceTo(api::kComputeDomains, observed.domain->meta)});
  }
  return found;
}

std::vector<kube::Event> EventsOf(const Action& done, const Observed& observed) {
  return std::visit(EventBuilder(observed), done);
}

std::vector<kube::Event> EventsOf(const api::IgnoredGates& gates, const kube::ObjectKey& pod) {
  Events events;
  for (std::string& text : api::TextsOf(gates)) {
    events.push_back({.type = EventType::kWarning,
                      .reason = std::string(api::kEventFeatureGateNotSupported),
                      .action = "Starting",
                      .note = std::move(text),
                      .regarding = kube::ReferenceTo(kube::kPods, {.key = pod})});
  }
  return events;
}

}  // namespace compute_domain
