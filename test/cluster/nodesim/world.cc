#include "test/cluster/nodesim/world.h"

#include <algorithm>
#include <map>
#include <set>

#include "test/cluster/nodesim/names.h"

namespace nodesim {

namespace {

std::vector<std::string> NoIndex(const Node& /*node*/) { return {}; }
std::vector<std::string> ByNode(const Slice& slice) { return {slice.node}; }
std::vector<std::string> ByPodNode(const Pod& pod) { return {pod.node}; }
std::vector<std::string> ByUid(const Domain& domain) { return {domain.meta.uid}; }
std::vector<std::string> NoCliqueIndex(const Clique& /*clique*/) { return {}; }

// The domains that a claim names.
std::vector<std::string> ByDomain(const Claim& claim) {
  std::set<std::string> domains;
  for (const Grant& grant : claim.grants) {
    if (!grant.domain.empty()) domains.insert(grant.domain);
  }
  return {domains.begin(), domains.end()};
}

// The keys at which two maps differ.
template <typename Map>
std::set<std::string> Differences(const Map& before, const Map& after) {
  std::set<std::string> keys;
  for (const auto& [key, value] : before) {
    const auto it = after.find(key);
    if (it == after.end() || !(it->second == value)) keys.insert(key);
  }
  for (const auto& [key, value] : after) {
    if (!before.contains(key)) keys.insert(key);
  }
  return keys;
}

std::map<std::string, Member> MembersByNode(const Clique& clique) {
  std::map<std::string, Member> members;
  for (const Member& member : clique.daemons) members[member.node] = member;
  return members;
}

}  // namespace

World::World(Wake wake, std::uint64_t seed, base::Logger& logger)
    : wake_(std::move(wake)),
      random_(seed, "reflectors"),
      nodes_(
          DecodeNode, NoIndex,
          [this](const auto& before, const auto& after) {
            wake_((after ? after : before)->meta.key.name);
          },
          logger),
      slices_(
          DecodeSlice, ByNode,
          [this](const auto& before, const auto& after) { wake_((after ? after : before)->node); },
          logger),
      pods_(
          DecodePod, ByPodNode,
          [this](const auto& before, const auto& after) { wake_((after ? after : before)->node); },
          logger),
      claims_(
          DecodeResourceClaim, ByDomain,
          [this](const auto& before, const auto& after) { OnClaim(before, after); }, logger),
      domains_(
          DecodeDomain, ByUid,
          [this](const auto& before, const auto& after) { OnDomain(before, after); }, logger),
      cliques_(
          DecodeClique, NoCliqueIndex,
          [this](const auto& before, const auto& after) { OnClique(before, after); }, logger),
      node_reflector_({.resource = kube::kNodes}, nodes_, random_, logger),
      slice_reflector_({.resource = kube::kResourceSlices}, slices_, random_, logger),
      pod_reflector_({.resource = kube::kPods, .field_selector = "spec.nodeName!="}, pods_, random_,
                     logger),
      claim_reflector_({.resource = kube::kResourceClaims}, claims_, random_, logger),
      domain_reflector_({.resource = kComputeDomains}, domains_, random_, logger),
      clique_reflector_({.resource = kCliques}, cliques_, random_, logger) {}

void World::AddTo(kube::WatchLoop& loop) {
  loop.Add(node_reflector_);
  loop.Add(slice_reflector_);
  loop.Add(pod_reflector_);
  loop.Add(claim_reflector_);
  loop.Add(domain_reflector_);
  loop.Add(clique_reflector_);
}

bool World::HasSynced() const {
  const auto synced_or_absent = [](const kube::Reflector& reflector) {
    return reflector.HasSynced() ||
           reflector.problem().kind == kube::ReflectorProblem::Kind::kNotServed;
  };
  return node_reflector_.HasSynced() && slice_reflector_.HasSynced() &&
         pod_reflector_.HasSynced() && claim_reflector_.HasSynced() &&
         synced_or_absent(domain_reflector_) && synced_or_absent(clique_reflector_);
}

std::shared_ptr<const Node> World::GetNode(const std::string& name) const {
  return nodes_.Get({.name = name});
}

std::vector<std::shared_ptr<const Slice>> World::SlicesOf(const std::string& node) const {
  return slices_.ByIndex(node);
}

std::vector<std::shared_ptr<const Pod>> World::PodsOf(const std::string& node) const {
  return pods_.ByIndex(node);
}

std::shared_ptr<const Claim> World::GetClaim(const kube::ObjectKey& key) const {
  return claims_.Get(key);
}

std::shared_ptr<const Domain> World::FindDomain(const kube::Uid& uid) const {
  const auto found = domains_.ByIndex(uid);
  return found.empty() ? nullptr : found.front();
}

std::shared_ptr<const Clique> World::GetClique(const kube::ObjectKey& key) const {
  return cliques_.Get(key);
}

std::shared_ptr<const Pod> World::GetPod(const kube::ObjectKey& key) const {
  return pods_.Get(key);
}

std::vector<std::shared_ptr<const Pod>> World::AllPods() const { return pods_.List(); }

void World::WakeNodesOfClaim(const Claim& claim) {
  for (const Grant& grant : claim.grants) wake_(grant.pool);
  for (const Consumer& consumer : claim.reserved_for) {
    const auto pod = pods_.Get({.ns = claim.meta.key.ns, .name = consumer.name});
    if (pod) wake_(pod->node);
  }
}

void World::WakeNodesOfDomain(const kube::Uid& uid) {
  for (const auto& claim : claims_.ByIndex(uid)) WakeNodesOfClaim(*claim);
}

void World::OnClaim(const Ptr<Claim>& before, const Ptr<Claim>& after) {
  if (before) WakeNodesOfClaim(*before);
  if (after) WakeNodesOfClaim(*after);
}

void World::OnDomain(const Ptr<Domain>& before, const Ptr<Domain>& after) {
  if (!before || !after || before->meta.uid != after->meta.uid) {
    return WakeNodesOfDomain((after ? after : before)->meta.uid);
  }
  for (const std::string& node : Differences(before->nodes, after->nodes)) wake_(node);
}

// A clique changes once for each of its members; only those whose entries differ need to look.
void World::OnClique(const Ptr<Clique>& before, const Ptr<Clique>& after) {
  if (!before || !after || before->meta.uid != after->meta.uid) {
    const Clique& clique = after ? *after : *before;
    const std::string& name = clique.meta.key.name;  // <UID of the domain>.<clique>
    return WakeNodesOfDomain(name.substr(0, name.find('.')));
  }
  for (const std::string& node : Differences(MembersByNode(*before), MembersByNode(*after))) {
    wake_(node);
  }
}

}  // namespace nodesim
