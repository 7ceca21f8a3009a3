#include "controller/compute_domain/rules/children.h"

#include <algorithm>

#include "controller/api/names.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/model/spec.h"
#include "controller/compute_domain/rules/deletion.h"
#include "controller/compute_domain/rules/membership/clique_patch.h"
#include "controller/compute_domain/rules/node_names.h"
#include "controller/compute_domain/rules/rollout.h"
#include "controller/daemon_set/render.h"
#include "controller/resource_claim_template/render.h"
#include "pkg/base/find.h"
#include "pkg/base/fingerprint.h"

namespace compute_domain {

namespace {

// The desired form of one child.
struct Rendered {
  json::Value object = {};
  std::string hash = {};  // Of its pod template or claim spec.
};

// One child that the domain should have, and the object that was found for it.
struct Child {
  ChildRole role = {};
  Kind kind = {};
  kube::ObjectKey key = {};
  Rendered (*render)(const Observed&) = nullptr;
  const kube::ObjectMeta* found = nullptr;  // Any name, preferably not deleting. Null if none.
  // Empty if it must stay as it is: cdom did not create it, or its desired form is unknown.
  std::string found_hash = {};
  bool edited = false;    // Since cdom wrote it.
  std::string hash = {};  // Of what `render` returns. Empty if it must be called.
};

template <typename T>
const T* FindOurs(const std::vector<T>& all, const Observed& observed,
                  bool (*is_ours)(const Observed&, const T&)) {
  const T* found = nullptr;
  for (const T& object : all) {
    if (!is_ours(observed, object)) continue;
    if (found == nullptr || found->meta.deleting) found = &object;
  }
  return found;
}

std::string Stamp(const std::string& hash, std::int64_t generation) {
  return hash + ":" + std::to_string(generation);
}

kube::ObjectKey DaemonKey(const Observed& observed) {
  return {.ns = observed.facts.settings->driver_namespaces.front(),
          .name = api::DaemonName(observed.uid)};
}

Rendered RenderDaemonSet(const Observed& observed) {
  Rendered rendered = {.object = daemon_set::Render(observed.uid, observed.facts.settings->daemons,
                                                    NodeNamesOf(observed))};
  json::Value& pod_template = rendered.object["spec"]["template"];
  rendered.hash = base::Fingerprint(json::Serialize(pod_template));
  // Pods have the annotation, too. It shows which pods are outdated.
  pod_template["metadata"]["annotations"][api::kTemplateHashAnnotation] = rendered.hash;
  rendered.object["metadata"]["annotations"][api::kTemplateHashAnnotation] =
      Stamp(rendered.hash, 1);
  return rendered;
}

// `render` takes the version of resource.k8s.io to render for.
template <typename Render>
Rendered RenderTemplate(const Observed& observed, Render render) {
  // The hash is the same for every served version: a cluster upgrade must not replace the template.
  const std::string& stable = kube::kResourceClaimTemplates.version;
  Rendered rendered = {.object = render(stable)};
  // Leaves out the labels of claims: a template without them works, and is not created again.
  rendered.hash = base::Fingerprint(
      json::Serialize(json::Value::Object({{"spec", rendered.object["spec"]["spec"]}})));
  const std::string& served = observed.facts.views.template_version;
  if (served != stable) rendered.object = render(served);
  rendered.object["metadata"]["annotations"][api::kTemplateHashAnnotation] = rendered.hash;
  return rendered;
}

Rendered RenderDaemonTemplate(const Observed& observed) {
  return RenderTemplate(observed, [&](const std::string& version) {
    return resource_claim_template::RenderDaemon(observed.uid, DaemonKey(observed).ns, version);
  });
}

Rendered RenderWorkloadTemplate(const Observed& observed) {
  api::ComputeDomain domain = *observed.domain;
  // A plugin that finds IMEX on its host supports only this mode.
  if (observed.facts.settings->imex_on_hosts) domain.allocation_mode = "Single";
  return RenderTemplate(observed, [&](const std::string& version) {
    return resource_claim_template::RenderWorkload(domain, FindGpus(observed).gpus, version);
  });
}

Child FindDaemonSet(const Observed& observed) {
  Child child = {.role = ChildRole::kDaemonSet,
                 .kind = Kind::kDaemonSet,
                 .key = DaemonKey(observed),
                 .render = RenderDaemonSet,
                 .hash = RenderedDaemonSet(observed)};
  const api::DaemonSet* found = FindOurs(observed.children.daemon_sets, observed, IsDaemonSet);
  if (found == nullptr) return child;
  child.found = &found->meta;
  child.found_hash = found->template_hash;
  child.edited = found->meta.generation != found->template_generation;
  return child;
}

Child FindTemplate(const Observed& observed, ChildRole role, kube::ObjectKey key,
                   Rendered (*render)(const Observed&),
                   bool (*is_ours)(const Observed&, const api::ResourceClaimTemplate&)) {
  Child child = {
      .role = role, .kind = Kind::kClaimTemplate, .key = std::move(key), .render = render};
  const api::ResourceClaimTemplate* found =
      FindOurs(observed.children.templates, observed, is_ours);
  if (found == nullptr) return child;
  child.found = &found->meta;
  child.found_hash = found->template_hash;
  return child;
}

Child FindWorkloadTemplate(const Observed& observed) {
  const api::ComputeDomain& domain = *observed.domain;
  Child child = FindTemplate(observed, ChildRole::kWorkloadTemplate,
                             {.ns = domain.meta.key.ns, .name = domain.template_name},
                             RenderWorkloadTemplate, IsWorkloadTemplate);
  const GpuRequest wish = FindGpus(observed);
  // An invalid annotation must not remove GPUs from new pods.
  if (!wish.is_clear) child.found_hash.clear();
  // The reference's template has no GPUs, so a user who requests GPUs needs another one.
  if (wish.gpus && child.found_hash.empty()) child.found_hash = "of others";
  return child;
}

std::vector<Child> ChildrenOf(const Observed& observed) {
  Child workload = FindWorkloadTemplate(observed);
  if (observed.facts.settings->imex_on_hosts) return {std::move(workload)};
  Child daemons = FindTemplate(observed, ChildRole::kDaemonTemplate, DaemonKey(observed),
                               RenderDaemonTemplate, IsDaemonTemplate);
  daemons.hash = observed.memory.rendered.daemon_template;
  return {std::move(daemons), FindDaemonSet(observed), std::move(workload)};
}

bool IsRead(const NameCheck& name) {
  return name.is == NameCheck::Is::kFree || name.is == NameCheck::Is::kFound;
}

// Releases a child that a user deleted and that the reference's finalizer keeps, so that it can be
// created again. R5 (release only after a live read).
std::optional<Action> PlanRelease(const Observed& observed, Kind kind,
                                  const kube::ObjectMeta& found) {
  if (!HoldsFinalizer(found)) return {};
  // A DaemonSet is deleted with its daemons, which ends the job of their peers. So it stays during
  // a job, as it did under the reference.
  const bool ends_daemons =
      !MayRestartUnderJob(observed) &&
      std::ranges::any_of(observed.children.daemon_pods,
                          [&](const api::DaemonPod& pod) { return IsMadeBy(pod, found.uid); });
  if (ends_daemons && IsClaimed(observed, observed.children.claims)) return {};
  const NameCheck& name = observed.evidence.NameOf(kind, found.key);
  if (!IsRead(name)) return ReadTaken{.kind = kind, .key = found.key};
  if (ends_daemons && !observed.evidence.claims) {
    return ReadClaims{.ns = observed.domain->meta.key.ns};
  }
  if (ends_daemons && IsClaimed(observed, *observed.evidence.claims)) return {};
  if (name.is == NameCheck::Is::kFree) return {};
  const kube::ObjectMeta& live = name.holder.meta;
  if (live.uid != found.uid || !HoldsFinalizer(live)) return {};
  return Release(kind, live);
}

// Returns whether the child is known to be correct without rendering it.
bool IsAsRendered(const Child& child) {
  return !child.hash.empty() && child.found_hash == child.hash && !child.edited;
}

// Repairs a child that differs from its desired form. A claim template cannot be changed: it is
// deleted, and created again once the deletion is complete.
std::optional<Action> PlanRepair(const Observed& observed, const Child& child) {
  Rendered wanted = child.render(observed);
  const json::Value& owners = wanted.object["metadata"]["ownerReferences"];
  if (!owners.IsNull() && child.found->owners.empty()) {
    // The reference's workload templates have no owner. R6 (the domain owns its workload template).
    return WriteIdentity{.kind = child.kind,
                         .object = *child.found,
                         .labels = wanted.object["metadata"]["labels"],
                         .owners = owners};
  }
  if (child.found_hash.empty()) return {};
  const bool is_as_wanted = child.found_hash == wanted.hash && !child.edited;
  if (is_as_wanted) return {};
  if (child.kind != Kind::kDaemonSet) {
    return Delete{.kind = child.kind, .key = child.found->key, .uid = child.found->uid};
  }
  if (auto read = ReadBeforeNamesChange(observed)) return read;
  json::Value pod_template = std::move(wanted.object["spec"]["template"]);
  pod_template["metadata"]["annotations"][api::kRepairedAnnotation] =
      std::to_string(child.found->generation);
  return WritePodTemplate{.daemon_set = *child.found,
                          .pod_template = std::move(pod_template),
                          .stamp = Stamp(wanted.hash, child.found->generation + 1)};
}

// Returns whether an object with a child's name is that child. R4 (a label is never proof).
bool IsChild(const Observed& observed, Kind kind, const NameHolder& found) {
  if (kind == Kind::kDaemonSet) {
    return IsDaemonSet(observed, {.meta = found.meta, .domain = found.domain});
  }
  const api::ResourceClaimTemplate decoded = {
      .meta = found.meta, .domain = found.domain, .target = found.target};
  return IsDaemonTemplate(observed, decoded) || IsWorkloadTemplate(observed, decoded);
}

// Returns whether the object is that child except for labels that a user removed. Its owner, or an
// annotation of cdom, shows that.
bool HasLostLabels(const Observed& observed, Kind kind, const NameHolder& found) {
  NameHolder whole = found;
  if (whole.domain.empty()) whole.domain = observed.uid;
  if (whole.target.empty()) {
    const bool is_daemons = found.meta.key.name == api::DaemonName(observed.uid);
    whole.target = is_daemons ? api::kTargetDaemon : api::kTargetWorkload;
  }
  const kube::OwnerReference* owner = found.meta.ControllerOwner();
  const bool is_made_by_us =
      owner == nullptr ? !found.template_hash.empty() : owner->uid == observed.uid;
  return is_made_by_us && !found.meta.deleting && !IsChild(observed, kind, found) &&
         IsChild(observed, kind, whole);
}

std::optional<Action> PlanCreation(const Observed& observed, const Child& child) {
  // R2 (a cache is never evidence). A stale cache may show a deleted domain. cdom would create its
  // children, and the garbage collector or another leader would delete them, again and again.
  if (observed.memory.children_seen.contains(child.role)) {
    const kube::ObjectMeta* owner = observed.evidence.LiveOwner();
    if (owner == nullptr || owner->deleting) return {};
  }
  const NameCheck& name = observed.evidence.NameOf(child.kind, child.key);
  if (name.is == NameCheck::Is::kNotAsked || name.is == NameCheck::Is::kFree) {
    return Create{.kind = child.kind, .key = child.key, .object = child.render(observed).object};
  }
  if (name.is == NameCheck::Is::kTaken) return ReadTaken{.kind = child.kind, .key = child.key};
  if (HasLostLabels(observed, child.kind, name.holder)) {
    return WriteIdentity{.kind = child.kind,
                         .object = name.holder.meta,
                         .labels = child.render(observed).object["metadata"]["labels"]};
  }
  return {};  // The cache lags behind cdom's child, or FindTakenName() names the holder.
}

// Returns whether a daemon of the DaemonSet serves, or has started to.
bool MayServe(const api::DaemonSet& set, const std::vector<api::DaemonPod>& pods) {
  return std::ranges::any_of(pods, [&](const api::DaemonPod& pod) {
    return IsMadeBy(pod, set.meta.uid) && !pod.terminal && (pod.ready || pod.clique);
  });
}

bool OwnsAClique(const api::DaemonSet& set, const std::vector<api::Clique>& cliques) {
  return std::ranges::any_of(cliques, [&](const api::Clique& clique) {
    return base::Contains(clique.meta.owners, set.meta.uid, &kube::OwnerReference::uid);
  });
}

// Deletes a second DaemonSet with another name, which two controllers at once may have left (B28).
// Daemons of the two keep each other off the nodes. Live reads must show that the DaemonSet with
// cdom's name exists, and that no daemon of the second one serves.
std::optional<Action> PlanDuplicate(const Observed& observed, const api::DaemonSet& set) {
  const kube::ObjectKey ours = DaemonKey(observed);
  const bool is_duplicate = IsDaemonSet(observed, set) && set.meta.key.name != ours.name;
  if (!is_duplicate) return {};
  if (set.meta.deleting) return PlanRelease(observed, Kind::kDaemonSet, set.meta);
  const auto is_kept = [&](const kube::ObjectMeta& meta) {
    return meta.key == ours && !meta.deleting;
  };
  const bool has_ours = std::ranges::any_of(observed.children.daemon_sets, is_kept,
                                            [](const auto& other) { return other.meta; });
  const bool is_needed =
      MayServe(set, observed.children.daemon_pods) || OwnsAClique(set, observed.children.cliques);
  if (!has_ours || is_needed) return {};
  const NameCheck& name = observed.evidence.NameOf(Kind::kDaemonSet, ours);
  if (!IsRead(name)) return ReadTaken{.kind = Kind::kDaemonSet, .key = ours};
  if (name.is == NameCheck::Is::kFree || !is_kept(name.holder.meta)) return {};
  if (!observed.evidence.daemon_pods) return ReadDaemons{};
  if (MayServe(set, *observed.evidence.daemon_pods)) return {};
  return Delete{.kind = Kind::kDaemonSet, .key = set.meta.key, .uid = set.meta.uid};
}

std::string NameOf(Kind kind, const kube::ObjectKey& key) {
  return ResourceOf(kind).kind + " " + kube::ToString(key);
}

// Describes the object that holds a child's name, and what to do about it.
std::string DescribeHolder(const Observed& observed, Kind kind, const kube::ObjectKey& key,
                           const NameHolder& found) {
  constexpr std::string_view kTemplateName =
      "this domain again with another spec.channel.resourceClaimTemplate.name.";
  // The names of the other children are made from the UID.
  const bool is_chosen = key.name != api::DaemonName(observed.uid);
  const std::string or_rename = is_chosen ? ", or create " + std::string(kTemplateName) : ".";
  const std::string name = NameOf(kind, key);
  if (found.domain.empty()) {
    return name + " exists and does not belong to a ComputeDomain. Delete it" + or_rename;
  }
  if (found.domain == observed.uid) {
    return name +
           " exists and carries this domain's label, but belongs to another object. Delete it" +
           or_rename;
  }
  const kube::OwnerReference* owner = found.meta.ControllerOwner();
  const bool is_named = is_chosen && owner != nullptr && owner->kind == api::kComputeDomains.kind &&
                        owner->uid == found.domain;
  if (is_named) {
    return name + " belongs to ComputeDomain " + owner->name + ". Create " +
           std::string(kTemplateName);
  }
  return name + " exists and belongs to the ComputeDomain with UID " + found.domain +
         ". Delete it if that domain does not exist" + or_rename;
}

}  // namespace

std::vector<Action> PlanChildren(const Observed& observed) {
  std::vector<Action> actions;
  const std::vector<Child> children = ChildrenOf(observed);
  const bool any_has_gone = std::ranges::any_of(children, [&](const Child& child) {
    return child.found == nullptr && observed.memory.children_seen.contains(child.role);
  });
  if (any_has_gone && !observed.evidence.owner) {
    actions.emplace_back(ReadOwner{.key = observed.domain->meta.key});
  }
  for (const Child& child : children) {
    std::optional<Action> action;
    if (child.found == nullptr) {
      action = PlanCreation(observed, child);
    } else if (child.found->deleting) {
      // Its name is taken until the deletion is complete. Then the child is created again.
      action = PlanRelease(observed, child.kind, *child.found);
    } else if (!IsAsRendered(child)) {
      action = PlanRepair(observed, child);
    }
    if (action) actions.push_back(*std::move(action));
  }
  for (const api::DaemonSet& set : observed.children.daemon_sets) {
    if (auto action = PlanDuplicate(observed, set)) actions.push_back(*std::move(action));
  }
  for (const api::Clique& clique : observed.children.cliques) {
    const bool lost_label = !clique.is_labelled && IsClique(observed, clique) && !clique.id.empty();
    if (lost_label && !clique.meta.deleting) {
      actions.emplace_back(WriteIdentity{.kind = Kind::kClique,
                                         .object = clique.meta,
                                         .labels = CliqueLabels(observed.uid, clique.id)});
    }
  }
  return actions;
}

RenderedHashes HashChildren(const Observed& observed) {
  return {.daemon_set = RenderDaemonSet(observed).hash,
          .names = NodeNamesOf(observed),
          .daemon_template = RenderDaemonTemplate(observed).hash};
}

std::set<ChildRole> FindRoles(const Observed& observed) {
  std::set<ChildRole> roles;
  for (const Child& child : ChildrenOf(observed)) {
    if (child.found != nullptr) roles.insert(child.role);
  }
  return roles;
}

std::optional<ChildRole> RoleOf(const Observed& observed, const Create& create) {
  for (const Child& child : ChildrenOf(observed)) {
    if (child.kind == create.kind && child.key == create.key) return child.role;
  }
  return {};
}

ChildrenState FindChildren(const Observed& observed) {
  ChildrenState state;
  for (const Child& child : ChildrenOf(observed)) {
    const std::string name = NameOf(child.kind, child.key);
    if (child.found != nullptr) {
      if (child.found->deleting) state.terminating.push_back(name + PinnedBy(*child.found));
      continue;
    }
    const NameCheck& read = observed.evidence.NameOf(child.kind, child.key);
    const bool is_there =
        read.is == NameCheck::Is::kFound && IsChild(observed, child.kind, read.holder);
    if (!is_there) state.missing.push_back(name);
  }
  return state;
}

std::vector<std::string> FindOfOtherMode(const Observed& observed) {
  std::vector<std::string> names;
  if (!observed.domain || observed.domain->meta.deleting) return names;
  if (!observed.facts.settings->imex_on_hosts) {
    const bool was_on_hosts =
        observed.domain->status.Says(api::kConditionMembersReady, api::kReasonHostManaged);
    if (was_on_hosts) names.push_back("ComputeDomain " + kube::ToString(observed.domain->meta.key));
    return names;
  }
  for (const api::DaemonSet& set : observed.children.daemon_sets) {
    if (IsDaemonSet(observed, set)) names.push_back(NameOf(Kind::kDaemonSet, set.meta.key));
  }
  for (const api::ResourceClaimTemplate& found : observed.children.templates) {
    if (IsDaemonTemplate(observed, found)) {
      names.push_back(NameOf(Kind::kClaimTemplate, found.meta.key));
    }
  }
  return names;
}

std::optional<NameTaken> FindTakenName(const Observed& observed) {
  for (const auto& [name, read] : observed.evidence.names) {
    const auto& [kind, key] = name;
    if (kind == Kind::kClique || read.is != NameCheck::Is::kFound) continue;
    const NameHolder& found = read.holder;
    if (IsChild(observed, kind, found) || HasLostLabels(observed, kind, found)) continue;
    return NameTaken{.kind = kind,
                     .key = key,
                     .holder = found,
                     .failure = {.reason = std::string(api::kReasonTemplateNameTaken),
                                 .message = DescribeHolder(observed, kind, key, found)}};
  }
  return {};
}

}  // namespace compute_domain
