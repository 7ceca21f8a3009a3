#include "controller/compute_domain/rules/membership/clique_patch.h"

#include <algorithm>

#include "controller/api/names.h"
#include "controller/compute_domain/rules/membership/clique_batching.h"
#include "pkg/base/check.h"

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

// Who owns a clique that we write: the DaemonSet that made its pods, and of several in the
// namespace the one that stays (B28). The garbage collector takes an owner elsewhere for one that
// is gone. REQUIRES: a DaemonSet there, whose pods belong in the clique.
kube::OwnerReference OwnerOf(const Observed& observed, const CliquePlace& place) {
  const std::string ours = api::DaemonName(observed.uid);
  const kube::ObjectMeta* owner = nullptr;
  for (const api::DaemonSet& set : observed.children.daemon_sets) {
    if (set.meta.key.ns != place.ns) continue;
    const bool stays = set.meta.key.name == ours && !set.meta.deleting;
    if (owner == nullptr || stays) owner = &set.meta;
  }
  CHECK(owner != nullptr);
  return {.api_version = kube::kDaemonSets.ApiVersion(),
          .kind = kube::kDaemonSets.kind,
          .name = owner->key.name,
          .uid = owner->uid};
}

kube::ObjectKey KeyOf(const Observed& observed, const CliquePlace& place) {
  return {.ns = place.ns, .name = api::CliqueName(observed.uid, place.id)};
}

// Returns the owners of a clique that daemons created, once the controller writes an entry in it:
// the DaemonSet too, or it is deleted with the last pod (B58). Null if the owners stay.
json::Value OwnersOf(const MembershipIndex& index, const CliquePlace& place,
                     const api::Clique& clique, const CliqueContent& next) {
  const bool any_ours = std::ranges::any_of(next.daemons, [&](const Member& member) {
    const auto pod = index.pods.find(member.node);
    return pod != index.pods.end() && pod->second->controller_writes &&
           MayBeIn(*pod->second, place);
  });
  if (!any_ours) return {};
  if (!clique.meta.is_whole) return {};  // Those that are not kept would be lost.
  std::vector<kube::OwnerReference> owners = clique.meta.owners;
  const kube::OwnerReference ours = OwnerOf(index.observed, place);
  if (std::ranges::find(owners, ours.uid, &kube::OwnerReference::uid) != owners.end()) return {};
  owners.push_back(ours);
  return RenderOwners(owners);
}

}  // namespace

json::Value CliqueLabels(const std::string& domain, const std::string& clique) {
  return json::Value::Object(
      {{std::string(api::kDomainLabel), domain}, {std::string(api::kCliqueLabel), clique}});
}

bool IsWritten(const Observed& observed, const CliquePlace& place, const api::Clique* clique,
               const Member& member) {
  if (clique == nullptr) {
    const NameCheck& name = observed.evidence.NameOf(Kind::kClique, KeyOf(observed, place));
    return name.is == NameCheck::Is::kFound;  // Made by us, in this pass.
  }
  return std::ranges::any_of(clique->daemons, [&](const Member& entry) {
    return entry.node == member.node && entry.index == member.index;
  });
}

std::optional<Action> WriteOf(const MembershipIndex& index, const CliquePlace& place,
                              const api::Clique* clique, const CliqueContent& next,
                              Membership& membership) {
  if (clique != nullptr) {
    // An index that is no longer kept is no reason for a write.
    if (clique->meta.deleting || clique->daemons == next.daemons) return {};
    return WriteClique{.clique = clique->meta,
                       .daemons = next.daemons,
                       .held = next.held,
                       .joining = CountJoining(index, place, next.daemons),
                       .owners = OwnersOf(index, place, *clique, next)};
  }
  if (next.daemons.empty()) return {};
  const Observed& observed = index.observed;
  // Daemons may run under the indices of a clique that was there before. Only the domain's status
  // knows these, so an old view of it is not believed (R2).
  const kube::ObjectMeta& domain = observed.domain->meta;
  if (!observed.evidence.owner) {
    membership.needs_owner = true;
    return {};
  }
  const kube::ObjectMeta* live = observed.evidence.LiveOwner();
  if (live == nullptr || live->resource_version != domain.resource_version) return {};
  const kube::OwnerReference owner = OwnerOf(observed, place);
  const kube::ObjectKey key = KeyOf(observed, place);
  // Taken: the cache is behind, and what is there will arrive.
  if (observed.evidence.NameOf(Kind::kClique, key).is != NameCheck::Is::kNotAsked) return {};
  if (observed.memory.clique_batching.contains(key.name)) {
    // We made it a moment ago, and it is gone: of a DaemonSet that is gone while the view still
    // shows it, the garbage collector takes away each that we make. So the view is not believed
    // (R2).
    const kube::ObjectKey set = {.ns = place.ns, .name = owner.name};
    const NameCheck& found = observed.evidence.NameOf(Kind::kDaemonSet, set);
    if (found.is == NameCheck::Is::kNotAsked)
      return ReadTaken{.kind = Kind::kDaemonSet, .key = set};
    if (found.is != NameCheck::Is::kFound || found.holder.meta.uid != owner.uid) return {};
  }
  return Create{.kind = Kind::kClique,
                .key = key,
                .object = RenderClique(key, observed, place.id, next.daemons,
                                       CountJoining(index, place, next.daemons), owner)};
}

}  // namespace compute_domain
