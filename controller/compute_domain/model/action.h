// What may be done about a domain, as values. Pure.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "controller/compute_domain/model/concern.h"
#include "controller/compute_domain/model/observed.h"
#include "pkg/json/value.h"

namespace compute_domain {

// The time of a decision: `monotonic` for windows, `wall` for what people and other processes
// wrote.
struct Instant {
  base::Clock::TimePoint monotonic = {};
  base::Clock::WallTime wall = {};
};

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
// Whether these Nodes exist.
struct ReadNodes {
  std::vector<std::string> names = {};
};
struct ReadPodConditions {
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
                 ReadChildren, ReadDaemons, ReadClaims, ReadNodes, ReadPodConditions, ReadTaken>;
using Step = std::vector<Action>;  // Its actions may travel side by side.

[[nodiscard]] Concern ConcernOf(const Action& action);

// "create DaemonSet cdom-system/x": for errors and logs, and it says which action is tried again.
[[nodiscard]] std::string Describe(const Action& action);
[[nodiscard]] bool IsWrite(const Action& action);
// In the version that is preferred.
[[nodiscard]] const kube::Resource& ResourceOf(Kind kind);

// What a successful write leaves for the cache to catch up with.
struct Expectation {
  Kind kind = {};
  kube::ObjectKey key = {};
  std::string resource_version = {};  // The store must be as new as this; or, if empty,
  kube::Uid gone = {};                // this incarnation must be gone or on its way.
};

}  // namespace compute_domain
