// Decides what to do about one domain: one snapshot in, one plan out. Pure: no IO, no clock, no
// state.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "controller/compute_domain/model/observed.h"
#include "pkg/json/value.h"

namespace compute_domain {

// The time of a decision: `monotonic` for windows, `wall` for what people and other processes
// wrote.
struct Instant {
  base::Clock::TimePoint monotonic = {};
  base::Clock::WallTime wall = {};
};

// Makes `at` the sooner of both.
inline void BringForward(std::optional<std::chrono::milliseconds>& at,
                         std::chrono::milliseconds to) {
  at = std::min(to, at.value_or(to));
}

// Actions. Each carries what makes it safe to repeat and harmless when stale.

// Creates `object`. If the name is taken that becomes evidence.
struct Create {
  Kind kind = {};
  kube::ObjectKey key = {};
  json::Value object = {};
};
// Deletes this incarnation only.
struct Delete {
  Kind kind = {};
  kube::ObjectKey key = {};
  kube::Uid uid = {};
};
// Deletes a daemon pod, so that another takes its place; one of few in the cluster at a time.
struct ReplaceDaemon {
  kube::ObjectKey key = {};
  kube::Uid uid = {};
  std::string node = {};
  std::string clique = {};
};
// Makes `finalizers` the object's, if it still has this resourceVersion.
struct WriteFinalizers {
  Kind kind = {};
  kube::ObjectMeta object = {};
  std::vector<std::string> finalizers = {};
};
// Makes `daemons`, `held` and `joining` the clique's, and `owners` if they are not null, if it
// still has this resourceVersion.
struct WriteClique {
  kube::ObjectMeta clique = {};
  std::vector<api::Member> daemons = {};
  std::vector<api::HeldIndex> held = {};
  int joining = 0;
  json::Value owners = {};
};
// Makes `pod_template` the DaemonSet's, whatever somebody made of it, if it still has this
// resourceVersion; `stamp` is its template-hash annotation.
struct WritePodTemplate {
  kube::ObjectMeta daemon_set = {};
  json::Value pod_template = {};
  std::string stamp = {};
};
// Puts `labels` on the object, and `owners` as its only ones if they are not null, if it still has
// this resourceVersion: so that everybody sees again whose it is.
struct WriteIdentity {
  Kind kind = {};
  kube::ObjectMeta object = {};
  json::Value labels = {};
  json::Value owners = {};
};
// Takes the domain label off the node, if it still has this domain's UID as value.
struct RemoveNodeLabel {
  std::string node = {};
  std::string domain = {};
};
// Puts the domain label back on the node, if it has none by now.
struct RestoreNodeLabel {
  std::string node = {};
  std::string domain = {};
};
// Writes the whole status, if the domain still has this resourceVersion.
struct WriteStatus {
  kube::ObjectMeta domain = {};
  api::DomainStatus status = {};
};
// Live reads, whose findings become evidence.
struct ReadOwner {
  std::optional<kube::ObjectKey> key = {};  // Without a name every ComputeDomain is looked at.
};
struct ReadChildren {
  std::string workload_namespace = {};  // Of the domain; empty: not known.
};
struct ReadDaemons {};  // Their pods, and the cliques.
struct ReadClaims {
  std::string ns = {};
};
struct ReadPods {
  std::string ns = {};
  std::vector<std::string> names = {};
};
struct ReadTaken {
  Kind kind = {};
  kube::ObjectKey key = {};
};

using Action =
    std::variant<Create, Delete, ReplaceDaemon, WriteFinalizers, WriteClique, WritePodTemplate,
                 WriteIdentity, RemoveNodeLabel, RestoreNodeLabel, WriteStatus, ReadOwner,
                 ReadChildren, ReadDaemons, ReadClaims, ReadPods, ReadTaken>;
using Step = std::vector<Action>;  // Its actions may travel side by side.

struct Plan {
  // Done in order; a failure ends them, after the rest of its step. What a live read finds, and a
  // create whose name is taken, is a reason to decide again.
  std::vector<Step> steps = {};
  // Written last, whether the steps succeeded or not.
  std::optional<WriteStatus> status = {};
  // What no action of ours removes and no watch shows: try again with back-off.
  std::optional<Failure> obstacle = {};
  // Why no daemon is to be replaced anywhere; empty: nothing that this domain knows of.
  std::string roll_failed = {};
  // Look again then, at the latest; empty: wait for a change.
  std::optional<std::chrono::milliseconds> requeue_after = {};
};

// Who belongs to the domain, and what must be written so that cliques say so.
struct Membership {
  std::vector<api::Member> members = {};  // Sorted by clique, index, node.
  std::vector<Action> actions = {};
  std::vector<std::string> refused = {};  // Nodes without room: "node in clique".
  bool needs_daemons = false;             // A member seems gone: read before it is removed.
  std::optional<std::chrono::milliseconds> look_again = {};  // Then a write is due that waits now.
};

// The replacement of daemon pods.
struct Roll {
  std::vector<Action> actions = {};
  bool needs_daemons = false;  // A pod seems to be due: read before it is deleted.
  // A daemon of the new template that should serve by now; empty: none.
  std::string failed = {};
  std::optional<std::chrono::milliseconds> look_again = {};  // Then one settles, or fails.
};

// Which nodes keep the domain's label, and what must be done about the others.
struct Labels {
  std::vector<Action> actions = {};
  std::optional<std::chrono::milliseconds> look_again = {};  // Then a node may have to lose it.
};

// What is read so that a condition can say why pods wait.
struct Words {
  std::optional<ReadPods> read = {};
  std::optional<std::chrono::milliseconds> look_again = {};
};

// The rules, one for each concern. A table, so that the simulation can put a wrong rule in the
// place of a right one and see an oracle notice.
struct Rules {
  // The finalizer to store before the first child; empty: it is there.
  std::optional<Action> (*admit)(const Observed&) = nullptr;
  // Creates and repairs children.
  std::vector<Action> (*provision)(const Observed&) = nullptr;
  Membership (*membership)(const Observed&, const Instant& now) = nullptr;
  // Replaces daemon pods that were made from another template than the DaemonSet has.
  Roll (*roll)(const Observed&, const Membership&, const Instant& now) = nullptr;
  // Takes the label off nodes that the domain, which lives, uses no more.
  Labels (*labels)(const Observed&, const Instant& now) = nullptr;
  // Whether the cached view suffices to tear down, or which live reads come first.
  std::vector<Action> (*prove)(const Observed&) = nullptr;
  // What removes `children`, whatever else is missing.
  std::vector<Action> (*tear_down)(const Observed&, const Children& children) = nullptr;
  // Whether the domain's finalizer may go.
  bool (*may_release)(const Observed&) = nullptr;
};
extern const Rules kRules;

[[nodiscard]] Plan PlanReconcile(const Observed& observed, const Instant& now,
                                 const Rules& rules = kRules);

// Whether anything is left that only this domain's reconcile removes.
[[nodiscard]] bool HasChildren(const Observed& observed);

}  // namespace compute_domain
