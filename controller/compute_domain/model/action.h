// Actions on one domain, as values. Pure.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "controller/compute_domain/model/observed.h"
#include "pkg/json/value.h"

namespace compute_domain {

// The time of a decision. `monotonic` measures durations; `wall` compares with times that people
// and other processes wrote.
struct Instant {
  base::Clock::TimePoint monotonic = {};
  base::Clock::WallTime wall = {};
};

// Actions. Each carries what makes it safe to repeat, and harmless if it is stale.

// Creates `object`. If the name is taken, this becomes evidence.
struct Create {
  Kind kind = {};
  kube::ObjectKey key = {};
  json::Value object = {};
};
// Deletes the object only if it has this UID.
struct Delete {
  Kind kind = {};
  kube::ObjectKey key = {};
  kube::Uid uid = {};
};
// Deletes a daemon pod so that the DaemonSet replaces it. Only a few replacements run in the
// cluster at a time.
struct ReplaceDaemon {
  kube::ObjectKey key = {};
  kube::Uid uid = {};
  std::string node = {};
  std::string clique = {};
};
// Sets the object's finalizers, if it still has this resourceVersion.
struct WriteFinalizers {
  Kind kind = {};
  kube::ObjectMeta object = {};
  std::vector<std::string> finalizers = {};
};
// Sets the entries and annotations of the clique, if it still has this resourceVersion. Sets its
// owner references if `owners` is not null.
struct WriteClique {
  api::Clique clique = {};
  json::Value owners = {};
};
// Replaces the DaemonSet's pod template, including any edits, if it still has this resourceVersion.
// `stamp` is its template-hash annotation.
struct WritePodTemplate {
  kube::ObjectMeta daemon_set = {};
  json::Value pod_template = {};
  std::string stamp = {};
};
// Sets `labels`, if the object still has this resourceVersion. Replaces all owner references with
// `owners` if that is not null. This shows again which domain the object belongs to.
struct WriteIdentity {
  Kind kind = {};
  kube::ObjectMeta object = {};
  json::Value labels = {};
  json::Value owners = {};
};
// Removes the node's domain label, if its value is still this domain's UID, and the node still has
// this resourceVersion.
struct RemoveNodeLabel {
  std::string node = {};
  kube::Uid domain_uid = {};
  std::string version = {};  // Empty if any will do: a domain that ends has no use for the label.
};
// Sets the node's domain label again, if it still has none.
struct RestoreNodeLabel {
  std::string node = {};
  kube::Uid domain_uid = {};
};
// Writes the whole status, if the domain still has this resourceVersion.
struct WriteStatus {
  kube::ObjectMeta object = {};
  api::DomainStatus status = {};
};
// Live reads. Their results become evidence.
struct ReadOwner {
  std::optional<kube::ObjectKey> key = {};  // If empty, all ComputeDomains are searched.
};
struct ReadChildren {
  std::string workload_namespace = {};  // Namespace of the domain. Empty if it is not known.
};
struct ReadDaemons {};  // Reads daemon pods and cliques.
struct ReadClaims {
  std::string ns = {};
};
// Reads whether these Nodes exist and are ready. One request for each; at most the domain's nodes
// that count as lost.
struct ReadNodes {
  std::vector<std::string> names = {};
};
struct ReadPodConditions {
  std::string ns = {};
  std::vector<std::string> names = {};
};
// A pod that uses a claim.
struct Use {
  std::string pod = {};
  std::string claim = {};  // Name of the claim.
  std::string key = {};    // KeyOfUse() of both.
};
// Reads whether containers of these pods list their claim. One request for each.
struct ReadUses {
  std::string ns = {};
  std::vector<Use> uses = {};
};
// Reads why the DaemonSet's pods are not created. Only its Events say that.
struct ReadDaemonSetEvents {
  kube::ObjectKey daemon_set = {};
  kube::Uid uid = {};
};
struct ReadTaken {
  Kind kind = {};
  kube::ObjectKey key = {};
};

using Action = std::variant<Create, Delete, ReplaceDaemon, WriteFinalizers, WriteClique,
                            WritePodTemplate, WriteIdentity, RemoveNodeLabel, RestoreNodeLabel,
                            WriteStatus, ReadOwner, ReadChildren, ReadDaemons, ReadClaims,
                            ReadNodes, ReadPodConditions, ReadUses, ReadDaemonSetEvents, ReadTaken>;
using Step = std::vector<Action>;  // Its actions may be sent in parallel.

Concern ConcernOf(const Action& action);

// Returns a description such as "create DaemonSet cdom-system/x", for errors and logs.
std::string Describe(const Action& action);
ActionId IdOf(const Action& action);
// Returns whether the action has failed since it last succeeded.
bool HasFailed(const Memory& memory, const Action& action);
bool IsWrite(const Action& action);
// Returns a hash of what the action writes, without versions and times, to notice that the same is
// to be written again. The same for all actions that write no content, such as Delete.
std::size_t ContentOf(const Action& action);
// Returns the resourceVersion that the object must have. Empty if any will do.
std::string VersionOf(const Action& action);
// Returns when the action may start, after it failed or succeeded as `retry` says. The earliest
// time if its content was not written lately.
base::Clock::TimePoint DueAt(const Retry& retry, const Action& action);
// Returns the resource in the preferred version.
const kube::Resource& ResourceOf(Kind kind);

// State that the cache must reach after a successful write.
struct Expectation {
  Kind kind = {};
  kube::ObjectKey key = {};
  std::string resource_version = {};  // Minimum version of the store. Empty if `gone` is set.
  kube::Uid gone = {};                // UID of an object that must be deleted or terminating.
};

}  // namespace compute_domain
