#include "controller/compute_domain/clique_write.h"

#include <algorithm>

#include "controller/api/names.h"

namespace compute_domain {

using api::Clique;
using api::Member;

namespace {

json::Value RenderOwners(const std::vector<kube::OwnerReference>& owners) {
  json::Value rendered = json::Value::Array();
  for (const kube::OwnerReference& owner : owners) {
    rendered.Append(json::Value::Object({{"apiVersion", owner.api_version},
                                         {"kind", owner.kind},
                                         {"name", owner.name},
                                         {"uid", owner.uid}}));
  }
  return rendered;
}

json::Value RenderClique(const kube::ObjectKey& key, const Observed& observed,
                         const std::string& id, const std::vector<Member>& daemons,
                         const kube::OwnerReference& owner) {
  using json::Value;
  return Value::Object({{"apiVersion", api::kComputeDomainCliques.ApiVersion()},
                        {"kind", api::kComputeDomainCliques.kind},
                        {"metadata", Value::Object({{"name", key.name},
                                                    {"namespace", key.ns},
                                                    {"labels", CliqueLabels(observed.uid, id)},
                                                    {"ownerReferences", RenderOwners({owner})}})},
                        {"daemons", api::EncodeDaemons(daemons)}});
}

// Who owns the cliques that we write, and lies where they are made: of several DaemonSets the one
// that stays (B28). REQUIRES: a DaemonSet, which made the pods that belong in the clique.
const kube::ObjectMeta& OwnerOfCliques(const Observed& observed) {
  const auto& sets = observed.children.daemon_sets;
  const std::string ours = api::DaemonName(observed.uid);
  const auto stays = std::ranges::find_if(sets, [&](const api::DaemonSet& set) {
    return set.meta.key.name == ours && !set.meta.deleting;
  });
  return stays == sets.end() ? sets.front().meta : stays->meta;
}

kube::OwnerReference ReferenceToOwner(const Observed& observed) {
  const kube::ObjectMeta& owner = OwnerOfCliques(observed);
  return {.api_version = kube::kDaemonSets.ApiVersion(),
          .kind = kube::kDaemonSets.kind,
          .name = owner.key.name,
          .uid = owner.uid};
}

kube::ObjectKey KeyOf(const Observed& observed, const std::string& id) {
  return {.ns = OwnerOfCliques(observed).key.ns, .name = api::CliqueName(observed.uid, id)};
}

// Whom a clique shall belong to that daemons have made, once an entry in it is ours to write: the
// DaemonSet too, or it goes with the last pod of theirs (B58). Null: those who own it.
json::Value OwnersOf(const Observed& observed, const PodByNode& pods, const Clique& clique,
                     const CliqueContent& next) {
  const bool any_ours = std::ranges::any_of(next.daemons, [&](const Member& member) {
    const auto pod = pods.find(member.node);
    return pod != pods.end() && pod->second->controller_writes;
  });
  if (!any_ours) return {};
  std::vector<kube::OwnerReference> owners = clique.meta.owners;
  const kube::OwnerReference ours = ReferenceToOwner(observed);
  if (std::ranges::find(owners, ours.uid, &kube::OwnerReference::uid) != owners.end()) return {};
  owners.push_back(ours);
  return RenderOwners(owners);
}

}  // namespace

json::Value CliqueLabels(const std::string& domain, const std::string& clique) {
  return json::Value::Object(
      {{std::string(api::kDomainLabel), domain}, {std::string(api::kCliqueLabel), clique}});
}

bool IsWritten(const Observed& observed, const std::string& id, const Clique* clique,
               const Member& member) {
  if (clique == nullptr) {
    const NameCheck& name = observed.evidence.NameOf(Kind::kClique, KeyOf(observed, id));
    return name.is == NameCheck::Is::kFound;  // Made by us, in this pass.
  }
  return std::ranges::any_of(clique->daemons, [&](const Member& entry) {
    return entry.node == member.node && entry.index == member.index;
  });
}

std::optional<Action> WriteOf(const Observed& observed, const PodByNode& pods,
                              const std::string& id, const Clique* clique,
                              const CliqueContent& next) {
  if (clique != nullptr) {
    // An index that is no longer kept is no reason for a write.
    if (clique->meta.deleting || clique->daemons == next.daemons) return {};
    return WriteClique{.clique = clique->meta,
                       .daemons = next.daemons,
                       .held = next.held,
                       .owners = OwnersOf(observed, pods, *clique, next)};
  }
  if (next.daemons.empty()) return {};
  const kube::OwnerReference owner = ReferenceToOwner(observed);
  const kube::ObjectKey key = KeyOf(observed, id);
  // Taken: the cache is behind, and what is there will arrive.
  if (observed.evidence.NameOf(Kind::kClique, key).is != NameCheck::Is::kNotAsked) return {};
  return Create{.kind = Kind::kClique,
                .key = key,
                .object = RenderClique(key, observed, id, next.daemons, owner)};
}

}  // namespace compute_domain
