#include "controller/compute_domain/rules/membership/clique_patch.h"

#include <algorithm>

#include "controller/api/names.h"
#include "controller/compute_domain/rules/membership/clique_batching.h"
#include "pkg/base/find.h"

namespace compute_domain {

using api::Member;

namespace {

json::Value RenderOwners(const std::vector<kube::OwnerReference>& owners) {
  return json::Value::ArrayOf(owners, [](const kube::OwnerReference& owner) {
    return json::Value::Object({{"apiVersion", owner.api_version},
                                {"kind", owner.kind},
                                {"name", owner.name},
                                {"uid", owner.uid}});
  });
}

json::Value RenderClique(const kube::ObjectKey& key, const Observed& observed,
                         const std::string& id, const std::vector<Member>& daemons, int joining,
                         const kube::OwnerReference& owner) {
  using json::Value;
  Value annotations = Value::Object({{api::kJoiningAnnotation, std::to_string(joining)}});
  return Value::Object({{"apiVersion", api::kComputeDomainCliques.ApiVersion()},
                        {"kind", api::kComputeDomainCliques.kind},
                        {"metadata", Value::Object({{"name", key.name},
                                                    {"namespace", key.ns},
                                                    {"labels", CliqueLabels(observed.uid, id)},
                                                    {"annotations", std::move(annotations)},
                                                    {"ownerReferences", RenderOwners({owner})}})},
                        {"daemons", api::EncodeDaemons(daemons)}});
}

// Returns the owner of a clique that the controller writes: the DaemonSet of its pods. Of several
// in the namespace, prefers the one that stays (B28, two controllers at once). The garbage
// collector treats an owner in another namespace as deleted. Empty if DaemonSets cannot be read.
std::optional<kube::OwnerReference> OwnerOf(const Observed& observed, const CliquePlace& place) {
  const std::string ours = api::DaemonName(observed.uid);
  const kube::ObjectMeta* owner = nullptr;
  for (const api::DaemonSet& set : observed.children.daemon_sets) {
    if (set.meta.key.ns != place.ns) continue;
    const bool stays = set.meta.key.name == ours && !set.meta.deleting;
    if (owner == nullptr || stays) owner = &set.meta;
  }
  if (owner == nullptr) return {};
  return kube::OwnerReference{.api_version = kube::kDaemonSets.ApiVersion(),
                              .kind = kube::kDaemonSets.kind,
                              .name = owner->key.name,
                              .uid = owner->uid};
}

kube::ObjectKey KeyOf(const Observed& observed, const CliquePlace& place) {
  return {.ns = place.ns, .name = api::CliqueName(observed.uid, place.id)};
}

// Returns the new owners of a clique that daemons created, once the controller writes an entry.
// Adds the DaemonSet, or the clique would be deleted with the last pod (B58). Null if none is
// added.
json::Value OwnersOf(const MembershipIndex& index, const CliquePlace& place,
                     const api::Clique& clique, const api::Clique& next) {
  const bool any_ours = std::ranges::any_of(next.daemons, [&](const Member& member) {
    const api::DaemonPod* const pod = base::FindOr(index.pods, member.node, nullptr);
    return pod != nullptr && pod->controller_writes && MayBeIn(*pod, place);
  });
  if (!any_ours) return {};
  if (!clique.meta.is_whole) return {};  // Would drop owners that are not cached.
  std::vector<kube::OwnerReference> owners = clique.meta.owners;
  const std::optional<kube::OwnerReference> ours = OwnerOf(index.observed, place);
  if (!ours || base::Contains(owners, ours->uid, &kube::OwnerReference::uid)) return {};
  owners.push_back(*ours);
  return RenderOwners(owners);
}

}  // namespace

json::Value CliqueLabels(const kube::Uid& domain_uid, const std::string& clique) {
  return json::Value::Object(
      {{std::string(api::kDomainLabel), domain_uid}, {std::string(api::kCliqueLabel), clique}});
}

bool IsWritten(const Observed& observed, const CliquePlace& place, const api::Clique* clique,
               const Member& member) {
  if (clique == nullptr) {
    const NameCheck& name = observed.evidence.NameOf(Kind::kClique, KeyOf(observed, place));
    return name.is == NameCheck::Is::kFound;  // This pass created it.
  }
  return std::ranges::any_of(clique->daemons, [&](const Member& entry) {
    return entry.node == member.node && entry.index == member.index;
  });
}

std::optional<Action> WriteOf(const MembershipIndex& index, const CliquePlace& place,
                              const api::Clique* clique, const api::Clique& next,
                              Membership& membership) {
  if (clique != nullptr) {
    // A reserved index that has expired is no reason to write. Nor is a reboot that has ended.
    const bool is_same =
        clique->daemons == next.daemons && std::ranges::includes(clique->rebooted, next.rebooted);
    if (clique->meta.deleting || is_same) return {};
    WriteClique write = {.clique = next, .owners = OwnersOf(index, place, *clique, next)};
    write.clique.joining = CountJoining(index, place, next.daemons);
    return write;
  }
  if (next.daemons.empty()) return {};
  const Observed& observed = index.observed;
  // R2 (a cache is never evidence). Daemons may run with the indices of an earlier clique, which
  // only the domain's status has. So status must be current.
  const kube::ObjectMeta& domain = observed.domain->meta;
  if (!observed.evidence.owner) {
    membership.needs_owner = true;
    return {};
  }
  const kube::ObjectMeta* live = observed.evidence.LiveOwner();
  if (live == nullptr || live->resource_version != domain.resource_version) return {};
  const std::optional<kube::OwnerReference> owner = OwnerOf(observed, place);
  if (!owner) return {};
  const kube::ObjectKey key = KeyOf(observed, place);
  // The name is taken: the clique exists, and the cache will show it.
  if (observed.evidence.NameOf(Kind::kClique, key).is != NameCheck::Is::kNotAsked) return {};
  if (observed.memory.clique_batching.contains(key.name)) {
    // cdom created the clique a moment ago, and it is deleted. If a stale cache shows a deleted
    // DaemonSet, the garbage collector deletes every clique that it owns. So the DaemonSet is read
    // live (R2).
    const kube::ObjectKey set = {.ns = place.ns, .name = owner->name};
    const NameCheck& found = observed.evidence.NameOf(Kind::kDaemonSet, set);
    if (found.is == NameCheck::Is::kNotAsked)
      return ReadTaken{.kind = Kind::kDaemonSet, .key = set};
    if (found.is != NameCheck::Is::kFound || found.holder.meta.uid != owner->uid) return {};
  }
  return Create{.kind = Kind::kClique,
                .key = key,
                .object = RenderClique(key, observed, place.id, next.daemons,
                                       CountJoining(index, place, next.daemons), *owner)};
}

}  // namespace compute_domain
