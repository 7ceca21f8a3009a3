#include <algorithm>
#include <functional>
#include <utility>

#include "pkg/base/rfc3339.h"
#include "test/simulation/oracles/ground_truth.h"
#include "test/simulation/oracles/oracles.h"
#include "test/simulation/oracles/report.h"

namespace simulation {

namespace {

using json::Value;

// A label that is this much older than its claim may be removed although its domain exists.
constexpr std::chrono::seconds kStaleLabel{30};

std::vector<std::string> LostFinalizers(const Change& change) {
  std::vector<std::string> lost;
  if (!change.before) return lost;
  const bool is_gone = change.type == Change::Type::kDeleted;
  for (const Value& finalizer : change.before->meta()["finalizers"].items()) {
    if (is_gone || !change.after->HasFinalizer(finalizer.AsString())) {
      lost.push_back(finalizer.AsString());
    }
  }
  return lost;
}

// The change asks for the object's end, or brings it about at once.
bool AsksForEnd(const Change& change) {
  if (!change.before || change.before->deleting()) return false;
  return change.type == Change::Type::kDeleted || change.after->deleting();
}

// Of a daemon pod, so that its DaemonSet makes another.
bool IsReplacement(const SystemUnderTest& system, const Change& change) {
  return change.kind == Kind::kPod && AsksForEnd(change) &&
         IsDaemonPod(system, *change.before, change.before->Label(kDomainLabel));
}

bool LosesDomainLabel(const Change& change) {
  return change.kind == Kind::kNode && change.before &&
         !change.before->Label(kDomainLabel).empty() &&
         change.after->Label(kDomainLabel) != change.before->Label(kDomainLabel);
}

bool IsOurKey(std::string_view key) {
  return key.starts_with("resource.nvidia.com/") || key.starts_with("cdom.dev/");
}

// Whether a map of labels or annotations lost or changed a key that is not ours.
bool TouchesForeignKeys(const Value& before, const Value& after) {
  for (const auto& [key, value] : before.members()) {
    if (!IsOurKey(key) && after[key] != value) return true;
  }
  return false;
}

// The object without what its controller may change.
Value Foreign(Kind kind, const Object& object) {
  Value value = object.value();
  Value& metadata = value["metadata"];
  metadata.Erase("resourceVersion");
  metadata.Erase("generation");
  if (kind == Kind::kComputeDomain) {
    metadata.Erase("finalizers");
    value.Erase("status");
  } else {
    metadata["labels"].Erase(kDomainLabel);
  }
  return value;
}

// A channel claim of the domain was allocated on the node at `now`, or less than kStaleLabel
// before.
bool WasInUse(const History& history, const SystemUnderTest& system, const kube::Uid& domain,
              const std::string& node, const Change& now) {
  const auto hold = ByFastClock(system, kStaleLabel);
  const auto uses = [&](const ObjectPtr& claim) {
    if (!claim) return false;
    const auto config = FindConfig(*claim);
    return config && config->is_channel && config->domain == domain &&
           AllocatedNode(*claim) == node;
  };
  for (const std::size_t place : history.ChangesOf(Kind::kClaim)) {
    const Change& change = history.changes()[place];
    if (change.revision() > now.revision()) break;
    if (uses(change.before) && change.time > now.time - hold) return true;
  }
  const Objects claims = history.StateAt(Kind::kClaim, now.revision());
  return std::ranges::any_of(claims, [&](const auto& item) { return uses(item.second); });
}

// Why a domain does not let its things be torn down; empty: it does.
std::string WhyNot(const GroundTruth& truth, const kube::Uid& domain) {
  const DomainRecord* record = truth.FindDomain(domain);
  return record != nullptr && record->IsLive()
             ? "of the live domain " + kube::ToString(record->last->key())
             : "";
}

void CheckChild(const GroundTruth& truth, const SystemUnderTest& system, const Change& change,
                const Report& report) {
  if (!change.before) return;
  const Object& before = *change.before;
  const std::string what = Show(change.kind, before.key());
  const kube::Uid domain = DomainOf(change.kind, before);
  const std::vector<std::string> lost = LostFinalizers(change);
  const DomainRecord* record = truth.FindDomain(domain);
  const bool owner_is_gone = record == nullptr || !record->exists;
  // What is being deleted anyway and only waits for our finalizer may be let go once its owner is
  // gone.
  const bool releases = before.deleting() && owner_is_gone &&
                        lost == std::vector<std::string>{std::string(kFinalizer)};
  if (RoleOf(truth, system, change.kind, before) == Role::kNone && !releases) {
    report.Say(change, "wrote to " + what + ", which belongs to no domain");
    return;
  }
  const std::string why_not = WhyNot(truth, domain);
  if (AsksForEnd(change) && !why_not.empty()) report.Say(change, "deleted " + what + " " + why_not);
  for (const std::string& finalizer : lost) {
    if (finalizer != kFinalizer) report.Say(change, "took " + finalizer + " off " + what);
    if (!before.deleting()) report.Say(change, "took a finalizer off " + what + ", which stays");
  }
  const bool touches =
      TouchesForeignKeys(before.meta()["labels"], change.after->meta()["labels"]) ||
      TouchesForeignKeys(before.meta()["annotations"], change.after->meta()["annotations"]);
  if (touches) report.Say(change, "changed others' labels or annotations on " + what);
}

void CheckDomain(const Change& change, const Report& report) {
  if (!change.before) {
    report.Say(change, "created a ComputeDomain");
    return;
  }
  const std::string what = Show(change.kind, change.before->key());
  if (AsksForEnd(change)) report.Say(change, "deleted " + what);
  for (const std::string& finalizer : LostFinalizers(change)) {
    if (finalizer != kFinalizer) report.Say(change, "took " + finalizer + " off " + what);
  }
  const bool is_kept =
      SameValue(Foreign(change.kind, *change.before), Foreign(change.kind, *change.after));
  if (!is_kept) report.Say(change, "changed more than finalizers and status of " + what);
}

void CheckNode(const ApiServer& server, const GroundTruth& truth, const SystemUnderTest& system,
               const Change& change, const Report& report) {
  if (!change.before || change.type == Change::Type::kDeleted) {
    report.Say(change, "created or deleted a Node");
    return;
  }
  const std::string what = Show(change.kind, change.before->key());
  if (!SameValue(Foreign(change.kind, *change.before), Foreign(change.kind, *change.after))) {
    report.Say(change, "changed more than the domain label of " + what);
  }
  if (change.after->Label(kDomainLabel) == change.before->Label(kDomainLabel)) return;
  const History& history = server.store().history();
  const std::string& given = change.after->Label(kDomainLabel);
  if (!given.empty()) {
    const DomainRecord* record = truth.FindDomain(given);
    const bool is_restored = change.before->Label(kDomainLabel).empty() && record != nullptr &&
                             record->exists &&
                             WasInUse(history, system, given, change.before->key().name, change);
    if (!is_restored) report.Say(change, "put a domain label on " + what);
    return;
  }
  const std::string& domain = change.before->Label(kDomainLabel);
  const std::string why_not = WhyNot(truth, domain);
  const bool is_stale = !WasInUse(history, system, domain, change.before->key().name, change);
  if (!why_not.empty() && !is_stale)
    report.Say(change, "took the label off " + what + " " + why_not);
}

}  // namespace

Oracle OwnOnly(const OracleContext& context) {
  return {.on_change = [&server = context.server, &system = context.system,
                        report = Report("S6 OwnOnly", context.violations)](const GroundTruth& truth,
                                                                           const Change& change) {
    if (!system.clients.contains(change.actor)) return;
    const std::string what = Show(change.kind, change.after->key());
    switch (change.kind) {
      case Kind::kDaemonSet:
      case Kind::kClaimTemplate:
      case Kind::kClique:
        CheckChild(truth, system, change, report);
        break;
      case Kind::kComputeDomain:
        CheckDomain(change, report);
        break;
      case Kind::kNode:
        CheckNode(server, truth, system, change, report);
        break;
      case Kind::kLease:
      case Kind::kEvent:
        if (AsksForEnd(change)) report.Say(change, "deleted " + what);
        break;
      case Kind::kPod:
        if (!IsReplacement(system, change)) report.Say(change, "wrote to " + what);
        break;
      case Kind::kClaim:
      case Kind::kSlice:
      case Kind::kNamespace:
        report.Say(change, "wrote to " + what);
        break;
    }
  }};
}

namespace {

// The state in which the client last saw objects of the kind there, live, before the change, and
// not before `earliest`; 0: never.
Revision LastLook(const ApiServer& server, const Change& change, Kind kind, const std::string& ns,
                  Time earliest = Time::min()) {
  Revision last = 0;
  for (const RequestRecord& request : server.requests()) {
    const bool is_look = request.client == change.actor && request.target.verb == "list" &&
                         request.target.kind != nullptr && request.target.kind->kind == kind &&
                         request.target.key.ns == ns && request.status == 200 &&
                         request.view == request.revision && request.time >= earliest;
    if (is_look && request.revision < change.revision()) last = request.revision;
  }
  return last;
}

// Another node of the clique whose daemon was away when the client looked, or that it took away
// since; empty: none.
std::string FindAway(const History& history, const SystemUnderTest& system, const Object& domain,
                     const Change& replacement, Revision look) {
  const std::string& clique = replacement.before->Label(kCliqueLabel);
  std::map<std::string, bool> serves;  // By node.
  const Objects domains = history.StateAt(Kind::kComputeDomain, look);
  const Objects nodes = history.StateAt(Kind::kNode, look);
  if (const auto seen = domains.find(domain.key()); seen != domains.end()) {
    for (const Value& entry : (*seen->second)["status"]["nodes"].items()) {
      const auto node = nodes.find({.name = entry["name"].AsString()});
      const bool is_its = node != nodes.end() && node->second->Label(kDomainLabel) == domain.uid();
      if (is_its && entry["cliqueID"].AsString() == clique) serves[node->first.name] = false;
    }
  }
  const auto note = [&](const Object& pod) {
    // One without the label has not said yet that it is in none.
    const std::string* its = pod.FindLabel(kCliqueLabel);
    const bool is_in_it =
        IsDaemonPod(system, pod, domain.uid()) && its != nullptr && *its == clique;
    if (!is_in_it) return;
    serves[pod["spec"]["nodeName"].AsString()] = IsPodReady(pod) && !pod.deleting();
  };
  for (const auto& [key, pod] : history.StateAt(Kind::kPod, look)) note(*pod);
  for (const std::size_t place : history.ChangesOf(Kind::kPod)) {
    const Change& change = history.changes()[place];
    const bool is_since = change.revision() > look && change.revision() < replacement.revision();
    if (is_since && change.actor == replacement.actor) note(*change.after);
  }
  const std::string& its_node = (*replacement.before)["spec"]["nodeName"].AsString();
  for (const auto& [node, does] : serves) {
    if (!does && node != its_node) return node;
  }
  return "";
}

const std::string& TemplateHash(const Value& metadata) {
  return At(metadata, {"annotations", kTemplateHashAnnotation}).AsString();
}

void CheckReplacement(const ApiServer& server, const GroundTruth& truth,
                      const SystemUnderTest& system, const Change& change, const Report& report) {
  const Object& pod = *change.before;
  const DomainRecord* record = truth.FindDomain(pod.Label(kDomainLabel));
  if (record == nullptr || !record->IsLive()) return;
  const std::string what = "replaced " + Show(Kind::kPod, pod.key());
  const ObjectPtr set = truth.Get(
      Kind::kDaemonSet, {.ns = pod.key().ns, .name = pod.ControllerOwner()["name"].AsString()});
  const bool is_outdated =
      set &&
      TemplateHash(pod.meta()) != TemplateHash(At(set->value(), {"spec", "template", "metadata"}));
  if (!is_outdated) report.Say(change, what + ", which is as its DaemonSet would make it");
  const std::string away = FindAway(server.store().history(), system, *record->last, change,
                                    LastLook(server, change, Kind::kPod, pod.key().ns));
  if (!away.empty()) report.Say(change, what + " while " + away + " was without its daemon");
}

}  // namespace

Oracle LiveChildrenAreSafe(const OracleContext& context) {
  return {.on_change = [&server = context.server, &system = context.system,
                        report = Report("S7 LiveChildrenAreSafe", context.violations)](
                           const GroundTruth& truth, const Change& change) {
    const bool is_controller = system.clients.contains(change.actor);
    if (!change.before || (!is_controller && change.actor != "garbage-collector")) return;
    if (is_controller && IsReplacement(system, change)) {
      CheckReplacement(server, truth, system, change, report);
    }
    const std::string what = Show(change.kind, change.before->key());
    const std::string& domain = change.before->Label(kDomainLabel);
    const std::string why_not = WhyNot(truth, domain);
    if (why_not.empty()) return;
    if (is_controller && LosesDomainLabel(change) &&
        WasInUse(server.store().history(), system, domain, change.before->key().name, change)) {
      report.Say(change, "took the label off " + what + " " + why_not);
    }
    // A clique that daemons write is deleted with the last of the pods that own it.
    const Role role = RoleOf(truth, system, change.kind, *change.before);
    const bool is_child = role != Role::kNone && (is_controller || role != Role::kClique);
    if (is_child && AsksForEnd(change)) report.Say(change, "deleted " + what + " " + why_not);
  }};
}

namespace {

// Of nodes, by domain: what the last daemon pod there said.
using CliquesOfNodes = std::map<std::pair<kube::Uid, std::string>, std::string>;

void NoteClique(const Change& change, CliquesOfNodes& cliques) {
  if (change.kind != Kind::kPod) return;
  const Object& pod = *change.after;
  const std::string* clique = pod.FindLabel(kCliqueLabel);
  if (clique == nullptr) return;
  cliques[{pod.Label(kDomainLabel), pod["spec"]["nodeName"].AsString()}] = *clique;
}

// The claim of which `needs` is true, and was when the client last looked for such, for nobody can
// exclude one that came since; empty: there is none.
std::string FindNeedy(const ApiServer& server, const GroundTruth& truth, const Object& domain,
                      const Change& change, const std::function<bool(const Object&)>& needs,
                      Time earliest = Time::min()) {
  const Revision look = LastLook(server, change, Kind::kClaim, domain.key().ns, earliest);
  const Objects seen = look == 0 ? Objects() : server.store().history().StateAt(Kind::kClaim, look);
  for (const auto& [key, claim] : truth.Live(Kind::kClaim)) {
    if (!needs(*claim)) continue;
    const auto before = seen.find(key);
    if (look == 0 || (before != seen.end() && needs(*before->second))) return key.name;
  }
  return "";
}

// The claim that needs the clique of the pod that is replaced.
std::string FindInClique(const ApiServer& server, const GroundTruth& truth, const Object& domain,
                         const Change& replacement, const CliquesOfNodes& cliques) {
  const Object& pod = *replacement.before;
  const std::string* clique = pod.FindLabel(kCliqueLabel);
  return FindNeedy(server, truth, domain, replacement, [&](const Object& claim) {
    if (!HoldsChannel(claim, domain)) return false;
    const std::string node = AllocatedNode(claim);
    if (node == pod["spec"]["nodeName"].AsString()) return true;
    const auto it = cliques.find({domain.uid(), node});
    return clique != nullptr && it != cliques.end() && it->second == *clique;
  });
}

// The claim of the domain whose pod runs, on a node that does, too.
std::string FindInUse(const ApiServer& server, const GroundTruth& truth, const Object& domain,
                      const Change& change) {
  return FindNeedy(server, truth, domain, change, [&](const Object& claim) {
    if (!IsConsumer(claim, domain) || IsNodeLost(truth, AllocatedNode(claim))) return false;
    return std::ranges::any_of(truth.Live(Kind::kPod), [&](const auto& item) {
      return IsReservedFor(claim, item.second->uid()) && !IsTerminal(*item.second);
    });
  });
}

// The deletion of the domain waits for its pods no longer, by the clocks of its controller.
bool IsGraceOver(const SystemUnderTest& system, const Object& domain, Time now) {
  const auto asked = base::ParseTime(domain.meta()["deletionTimestamp"].AsString());
  const auto grace = ByFastClock(system, DeletionGraceOf(system, domain));
  return asked && now - *asked >= grace;
}

}  // namespace

Oracle DaemonsInUseStay(const OracleContext& context) {
  return {.on_change = [&server = context.server, &system = context.system,
                        report = Report("S20 DaemonsInUseStay", context.violations),
                        cliques = CliquesOfNodes()](const GroundTruth& truth,
                                                    const Change& change) mutable {
    NoteClique(change, cliques);
    if (!system.clients.contains(change.actor) || !AsksForEnd(change)) return;
    const bool is_replacement = IsReplacement(system, change);
    const bool is_set = RoleOf(truth, system, change.kind, *change.before) == Role::kDaemonSet;
    const DomainRecord* record = truth.FindDomain(change.before->Label(kDomainLabel));
    if ((!is_replacement && !is_set) || record == nullptr || !record->exists) return;
    const Object& domain = *record->last;
    if (domain.deleting() && IsGraceOver(system, domain, change.time)) return;
    // A controller that may not read claims knows only the nodes' labels.
    if (domain.deleting() && !system.may_read_claims) return;
    if (is_replacement && MayRollUnderJob(domain)) return;
    const std::string needy = is_set ? FindInUse(server, truth, domain, change)
                                     : FindInClique(server, truth, domain, change, cliques);
    if (needy.empty()) return;
    const std::string what = Show(change.kind, change.before->key());
    report.Say(change,
               is_set ? "deleted " + what + " while ResourceClaim " + needy + " is in use"
                      : "replaced " + what + " while ResourceClaim " + needy + " needs its clique");
  }};
}

namespace {

// Something that still ought to hold a domain back, and since when it has been like that.
struct Remnant {
  Kind kind = {};
  kube::ObjectKey key = {};
  Revision since = 0;
};

// Since when, without a break, `holds` has been true of the object.
Revision Since(const History& history, Kind kind, const Object& object,
               const std::function<bool(const Object&)>& holds) {
  Revision since = object.revision();
  const auto& places = history.ChangesOf(kind);
  for (auto it = places.rbegin(); it != places.rend(); ++it) {
    const Change& change = history.changes()[*it];
    if (change.after->uid() != object.uid() || change.revision() > object.revision()) continue;
    since = change.revision();
    if (!change.before || !holds(*change.before)) break;
  }
  return since;
}

std::vector<Remnant> FindRemnants(const ApiServer& server, const GroundTruth& truth,
                                  const SystemUnderTest& system, const Object& domain, Time now) {
  const History& history = server.store().history();
  std::vector<Remnant> remnants;
  const auto look = [&](Kind kind, const std::function<bool(const Object&)>& holds) {
    for (const auto& [key, object] : truth.Live(kind)) {
      if (!holds(*object)) continue;
      remnants.push_back({.kind = kind, .key = key, .since = Since(history, kind, *object, holds)});
    }
  };
  for (const Kind kind : {Kind::kDaemonSet, Kind::kClaimTemplate, Kind::kClique}) {
    look(kind, [&, kind](const Object& object) {
      return object.Label(kDomainLabel) == domain.uid() &&
             RoleOf(truth, system, kind, object) != Role::kNone;
    });
  }
  look(Kind::kNode, [&](const Object& node) { return node.Label(kDomainLabel) == domain.uid(); });
  const auto asked = base::ParseTime(domain.meta()["deletionTimestamp"].AsString());
  const auto waited = asked ? now - *asked : std::chrono::microseconds(0);
  const auto grace = ByFastClock(system, DeletionGraceOf(system, domain));
  if (waited < 2 * grace) {
    look(Kind::kPod, [&](const Object& pod) {
      return IsDaemonPod(system, pod, domain.uid()) &&
             !IsNodeLost(truth, pod["spec"]["nodeName"].AsString());
    });
    look(Kind::kClaim, [&](const Object& claim) {
      return system.may_read_claims && IsDaemonClaim(system, claim, domain.uid()) &&
             !IsNodeLost(truth, AllocatedNode(claim));
    });
  }
  // A controller that may not read claims knows only the nodes' labels.
  if (system.may_read_claims && waited < grace) {
    look(Kind::kClaim, [&](const Object& claim) {
      return IsConsumer(claim, domain) && !IsNodeLost(truth, AllocatedNode(claim));
    });
  }
  return remnants;
}

// Whether the client looked at that kind, live and after the deletion was asked for, before
// `since`: then the thing came in between its look and its write, which nobody can exclude.
bool CameAfterALook(const ApiServer& server, const std::string& client, Kind kind, Revision asked,
                    Revision since) {
  return std::ranges::any_of(server.requests(), [&](const RequestRecord& request) {
    const bool is_look = request.target.verb == "list" || request.target.verb == "get";
    return request.client == client && is_look && request.target.kind != nullptr &&
           request.target.kind->kind == kind && request.status == 200 &&
           request.view == request.revision && request.revision >= asked &&
           request.revision < since;
  });
}

void CheckRelease(const ApiServer& server, const GroundTruth& truth, const SystemUnderTest& system,
                  const Change& change, const Report& report) {
  const Object& domain = *change.before;
  const std::string what = Show(change.kind, domain.key());
  if (!domain.deleting()) {
    report.Say(change, "took the finalizer off " + what + ", which is not being deleted");
    return;
  }
  const Revision asked = truth.FindDomain(domain.uid())->deletion_asked;
  for (const Remnant& remnant : FindRemnants(server, truth, system, domain, change.time)) {
    if (CameAfterALook(server, change.actor, remnant.kind, asked, remnant.since)) continue;
    report.Say(change, "took the finalizer off " + what + " while " +
                           Show(remnant.kind, remnant.key) + " remained");
  }
}

}  // namespace

Oracle FinalizerDiscipline(const OracleContext& context) {
  return {.on_change = [&server = context.server, &system = context.system,
                        report = Report("S8 FinalizerDiscipline", context.violations)](
                           const GroundTruth& truth, const Change& change) {
    if (!system.clients.contains(change.actor)) return;
    const std::string what = Show(change.kind, change.after->key());
    const bool is_new = change.type == Change::Type::kAdded;
    if (is_new && RoleOf(truth, system, change.kind, *change.after) != Role::kNone) {
      const DomainRecord* record = truth.FindDomain(change.after->Label(kDomainLabel));
      if (record == nullptr || !record->had_finalizer) {
        report.Say(change, "created " + what + " before its domain had the finalizer");
      }
    }
    const bool releases = change.kind == Kind::kComputeDomain &&
                          std::ranges::count(LostFinalizers(change), kFinalizer) > 0;
    if (releases) CheckRelease(server, truth, system, change, report);
  }};
}

namespace {

// A node that is not ready for this long has lost its pods.
constexpr std::chrono::minutes kNodeEnds{5};
// A pass acts at once on what it read live.
constexpr std::chrono::seconds kPassTakes{2};

// Whether what ran on the node is over: it does not exist, or has been lost for long.
bool HasNodeEnded(const History& history, const GroundTruth& truth, const SystemUnderTest& system,
                  const std::string& node, Time now) {
  const ObjectPtr found = truth.Get(Kind::kNode, {.name = node});
  if (!found || !IsNodeLost(truth, node)) return !found;
  const Revision since = Since(history, Kind::kNode, *found, [](const Object& object) {
    return FindCondition(object.value(), "Ready")["status"].AsString() != "True";
  });
  const Numbered<Change>& changes = history.changes();
  const auto began = std::ranges::lower_bound(changes, since, {}, &Change::revision);
  return now - began->time >= ByFastClock(system, kNodeEnds);
}

// The domain from which a change takes something that its jobs use; null: none.
const DomainRecord* TakenFrom(const GroundTruth& truth, const SystemUnderTest& system,
                              const Change& change) {
  if (!change.before) return nullptr;
  const Object& before = *change.before;
  if (change.kind == Kind::kComputeDomain) {
    const bool releases = std::ranges::count(LostFinalizers(change), kFinalizer) > 0;
    return releases ? truth.FindDomain(before.uid()) : nullptr;
  }
  const Role role = RoleOf(truth, system, change.kind, before);
  const bool is_child = role != Role::kNone && role != Role::kWorkloadTemplate;
  const bool takes =
      LosesDomainLabel(change) || IsReplacement(system, change) || (is_child && AsksForEnd(change));
  return takes ? truth.FindDomain(before.Label(kDomainLabel)) : nullptr;
}

}  // namespace

Oracle LiveJobsKeepAll(const OracleContext& context) {
  return {.on_change = [&server = context.server, &system = context.system,
                        report = Report("S22 LiveJobsKeepAll", context.violations)](
                           const GroundTruth& truth, const Change& change) {
    // A controller that may not read claims knows only the nodes' labels.
    if (!system.clients.contains(change.actor) || !system.may_read_claims) return;
    const DomainRecord* record = TakenFrom(truth, system, change);
    if (record == nullptr || !record->exists || !record->last->deleting()) return;
    const Object& domain = *record->last;
    if (IsGraceOver(system, domain, change.time)) return;
    if (IsReplacement(system, change) && MayRollUnderJob(domain)) return;
    const History& history = server.store().history();
    const bool is_node = change.kind == Kind::kNode;
    const std::string job = FindNeedy(
        server, truth, domain, change,
        [&](const Object& claim) {
          const std::string node = AllocatedNode(claim);
          const bool is_there = !is_node || node == change.before->key().name;
          if (!is_there || !IsConsumer(claim, domain)) return false;
          if (HasNodeEnded(history, truth, system, node, change.time)) return false;
          return std::ranges::any_of(truth.Live(Kind::kPod), [&](const auto& item) {
            return IsReservedFor(claim, item.second->uid()) && !IsTerminal(*item.second);
          });
        },
        change.time - kPassTakes);
    if (job.empty()) return;
    report.Say(change, "took " + Show(change.kind, change.before->key()) + " from the job with " +
                           "ResourceClaim " + job + " in the grace period");
  }};
}

Oracle DaemonsHaveTheSameNames(const OracleContext& context) {
  return {.on_change = [&system = context.system,
                        report = Report("S25 DaemonsHaveTheSameNames", context.violations)](
                           const GroundTruth& truth, const Change& change) {
    const bool is_new = change.kind == Kind::kPod && change.type == Change::Type::kAdded;
    if (!is_new) return;
    const Object& pod = *change.after;
    const std::string& domain = pod.Label(kDomainLabel);
    const auto counts = [&](const Object& one) {
      return one.key().ns == system.driver_namespace && one.Label(kDomainLabel) == domain &&
             !one.deleting() && !IsTerminal(one) &&
             one.Label(kMembershipWriterLabel) == "controller";
    };
    if (!counts(pod)) return;
    for (const auto& [key, other] : truth.Live(Kind::kPod)) {
      if (!counts(*other) || NodeNamesOf(*other) == NodeNamesOf(pod)) continue;
      report.Say(change, "made " + Show(Kind::kPod, pod.key()) + " with node names \"" +
                             NodeNamesOf(pod) + "\" beside " + Show(Kind::kPod, key) + " with \"" +
                             NodeNamesOf(*other) + "\"");
    }
  }};
}

Oracle NoDuplicateChild(const OracleContext& context) {
  return {.on_change = [&system = context.system,
                        report = Report("S11 NoDuplicateChild", context.violations),
                        made = std::set<kube::Uid>()](const GroundTruth& truth,
                                                      const Change& change) mutable {
    const bool is_template = change.kind == Kind::kClaimTemplate;
    const bool is_new = change.type == Change::Type::kAdded;
    if (!is_new || (!is_template && change.kind != Kind::kDaemonSet)) return;
    if (!system.clients.contains(change.actor)) return;
    for (const auto& [key, other] : truth.Live(change.kind)) {
      const bool is_same = made.contains(other->uid()) && !other->deleting() &&
                           other->Label(kDomainLabel) == change.after->Label(kDomainLabel) &&
                           other->Label(kTargetLabel) == change.after->Label(kTargetLabel);
      if (!is_same) continue;
      report.Say(change, "created " + Show(change.kind, change.after->key()) + " beside " +
                             Show(change.kind, key));
    }
    made.insert(change.after->uid());
  }};
}

namespace {

bool IsRead(const Target& target) {
  return target.verb == "get" || target.verb == "list" || target.verb == "watch";
}

bool MayBeRefused(const RequestRecord& request) {
  switch (request.status) {
    case 404:
    case 409:
      return true;
    case 403:
      return request.refusal.find("because it is being terminated") != std::string::npos ||
             request.refusal.find("exceeded quota") != std::string::npos;
    case 410:
    case 504:
      return IsRead(request.target);
    case 422:
      return request.target.verb == "patch" && request.body.starts_with("[") &&
             request.refusal.find("testing value ") != std::string::npos;
    default:
      return request.status < 400;
  }
}

}  // namespace

Oracle NothingRefused(const OracleContext& context) {
  return {.on_request = [context](const GroundTruth& /*truth*/, const RequestRecord& request) {
    if (!context.system.clients.contains(request.client) || MayBeRefused(request)) return;
    // A controller that lacks permissions asks again: see QuietAtRest for how often.
    if (!context.system.may_read_claims && request.status == 403) return;
    context.violations.push_back("S19 NothingRefused: " + request.client + " sent " +
                                 request.ToString() + ": " + std::to_string(request.status) + " " +
                                 request.refusal);
  }};
}

Oracle OnlyTheLeaderWrites(const OracleContext& context) {
  return {.on_request = [context](const GroundTruth& truth, const RequestRecord& request) {
    if (!context.system.elect || !context.system.clients.contains(request.client)) return;
    const KindInfo* kind = request.target.kind;
    if (IsRead(request.target) || kind == nullptr || kind->kind == Kind::kLease) return;
    const ObjectPtr lease = truth.Get(
        Kind::kLease, {.ns = context.system.driver_namespace, .name = std::string(kLeaseName)});
    const std::string holder = lease ? (*lease)["spec"]["holderIdentity"].AsString() : "";
    if (holder == request.client) return;
    context.violations.push_back("S15 OnlyTheLeaderWrites: " + request.client + " sent " +
                                 request.ToString() + " while \"" + holder + "\" leads");
  }};
}

namespace {

bool IsReview(const Target& target) {
  return target.verb == "create" && !target.segments.empty() &&
         target.segments.back() == "selfsubjectaccessreviews";
}

bool IsDiscovery(const Target& target) {
  const std::string& first = target.segments.empty() ? std::string() : target.segments.front();
  return (target.verb == "list" || target.verb == "get") && target.segments.size() <= 3 &&
         (first == "api" || first == "apis" || first == "version");
}

// Why the request is outside of what the contract needs; empty: it is not.
std::string WhyNotNeeded(const Target& target, const GroundTruth& truth,
                         const SystemUnderTest& system) {
  if (target.kind == nullptr) {
    return IsReview(target) || IsDiscovery(target) ? "" : "no resource of ours";
  }
  const Kind kind = target.kind->kind;
  const std::string& verb = target.verb;
  const bool in_driver_namespace = target.key.ns == system.driver_namespace;
  const bool in_domain_namespace = std::ranges::any_of(truth.domains(), [&](const auto& item) {
    return item.second.last->key().ns == target.key.ns;
  });
  const auto unless = [](bool allowed, const char* why) { return allowed ? "" : why; };
  if (kind == Kind::kLease) {
    const bool is_ours = target.key.name == kLeaseName || verb == "create";
    return unless(in_driver_namespace && is_ours, "another's lease");
  }
  if (kind == Kind::kNamespace) return "namespaces are none of its business";
  if (IsRead(target)) {
    const bool driver_only = kind == Kind::kDaemonSet || kind == Kind::kClique;
    return unless(!driver_only || in_driver_namespace, "a read outside of the driver's namespace");
  }
  switch (kind) {
    case Kind::kComputeDomain:
      return unless((verb == "patch" || verb == "update") && in_domain_namespace,
                    "domains are only patched");
    case Kind::kClaimTemplate:
      return unless(in_driver_namespace || in_domain_namespace, "a namespace without a domain");
    case Kind::kDaemonSet:
    case Kind::kClique:
      return unless(in_driver_namespace, "outside of the driver's namespace");
    case Kind::kPod:
      return unless(verb == "delete" && in_driver_namespace, "only daemon pods are replaced");
    case Kind::kNode:
      return unless((verb == "patch" || verb == "update") && target.subresource.empty(),
                    "of a node only labels are patched");
    case Kind::kEvent:
      return unless((verb == "create" || verb == "patch") &&
                        (in_driver_namespace || in_domain_namespace || target.key.ns == "default"),
                    "a namespace without a domain");
    default:
      return "this kind is never written";
  }
}

}  // namespace

Oracle Confinement(const OracleContext& context) {
  return {.on_request = [context](const GroundTruth& truth, const RequestRecord& request) {
    if (!context.system.clients.contains(request.client)) return;
    const std::string why = WhyNotNeeded(request.target, truth, context.system);
    if (why.empty()) return;
    context.violations.push_back("S13 Confinement: " + request.client + " sent " +
                                 request.ToString() + ": " + why);
  }};
}

}  // namespace simulation
