#include "test/simulation/mutants/mutants.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/rules/rollout.h"
#include "pkg/base/rfc3339.h"
#include "test/simulation/apiserver/object_store.h"
#include "test/simulation/apiserver/target.h"

namespace simulation {

namespace {

using compute_domain::Action;
using compute_domain::Create;
using compute_domain::kRules;
using compute_domain::Membership;
using compute_domain::Observed;
using compute_domain::Rules;
using compute_domain::WriteClique;
using Actions = std::vector<Action>;
using Members = std::vector<api::Member>;

// Believes a node that says that it is of the domain.
Rules BelievingLabels() {
  Rules rules = kRules;
  rules.membership = [](const Observed& observed, const compute_domain::Instant& now) {
    Observed believed = observed;
    believed.facts.views.claims_are_read = false;
    return kRules.membership(believed, now);
  };
  return rules;
}

// ---- admit

Rules WithoutFinalizer() {
  Rules rules = kRules;
  rules.admit = [](const Observed&) -> std::optional<Action> { return {}; };
  return rules;
}

// ---- provision

Rules ForgettingTheWorkloadTemplate() {
  Rules rules = kRules;
  rules.provision = [](const Observed& observed) {
    Actions actions = kRules.provision(observed);
    std::erase_if(actions, [&](const Action& action) {
      const auto* create = std::get_if<Create>(&action);
      return create != nullptr && create->key.ns == observed.domain->meta.key.ns;
    });
    return actions;
  };
  return rules;
}

// What the cache does not show is made, under another name than the last time (against R3).
Rules WithGeneratedNames() {
  Rules rules = kRules;
  rules.provision = [](const Observed& observed) {
    Actions actions = kRules.provision(observed);
    for (Action& action : actions) {
      auto* create = std::get_if<Create>(&action);
      if (create == nullptr || create->kind != compute_domain::Kind::kDaemonSet) continue;
      create->key.name += observed.domain->status.conditions.empty() ? "-x" : "-y";
      create->object["metadata"]["name"] = create->key.name;
    }
    return actions;
  };
  return rules;
}

// Edits of a child by a user stay.
Rules LeavingEdits() {
  Rules rules = kRules;
  rules.provision = [](const Observed& observed) {
    Actions actions = kRules.provision(observed);
    std::erase_if(actions, [](const Action& action) {
      return std::holds_alternative<compute_domain::WritePodTemplate>(action);
    });
    return actions;
  };
  return rules;
}

// Daemons that ask neither whose the node is nor for its device.
Rules PuttingDaemonsEverywhere() {
  Rules rules = kRules;
  rules.provision = [](const Observed& observed) {
    Actions actions = kRules.provision(observed);
    for (Action& action : actions) {
      auto* create = std::get_if<Create>(&action);
      if (create == nullptr || create->kind != compute_domain::Kind::kDaemonSet) continue;
      json::Value& spec = create->object["spec"]["template"]["spec"];
      spec.Erase("nodeSelector");
      spec.Erase("resourceClaims");
    }
    return actions;
  };
  return rules;
}

// ---- membership

Members DecodeDaemons(const json::Value& daemons) {
  Members members;
  for (const json::Value& entry : daemons.items()) {
    members.push_back({.node = entry["nodeName"].AsString(),
                       .ip = entry["ipAddress"].AsString(),
                       .clique = entry["cliqueID"].AsString(),
                       .index = static_cast<int>(entry["index"].AsInt().value_or(-1)),
                       .ready = entry["status"].AsString() == "Ready"});
  }
  return members;
}

// Changes the entries of every clique that is written, as `change` says.
template <typename Change>
void ChangeEntries(Membership& membership, Change change) {
  for (Action& action : membership.actions) {
    if (auto* write = std::get_if<WriteClique>(&action)) change(write->clique.daemons);
    auto* create = std::get_if<Create>(&action);
    if (create == nullptr || create->kind != compute_domain::Kind::kClique) continue;
    Members daemons = DecodeDaemons(create->object["daemons"]);
    change(daemons);
    create->object["daemons"] = api::EncodeDaemons(daemons);
  }
}

// In order of their names, regardless of the members before.
Rules RenumberingMembers() {
  Rules rules = kRules;
  rules.membership = [](const Observed& observed, const auto&... rest) {
    Membership membership = kRules.membership(observed, rest...);
    ChangeEntries(membership, [](Members& daemons) {
      std::ranges::sort(daemons, {}, &api::Member::node);
      for (std::size_t i = 0; i < daemons.size(); ++i) daemons[i].index = static_cast<int>(i);
    });
    return membership;
  };
  return rules;
}

// As many as there are, plus one: what an index was given up for is given again too late or twice.
Rules CountingMembersTogether() {
  Rules rules = kRules;
  rules.membership = [](const Observed& observed, const auto&... rest) {
    Membership membership = kRules.membership(observed, rest...);
    ChangeEntries(membership, [](Members& daemons) {
      for (api::Member& daemon : daemons) daemon.index = static_cast<int>(daemons.size()) - 1;
    });
    return membership;
  };
  return rules;
}

Rules CallingEveryMemberReady() {
  Rules rules = kRules;
  rules.membership = [](const Observed& observed, const auto&... rest) {
    Membership membership = kRules.membership(observed, rest...);
    ChangeEntries(membership, [](Members& daemons) {
      for (api::Member& daemon : daemons) daemon.ready = true;
    });
    return membership;
  };
  return rules;
}

// A pod that the cache does not show does not exist (against R2).
Rules TrustingTheCacheForPods() {
  Rules rules = kRules;
  rules.membership = [](const Observed& observed, const auto&... rest) {
    Observed blind = observed;
    blind.evidence.daemon_pods = observed.children.daemon_pods;
    return kRules.membership(blind, rest...);
  };
  return rules;
}

// A free index goes to the next member at once, so a node that comes back finds its index taken.
Rules KeepingNoIndex() {
  Rules rules = kRules;
  rules.membership = [](const Observed& observed, const auto&... rest) {
    Observed hasty = observed;
    hasty.facts.settings.Edit().index_hold = std::chrono::seconds(0);
    return kRules.membership(hasty, rest...);
  };
  return rules;
}

// ---- rollout

Rules LeavingOutdatedDaemons() {
  Rules rules = kRules;
  rules.rollout = [](const auto&...) { return compute_domain::Rollout(); };
  return rules;
}

// Every outdated daemon is deleted, however many of its clique are away.
Rules ReplacingAllAtOnce() {
  Rules rules = kRules;
  rules.rollout = [](const Observed& observed, const auto&... rest) {
    compute_domain::Rollout rollout = kRules.rollout(observed, rest...);
    const auto replaces = [](const Action& action) {
      return std::holds_alternative<compute_domain::ReplaceDaemon>(action);
    };
    if (std::ranges::none_of(rollout.actions, replaces)) return rollout;  // Still looking, or done.
    rollout.actions.clear();
    const auto outdated = compute_domain::FindOutdated(observed);
    for (const api::DaemonPod& pod : *observed.evidence.daemon_pods) {
      if (std::ranges::find(outdated, pod.meta.key.name) == outdated.end()) continue;
      rollout.actions.emplace_back(compute_domain::Delete{
          .kind = compute_domain::Kind::kDaemonPod, .key = pod.meta.key, .uid = pod.meta.uid});
    }
    return rollout;
  };
  return rules;
}

// Even if the clique is used, and without a look at who does.
Rules ReplacingUnderAJob() {
  Rules rules = kRules;
  rules.rollout = [](const Observed& observed, const auto&... rest) {
    Observed reckless = observed;
    reckless.facts.settings.Edit().rollout.policy = compute_domain::RolloutPolicy::kAlways;
    return kRules.rollout(reckless, rest...);
  };
  return rules;
}

// ---- labels

Rules LeavingLabels() {
  Rules rules = kRules;
  rules.labels = [](const Observed&, const compute_domain::Instant&) {
    return compute_domain::NodeLabels();
  };
  return rules;
}

// The plugin is given no time.
Rules TakingLabelsAtOnce() {
  Rules rules = kRules;
  rules.labels = [](const Observed& observed, const compute_domain::Instant& now) {
    Observed hasty = observed;
    hasty.facts.settings.Edit().label_hold = std::chrono::seconds(0);
    return kRules.labels(hasty, now);
  };
  return rules;
}

// Writes the label of a node that has it, and does so again at once; for half a minute, as that is
// enough to see.
Rules WritingLabelsAllTheTime() {
  Rules rules = kRules;
  rules.labels = [](const Observed& observed, const compute_domain::Instant& now) {
    compute_domain::NodeLabels labels = kRules.labels(observed, now);
    const auto created = base::ParseTime(observed.domain->meta.creation_timestamp);
    if (!created || now.wall > *created + std::chrono::seconds(30)) return labels;
    for (const api::Node& node : observed.children.labelled_nodes) {
      labels.actions.push_back(
          compute_domain::RestoreNodeLabel{.node = node.meta.key.name, .domain_uid = observed.uid});
    }
    labels.requeue_after.AtMost(std::chrono::milliseconds(10));
    return labels;
  };
  rules.due_at = [](const compute_domain::Retry&, const Action&) {
    return base::Clock::TimePoint::min();
  };
  return rules;
}

// A claim that the cache does not show does not exist (against R2), and is not read again.
Rules TrustingTheCacheForClaims() {
  Rules rules = kRules;
  rules.labels = [](const Observed& observed, const compute_domain::Instant& now) {
    Observed blind = observed;
    blind.evidence.claims = observed.children.claims;
    blind.memory.labels_removed.clear();
    return kRules.labels(blind, now);
  };
  return rules;
}

// Deletes the daemons of a domain that is being deleted although jobs use it.
Rules TearingDownUnderAJob() {
  Rules rules = kRules;
  rules.membership = [](const Observed& observed, const auto&... rest) {
    Membership membership = kRules.membership(observed, rest...);
    if (!observed.domain || !observed.domain->meta.deleting) return membership;
    std::ranges::move(kRules.tear_down(observed, observed.children),
                      std::back_inserter(membership.actions));
    return membership;
  };
  return rules;
}

// ---- consumers

// A node that the cache has shown as lost for long has ended (against R2).
Rules TrustingTheCacheForNodes() {
  Rules rules = kRules;
  rules.consumers = [](const Observed& observed) {
    Observed blind = observed;
    for (const std::string& node : observed.memory.lost_for_long) {
      blind.evidence.nodes.insert_or_assign(node, compute_domain::NodeSeen::kNotReady);
    }
    return kRules.consumers(blind);
  };
  return rules;
}

// ---- prove

// An owner that the cache does not show does not exist (against R2).
Rules TrustingTheCacheForOwners() {
  Rules rules = kRules;
  rules.prove = [](const Observed& observed) {
    return observed.domain ? kRules.prove(observed) : Actions();
  };
  return rules;
}

// ---- tear_down

// One role is forgotten when all is taken down (against R1).
Rules ForgettingTheDaemonTemplate() {
  Rules rules = kRules;
  rules.tear_down = [](const Observed& observed, const compute_domain::Children& children) {
    Actions actions = kRules.tear_down(observed, children);
    std::erase_if(actions, [](const Action& action) {
      const auto* remove = std::get_if<compute_domain::Delete>(&action);
      return remove != nullptr && remove->kind == compute_domain::Kind::kClaimTemplate;
    });
    return actions;
  };
  return rules;
}

// Whatever has the label, wherever and of whomever it is (against R4).
Rules TearingDownByLabel() {
  Rules rules = kRules;
  rules.tear_down = [](const Observed& observed, const compute_domain::Children& children) {
    Actions actions = kRules.tear_down(observed, children);
    for (const api::ResourceClaimTemplate& found : children.templates) {
      actions.emplace_back(compute_domain::Delete{.kind = compute_domain::Kind::kClaimTemplate,
                                                  .key = found.meta.key,
                                                  .uid = found.meta.uid});
    }
    return actions;
  };
  return rules;
}

// ---- may_release

// A deletion that was asked for is taken to have happened (against R5).
Rules ReleasingWithoutALook() {
  Rules rules = kRules;
  rules.may_release = [](const Observed&) { return true; };
  return rules;
}

// ---- at every moment

// What was refused takes readiness away.
Rules CountingFailuresAsNotReady() {
  Rules rules = kRules;
  rules.membership = [](const Observed& observed, const auto&... rest) {
    Membership membership = kRules.membership(observed, rest...);
    const bool has_failed = std::ranges::any_of(
        observed.memory.retries, [](const auto& one) { return one.second.failure != nullptr; });
    for (api::Member& member : membership.members) member.ready = member.ready && !has_failed;
    return membership;
  };
  return rules;
}

// Nodes that were never read are lost.
Rules TakingUnknownNodesForLost() {
  Rules rules = kRules;
  rules.membership = [](const Observed& observed, const auto&... rest) {
    Observed believed = observed;
    believed.facts.views.freshness[compute_domain::Kind::kNode] = compute_domain::Freshness::kFresh;
    return kRules.membership(believed, rest...);
  };
  return rules;
}

// Serves nobody while Nodes cannot be read, which nothing of a new domain needs.
Rules WaitingForAllKinds() {
  static constexpr auto kKnowsNodes = [](const Observed& observed) {
    return !observed.facts.views.IsUnknown(compute_domain::Kind::kNode);
  };
  Rules rules = kRules;
  rules.admit = [](const Observed& observed) {
    return kKnowsNodes(observed) ? kRules.admit(observed) : std::nullopt;
  };
  rules.provision = [](const Observed& observed) {
    return kKnowsNodes(observed) ? kRules.provision(observed) : std::vector<Action>();
  };
  return rules;
}

// Frees the nodes of a domain that is being deleted although jobs are on them.
Rules FreeingNodesUnderAJob() {
  Rules rules = kRules;
  rules.membership = [](const Observed& observed, const auto&... rest) {
    Membership membership = kRules.membership(observed, rest...);
    if (!observed.domain || !observed.domain->meta.deleting) return membership;
    for (const api::Node& node : observed.children.labelled_nodes) {
      membership.actions.emplace_back(
          compute_domain::RemoveNodeLabel{.node = node.meta.key.name, .domain_uid = observed.uid});
    }
    return membership;
  };
  return rules;
}

// The rule of members sees what `change` makes of the snapshot.
template <typename Change>
Rules WithMembersSeen(Change /*change*/) {
  Rules rules = kRules;
  rules.membership = [](const Observed& observed, const compute_domain::Instant& now) {
    Observed seen = observed;
    Change()(seen);
    return kRules.membership(seen, now);
  };
  return rules;
}

// Only pods that a DaemonSet owns run a daemon.
Rules SeeingOwnedDaemonsOnly() {
  return WithMembersSeen([](Observed& seen) {
    if (seen.evidence.daemon_pods) {
      std::erase_if(*seen.evidence.daemon_pods, std::not_fn(compute_domain::IsDaemonPod));
    }
  });
}

// A member stays in status until its daemon has ended.
Rules KeepingUnusedMembers() {
  return WithMembersSeen([](Observed& seen) {
    for (const api::Clique& clique : seen.children.cliques) {
      for (const api::Member& entry : clique.daemons) {
        seen.children.claims.push_back({.meta = {.key = {.ns = seen.domain->meta.key.ns}},
                                        .channel_domain = seen.uid,
                                        .node = entry.node});
      }
    }
  });
}

// A member leaves status once the cache shows no claim.
Rules BelievingClaimsOfTheCache() {
  return WithMembersSeen([](Observed& seen) { seen.evidence.claims = seen.children.claims; });
}

// Believes that no daemon runs when it renders the DaemonSet.
Rules ChangingNamesUnderAJob() {
  Rules rules = kRules;
  rules.provision = [](const Observed& observed) {
    Observed idle = observed;
    idle.children.daemon_pods.clear();
    idle.children.claims.clear();
    idle.evidence.daemon_pods.emplace();
    idle.evidence.claims.emplace();
    return kRules.provision(idle);
  };
  return rules;
}

// What succeeded is repeated as soon as it is undone.
Rules RepeatingAtOnce() {
  Rules rules = kRules;
  rules.due_at = [](const compute_domain::Retry& retry, const Action& action) {
    return retry.HasFailed() ? kRules.due_at(retry, action) : base::Clock::TimePoint::min();
  };
  return rules;
}

// Any page with code 404 says that the object does not exist.
http::Response TrustingAnyNotFound(const http::Request& request, http::Response reply) {
  const Target target = ParseTarget(request.method, request.path);
  if (reply.status != 404 || target.kind == nullptr || target.key.name.empty()) return reply;
  reply.body = json::Serialize(ObjectStore::NotFound(target.kind->kind, target.key.name).status);
  return reply;
}

RunSpec ToldBy(const char* scenario, bool controller_writes, Fault fault, const char* stale = "") {
  return {
      .scenario = scenario, .controller_writes = controller_writes, .fault = fault, .stale = stale};
}

}  // namespace

const std::vector<Mutant>& Mutants() {
  static const std::vector<Mutant> mutants = {
      {"children-without-finalizer", "S8", WithoutFinalizer(),
       ToldBy("create-ready-delete", false, Fault::kNone)},
      {"template-is-forgotten", "L1", ForgettingTheWorkloadTemplate(),
       ToldBy("create-ready-delete", false, Fault::kNone)},
      {"names-are-generated", "S11", WithGeneratedNames(),
       ToldBy("create-ready-delete", false, Fault::kCrashAfter, "daemonsets")},
      {"labels-make-members", "S23", BelievingLabels(),
       ToldBy("liar-on-a-node", true, Fault::kNone)},
      {"members-are-renumbered", "S4", RenumberingMembers(),
       ToldBy("join-leave-rejoin", true, Fault::kNone)},
      {"members-are-counted-together", "S3", CountingMembersTogether(),
       ToldBy("create-ready-delete", true, Fault::kNone)},
      {"every-member-is-called-ready", "S1", CallingEveryMemberReady(),
       ToldBy("create-ready-delete", true, Fault::kNone)},
      {"a-pod-missing-in-the-cache-is-gone", "S5", TrustingTheCacheForPods(),
       ToldBy("create-ready-delete", true, Fault::kCrashAfter, "pods")},
      {"indices-are-not-kept", "S4", KeepingNoIndex(), ToldBy("rejoin-clique", true, Fault::kNone)},
      {"edits-stay", "L1", LeavingEdits(), ToldBy("replace-daemons", false, Fault::kNone)},
      {"daemons-are-put-everywhere", "S2", PuttingDaemonsEverywhere(),
       ToldBy("two-domains-compete", false, Fault::kNone)},
      {"outdated-daemons-stay", "L1", LeavingOutdatedDaemons(),
       ToldBy("replace-daemons", false, Fault::kNone)},
      {"daemons-are-replaced-at-once", "S7", ReplacingAllAtOnce(),
       ToldBy("replace-daemons", false, Fault::kNone)},
      {"daemons-are-replaced-under-a-job", "S20", ReplacingUnderAJob(),
       ToldBy("replace-daemons", false, Fault::kNone)},
      {"labels-stay", "L1", LeavingLabels(), ToldBy("rejoin-clique", false, Fault::kNone)},
      {"labels-go-at-once", "S7", TakingLabelsAtOnce(),
       ToldBy("rejoin-clique", false, Fault::kNone)},
      {"labels-are-written-all-the-time", "Q1", WritingLabelsAllTheTime(),
       ToldBy("create-ready-delete", false, Fault::kNone)},
      {"labels-go-by-the-cache", "S7", TrustingTheCacheForClaims(),
       ToldBy("create-ready-delete", false, Fault::kCrashAfter, "resourceclaims")},
      {"lost-in-the-cache-is-proof", "S22", TrustingTheCacheForNodes(),
       ToldBy("delete-while-node-is-lost", false, Fault::kViewsStall, "nodes")},
      {"absence-in-the-cache-is-proof", "S7", TrustingTheCacheForOwners(),
       ToldBy("create-ready-delete", false, Fault::kCrashAfter, "computedomains")},
      {"tear-down-forgets-a-role", "L2", ForgettingTheDaemonTemplate(),
       ToldBy("create-ready-delete", false, Fault::kNone)},
      {"tear-down-does-not-wait", "S20", TearingDownUnderAJob(),
       ToldBy("delete-while-forming", false, Fault::kNone)},
      {"tear-down-goes-by-the-label", "S6", TearingDownByLabel(),
       ToldBy("template-name-taken", false, Fault::kNone)},
      {"a-failure-takes-readiness", "S21", CountingFailuresAsNotReady(),
       ToldBy("repair-refused", true, Fault::kNone)},
      {"unknown-nodes-are-lost", "S21", TakingUnknownNodesForLost(),
       ToldBy("repair-refused", true, Fault::kKindUnknown, "nodes")},
      {"all-kinds-are-waited-for", "S24", WaitingForAllKinds(),
       ToldBy("create-ready-delete", false, Fault::kKindUnknown, "nodes")},
      {"nodes-are-freed-under-a-job", "S22", FreeingNodesUnderAJob(),
       ToldBy("delete-while-forming", false, Fault::kNone)},
      {"release-without-a-look", "S8", ReleasingWithoutALook(),
       ToldBy("create-ready-delete", false, Fault::kConflict)},
      {"daemons-without-an-owner-are-gone", "S5", SeeingOwnedDaemonsOnly(),
       ToldBy("orphan-daemons", true, Fault::kNone)},
      {"unused-members-stay", "L5", KeepingUnusedMembers(),
       ToldBy("rejoin-clique", true, Fault::kNone)},
      {"claims-of-the-cache-are-believed", "S5", BelievingClaimsOfTheCache(),
       ToldBy("create-ready-delete", true, Fault::kCrashAfter, "resourceclaims")},
      {"names-change-under-a-job", "S25", ChangingNamesUnderAJob(),
       ToldBy("names-of-before", true, Fault::kNone)},
      {"repairs-are-not-paced", "Q3", RepeatingAtOnce(),
       ToldBy("repairs-undone", false, Fault::kNone)},
      {.name = "any-404-is-proof",
       .oracle = "L5",
       .rules = kRules,
       .told_by = ToldBy("create-ready-delete", true, Fault::kForeignNotFound),
       .hears = TrustingAnyNotFound},
      {.name = "silence-is-proof",
       .oracle = "L5",
       .rules = kRules,
       .told_by = ToldBy("create-ready-delete", true, Fault::kWatchesSilent, "pods"),
       .believes_silence = true},
  };
  return mutants;
}

const Mutant* FindMutant(const std::string& name) {
  static const Mutant product = {.rules = kRules};
  if (name.empty()) return &product;
  for (const auto* mutants : {&Mutants(), &DaemonMutants()}) {
    const auto it = std::ranges::find(*mutants, name, &Mutant::name);
    if (it != mutants->end()) return &*it;
  }
  return nullptr;
}

}  // namespace simulation
