#include "controller/compute_domain/cache/cache.h"

#include <algorithm>
#include <utility>

#include "controller/api/names.h"
#include "controller/compute_domain/model/ownership.h"
#include "controller/compute_domain/model/spec.h"
#include "pkg/base/check.h"
#include "pkg/base/find.h"

namespace compute_domain {

namespace {

using Keys = std::vector<std::string>;

// Indexes hold UIDs and, with these prefixes, names of nodes and cliques.
std::string OnNodeKey(const std::string& node) { return "node:" + node; }
std::string InCliqueKey(const std::string& clique) { return "clique:" + clique; }

// Empty if the UID has a colon: a claim's domainID is free text, and could look like a node's key.
Keys OfUid(const kube::Uid& uid) {
  return uid.empty() || uid.find(':') != std::string::npos ? Keys() : Keys{uid};
}

// An index holds each key of an object once.
Keys Once(const std::set<std::string>& keys) { return {keys.begin(), keys.end()}; }

template <typename T>
Keys ByDomain(const T& object) {
  return OfUid(object.domain);
}

Keys ByUid(const api::ComputeDomain& domain) { return OfUid(domain.meta.uid); }

Keys OfPod(const api::DaemonPod& pod) {
  Keys keys = OfUid(pod.domain);
  if (!pod.node.empty()) keys.push_back(OnNodeKey(pod.node));
  return keys;
}

Keys OfClique(const api::Clique& clique) {
  std::set<std::string> keys;
  for (const kube::Uid& uid : OfUid(clique.domain)) keys.insert(uid);
  for (const api::Member& member : clique.daemons) keys.insert(OnNodeKey(member.node));
  if (!clique.id.empty() && !clique.daemons.empty()) keys.insert(InCliqueKey(clique.id));
  return Once(keys);
}

Keys DomainsOf(const api::ResourceClaim& claim) {
  std::set<std::string> keys;
  for (const kube::Uid& uid : OfUid(claim.channel_domain)) keys.insert(uid);
  for (const kube::Uid& uid : OfUid(claim.daemon_domain)) keys.insert(uid);
  return Once(keys);
}

// Key of claims that hold a channel but name no domain, or have no pod.
constexpr const char* kUnrelatedClaims = "unrelated:";

// Returns the key of claims whose pods wait for a node. `uid` is the domain that they name.
std::string WaitingKey(const kube::Uid& uid) { return "waiting:" + uid; }

bool Waits(const api::ResourceClaim& claim) {
  return claim.node.empty() && !claim.meta.deleting && !claim.channel_domain.empty();
}

// Returns the UID of the pod that the claim was made for, or its own if it was made for none.
const kube::Uid& UserOf(const api::ResourceClaim& claim) {
  const kube::OwnerReference* pod = PodOf(claim);
  return pod == nullptr ? claim.meta.uid : pod->uid;
}

constexpr std::size_t kReleasedMax = 10'000;

bool IsReleased(const std::set<kube::Uid>& released, const api::ResourceClaim& claim) {
  return claim.node.empty() && released.contains(UserOf(claim));
}

Keys OfClaim(const api::ResourceClaim& claim) {
  Keys keys = DomainsOf(claim);
  for (const kube::Uid& uid : OfUid(claim.channel_domain)) {
    if (Waits(claim)) keys.push_back(WaitingKey(uid));
  }
  const bool is_stray = claim.has_channel && !claim.admin_access &&
                        (claim.channel_domain.empty() || claim.consumers.empty());
  if (is_stray) keys.emplace_back(kUnrelatedClaims);
  if (!keys.empty() && !claim.node.empty()) keys.push_back(OnNodeKey(claim.node));
  return keys;
}

// Returns whether an index has the claim. Others are dropped: other drivers may have many claims.
bool IsOfUse(const api::ResourceClaim& claim) { return !OfClaim(claim).empty(); }

// Reports the domains that `domains` returns for the object before and after its change.
template <typename T>
typename kube::Store<T>::Handler Report(const Cache::Changed& changed,
                                        std::function<Keys(const T&)> domains) {
  return [&changed, domains = std::move(domains)](const auto& before, const auto& after) {
    std::set<std::string> uids;
    for (const auto& object : {before, after}) {
      if (!object) continue;
      for (std::string& uid : domains(*object)) uids.insert(std::move(uid));
    }
    for (const kube::Uid& uid : uids) changed(uid);
  };
}

template <typename T, template <typename> typename Form>
void Take(const kube::Store<T, Form>& store, const kube::Uid& uid, std::vector<T>& into) {
  std::ranges::move(store.CopiesByIndex(uid), std::back_inserter(into));
}

// Returns whether the template may belong to the domain. Any user may label any template. A
// workload template counts only in its domain's namespace, or, without a domain, while it is being
// deleted.
bool MayBeOf(const api::ResourceClaimTemplate& found, const Observed& observed) {
  if (!observed.domain) return found.meta.deleting || found.target == api::kTargetDaemon;
  return found.target == api::kTargetDaemon || found.meta.key.ns == observed.domain->meta.key.ns;
}

void AddNodeNames(const Children& children, std::set<std::string>& names) {
  for (const api::Node& node : children.labelled_nodes) names.insert(node.meta.key.name);
  for (const api::DaemonPod& pod : children.daemon_pods) names.insert(pod.node);
  for (const api::ResourceClaim& claim : children.claims) names.insert(claim.node);
  for (const api::Clique& clique : children.cliques) {
    for (const api::Member& member : clique.daemons) names.insert(member.node);
  }
}

// Replaces the start time of a pod that was not ready. Differs from every start time.
constexpr const char* kDown = "down";

}  // namespace

Cache::DriverNamespace::DriverNamespace(std::string name, Cache& cache, base::Logger& logger)
    : ns(std::move(name)),
      daemon_sets(api::DecodeDaemonSet, ByDomain<api::DaemonSet>,
                  Report<api::DaemonSet>(cache.changed_, ByDomain<api::DaemonSet>), logger),
      daemon_pods(
          api::DecodeDaemonPod, OfPod,
          [&cache](const auto& before, const auto& after) { cache.OnDaemonPod(before, after); },
          logger),
      cliques(
          api::DecodeClique, OfClique,
          [&cache](const auto& before, const auto& after) { cache.OnClique(before, after); },
          logger) {}

Cache::Cache(const std::vector<std::string>& driver_namespaces, Changed changed,
             base::Logger& logger)
    : changed_(std::move(changed)),
      domains_(api::DecodeComputeDomain, ByUid, Report<api::ComputeDomain>(changed_, ByUid),
               logger),
      templates_(api::DecodeResourceClaimTemplate, ByDomain<api::ResourceClaimTemplate>,
                 Report<api::ResourceClaimTemplate>(changed_, ByDomain<api::ResourceClaimTemplate>),
                 logger),
      claims_(
          api::DecodeResourceClaim, OfClaim,
          [this](const auto& before, const auto& after) { OnClaim(before, after); }, logger,
          IsOfUse),
      nodes_(
          api::DecodeNode, ByDomain<api::Node>,
          [this](const auto& before, const auto& after) { OnNode(before, after); }, logger),
      slice_index_([this](const std::string& node) { OnPublisher(node); }, logger) {
  for (const std::string& ns : driver_namespaces) {
    driver_namespaces_.push_back(std::make_unique<DriverNamespace>(ns, *this, logger));
  }
  for (const WatchedKind& kind : WatchedKinds()) {
    if (!kind.is_in_driver_namespaces) AddWatch(kind, *driver_namespaces_.front());
  }
  for (const auto& driver : driver_namespaces_) {
    for (const WatchedKind& kind : WatchedKinds()) {
      if (kind.is_in_driver_namespaces) AddWatch(kind, *driver);
    }
  }
}

void Cache::AddWatch(const WatchedKind& of, DriverNamespace& driver) {
  kube::ReflectorOptions options = of.options;
  options.resource = ResourceOf(of.kind);
  if (of.is_in_driver_namespaces) options.ns = driver.ns;
  kube::AnyStore* const store = StoreOf(of.kind, driver);
  watches_.push_back({.of = &of, .options = std::move(options), .sink = store, .store = store});
  if (store == nullptr) watches_.back().sink = &slice_index_;
}

kube::AnyStore* Cache::StoreOf(Kind kind, DriverNamespace& driver) {
  switch (kind) {
    case Kind::kComputeDomain:
      return &domains_;
    case Kind::kClaimTemplate:
      return &templates_;
    case Kind::kClaim:
      return &claims_;
    case Kind::kNode:
      return &nodes_;
    case Kind::kDaemonSet:
      return &driver.daemon_sets;
    case Kind::kDaemonPod:
      return &driver.daemon_pods;
    case Kind::kClique:
      return &driver.cliques;
    case Kind::kResourceSlice:
      return nullptr;
  }
  CHECK(false);
}

// Reports the domain of the node's label. If the node's readiness, taints or boot changed, also
// reports each domain with a pod, member or claim on it. Ignores heartbeats.
void Cache::OnNode(const std::shared_ptr<const api::Node>& before,
                   const std::shared_ptr<const api::Node>& after) {
  const bool came_or_went = !before || !after || before->meta.uid != after->meta.uid;
  const bool readiness = came_or_went || before->ready != after->ready ||
                         before->unschedulable != after->unschedulable ||
                         before->taints != after->taints;
  const bool label = came_or_went || before->domain != after->domain;
  const bool rebooted = !came_or_went && !before->boot_id.empty() && !after->boot_id.empty() &&
                        before->boot_id != after->boot_id;
  if (rebooted) OnReboot(*after);
  if (progressed_ && after && label && !after->domain.empty()) {
    progressed_(after->domain, Progress::kLabelled);
  }
  if (!readiness && !label && !rebooted) return;
  std::set<kube::Uid> uids = DomainsOn((after ? after : before)->meta.key.name);
  if (before) uids.insert(before->domain);
  if (after) uids.insert(after->domain);
  ReportAll(uids);
}

void Cache::ReportAll(const std::set<kube::Uid>& uids) const {
  for (const kube::Uid& uid : uids) {
    if (!OfUid(uid).empty()) changed_(uid);
  }
}

std::set<kube::Uid> Cache::DomainsOn(const std::string& node) const {
  std::set<std::string> uids;
  const std::string key = OnNodeKey(node);
  for (const auto& driver : driver_namespaces_) {
    for (const auto& pod : driver->daemon_pods.ByIndex(key)) uids.insert(pod->domain);
    for (const auto& clique : driver->cliques.ByIndex(key)) uids.insert(clique->domain);
  }
  for (const auto& claim : claims_.ByIndex(key)) {
    for (std::string& uid : DomainsConcernedBy(*claim)) uids.insert(std::move(uid));
  }
  uids.erase("");
  return uids;
}

void Cache::OnClaim(const std::shared_ptr<const api::ResourceClaim>& before,
                    const std::shared_ptr<const api::ResourceClaim>& after) {
  // Any user may name any domain in a claim.
  const bool has_waited = before && after && Waits(*before) && !after->node.empty() &&
                          !after->admin_access &&
                          Concerns(*before, NamespaceOf(before->channel_domain));
  if (allocated_ && has_waited) allocated_(*before);
  released_.With([&](auto& released) {
    const bool is_released =
        before && after && !before->node.empty() && Waits(*after) && !after->meta.owners.empty();
    if (after && !after->node.empty() && before) released.erase(UserOf(*before));
    if (!is_released) return;
    if (released.size() == kReleasedMax) released.erase(released.begin());
    released.insert(UserOf(*after));
  });
  Report<api::ResourceClaim>(
      changed_, [this](const auto& claim) { return DomainsConcernedBy(claim); })(before, after);
}

void Cache::OnPublisher(const std::string& node) {
  for (const kube::Uid& uid : DomainsOn(node)) changed_(uid);
  // The first or last node of the cluster affects pods that have no node yet.
  const bool nobody = slice_index_.IsEmpty();
  if (std::exchange(nobody_published_, nobody) == nobody) return;
  VisitVersions([&](const auto& domain) { changed_(domain.uid); });
}

// Reports the domain of a clique. If the clique gets its first member or loses its last one, also
// reports other domains with members in it.
void Cache::OnClique(const std::shared_ptr<const api::Clique>& before,
                     const std::shared_ptr<const api::Clique>& after) {
  std::set<std::string> uids;
  if (before) uids.insert(before->domain);
  if (after) uids.insert(after->domain);
  const bool had = before && !before->daemons.empty();
  const bool has = after && !after->daemons.empty();
  if (had != has) {
    const std::string key = InCliqueKey((after ? after : before)->id);
    for (const auto& driver : driver_namespaces_) {
      for (const auto& clique : driver->cliques.ByIndex(key)) uids.insert(clique->domain);
    }
  }
  ReportAll(uids);
}

void Cache::OnDaemonPod(const std::shared_ptr<const api::DaemonPod>& before,
                        const std::shared_ptr<const api::DaemonPod>& after) {
  const bool serves = after && after->ready && (!before || !before->ready);
  if (progressed_ && serves) progressed_(after->domain, Progress::kDaemonReady);
  before_reboot_.With([&](auto& pods) {
    const auto it = pods.find((after ? after : before)->meta.uid);
    if (it == pods.end()) return;
    if (after && !after->ready) it->second = kDown;
    const bool came_up = after && after->ready && after->started != it->second;
    if (!after || came_up) pods.erase(it);
  });
  Report<api::DaemonPod>(changed_, ByDomain<api::DaemonPod>)(before, after);
}

// Pods from before a reboot look ready until the kubelet has started and reports them again. Skips
// a pod that was written after its node: the kubelet has reported it since.
void Cache::OnReboot(const api::Node& node) {
  for (const auto& driver : driver_namespaces_) {
    for (const auto& pod : driver->daemon_pods.ByIndex(OnNodeKey(node.meta.key.name))) {
      if (!kube::IsOlder(pod->meta.resource_version, node.meta.resource_version)) continue;
      before_reboot_.With([&](auto& pods) { pods.emplace(pod->meta.uid, pod->started); });
    }
  }
}

std::vector<std::shared_ptr<const api::DaemonPod>> Cache::DaemonPods(const kube::Uid& uid) const {
  std::vector<std::shared_ptr<const api::DaemonPod>> pods;
  for (const auto& driver : driver_namespaces_) {
    for (auto& pod : driver->daemon_pods.ByIndex(uid)) {
      if (RunsDaemon(*pod)) pods.push_back(std::move(pod));
    }
  }
  return pods;
}

Observed Cache::Read(const kube::Uid& uid) const {
  Observed observed;
  observed.uid = uid;
  for (auto& domain : domains_.CopiesByIndex(uid)) observed.domain = std::move(domain);
  Children& children = observed.children;
  for (auto& found : templates_.CopiesByIndex(uid)) {
    if (MayBeOf(found, observed)) children.templates.push_back(std::move(found));
  }
  TakeClaims(observed);
  released_.With([&](const auto& released) {
    std::erase_if(children.claims, [&](const auto& claim) { return IsReleased(released, claim); });
  });
  Take(nodes_, uid, children.labelled_nodes);
  for (const auto& driver : driver_namespaces_) {
    Take(driver->daemon_sets, uid, children.daemon_sets);
    Take(driver->cliques, uid, children.cliques);
    Take(driver->daemon_pods, uid, children.daemon_pods);
  }
  std::erase_if(children.daemon_pods, [](const auto& pod) { return !RunsDaemon(pod); });
  AddNodes(observed);
  AddCliqueSharers(observed);
  AddReboots(observed);
  return observed;
}

// Any user may name any domain in a claim. A claim in another namespace counts only if it holds a
// channel, which the domain's pods then lack.
void Cache::TakeClaims(Observed& observed) const {
  const std::string ns = NamespaceOf(observed.uid);
  for (auto& claim : claims_.CopiesByIndex(observed.uid)) {
    const bool holds_channel = claim.has_channel && !claim.consumers.empty();
    if (holds_channel || Concerns(claim, ns)) {
      observed.children.claims.push_back(std::move(claim));
    }
  }
}

std::vector<kube::Uid> Cache::DomainsConcernedBy(const api::ResourceClaim& claim) const {
  Keys uids = DomainsOf(claim);
  std::erase_if(uids, [&](const kube::Uid& uid) { return !Concerns(claim, NamespaceOf(uid)); });
  return uids;
}

bool Cache::Concerns(const api::ResourceClaim& claim, const std::string& domain_ns) const {
  const std::string& ns = claim.meta.key.ns;
  return domain_ns.empty() || domain_ns == ns ||
         std::ranges::any_of(driver_namespaces_, [&](const auto& one) { return one->ns == ns; });
}

void Cache::AddCliqueSharers(Observed& observed) const {
  for (const api::Clique& clique : observed.children.cliques) {
    if (clique.id.empty() || clique.daemons.empty()) continue;
    for (const auto& driver : driver_namespaces_) {
      for (const auto& other : driver->cliques.ByIndex(InCliqueKey(clique.id))) {
        if (other->domain == observed.uid) continue;
        for (const kube::ObjectKey& domain : domains_.KeysByIndex(other->domain)) {
          observed.others.in_clique[clique.id].insert(kube::ToString(domain));
        }
      }
    }
  }
}

void Cache::AddReboots(Observed& observed) const {
  for (const api::Clique& clique : observed.children.cliques) {
    observed.rebooted.insert(clique.rebooted.begin(), clique.rebooted.end());
  }
  for (const api::DaemonPod& pod : observed.children.daemon_pods) {
    if (pod.ready || !pod.trouble.empty()) observed.rebooted.erase(pod.node);
  }
  before_reboot_.With([&](const auto& pods) {
    for (api::DaemonPod& pod : observed.children.daemon_pods) {
      const std::string* const started = base::Find(pods, pod.meta.uid);
      if (started == nullptr) continue;
      pod.ready = false;
      // The kubelet has reported the pod since, and `trouble` is the cause.
      if (*started == kDown && !pod.trouble.empty()) continue;
      observed.rebooted.insert(pod.node);
    }
  });
}

void Cache::AddNodes(Observed& observed) const {
  std::set<std::string> names;
  observed.nobody_publishes = slice_index_.IsEmpty();
  AddNodeNames(observed.children, names);
  if (observed.evidence.children) AddNodeNames(*observed.evidence.children, names);
  if (observed.evidence.claims) AddNodeNames({.claims = *observed.evidence.claims}, names);
  for (const std::string& name : names) {
    const auto node = nodes_.Get({.name = name});
    if (!node) continue;
    observed.nodes.emplace(name, *node);
    if (!slice_index_.Contains(name)) observed.without_slices.insert(name);
    std::string error = slice_index_.FabricErrorOf(name);
    if (!error.empty()) observed.fabric_errors.emplace(name, std::move(error));
    if (node->domain.empty() || node->domain == observed.uid) continue;
    for (const kube::ObjectKey& domain : domains_.KeysByIndex(node->domain)) {
      observed.others.domains[node->domain] = kube::ToString(domain);
    }
  }
}

std::vector<api::ResourceClaim> Cache::UnrelatedClaims() const {
  std::vector<api::ResourceClaim> unrelated;
  Take(claims_, kUnrelatedClaims, unrelated);
  return unrelated;
}

std::string Cache::NameOf(const kube::Uid& uid) const {
  const auto domains = domains_.KeysByIndex(uid);
  return domains.empty() ? uid : kube::ToString(domains.front());
}

std::string Cache::NamespaceOf(const kube::Uid& uid) const {
  const auto domains = domains_.KeysByIndex(uid);
  return domains.empty() ? "" : domains.front().ns;
}

std::vector<std::shared_ptr<const api::ResourceClaim>> Cache::WaitingClaims(
    const kube::Uid& uid) const {
  auto waiting = claims_.ByIndex(WaitingKey(uid));
  released_.With([&](const auto& released) {
    std::erase_if(waiting, [&](const auto& claim) { return IsReleased(released, *claim); });
  });
  return waiting;
}

CliquePlacements Cache::Placements() const {
  CliquePlacements placements;
  VisitDomains([&](const api::ComputeDomain& domain) {
    if (!IsPlaced(domain)) return;
    for (const auto& node : nodes_.ByIndex(domain.meta.uid)) {
      if (node->clique.empty()) continue;
      CliquePlacement& placement = placements[node->clique];
      placement.domain_uids.insert(domain.meta.uid);
      if (domain.placement == api::kPlacementExclusive) placement.exclusive = domain.meta.uid;
    }
  });
  return placements;
}

void Cache::VisitNodes(const CliquePlacements& placements, const NodeVisitor& visit) const {
  std::map<std::string, std::string> reserved_for;  // Key: clique.
  for (const auto& [clique, placement] : placements) {
    if (!placement.exclusive.empty()) reserved_for[clique] = NameOf(placement.exclusive);
  }
  nodes_.Visit([&](const api::Node& node) {
    const std::string& name = node.meta.key.name;
    NodeContext context = {.publishes = slice_index_.Contains(name),
                           .fabric_error = slice_index_.FabricErrorOf(name)};
    if (node.domain.empty()) {
      const auto claims = claims_.ByIndex(OnNodeKey(name));
      context.has_channel = std::ranges::any_of(
          claims, [](const auto& claim) { return claim->has_channel && !claim->admin_access; });
    }
    context.reserved_for = base::FindOr(reserved_for, node.clique, "");
    visit(node, context);
  });
}

bool Cache::HasCaughtUp(const Expectation& expectation) const {
  const auto watch = std::ranges::find_if(watches_, [&](const Watch& one) {
    const std::string& ns = one.options.ns;
    return one.of->kind == expectation.kind && (ns.empty() || ns == expectation.key.ns);
  });
  if (watch == watches_.end()) return true;  // No such namespace is watched.
  const kube::AnyStore& store = *watch->store;
  if (expectation.gone.empty()) {
    return !kube::IsOlder(store.resource_version(), expectation.resource_version);
  }
  const std::optional<kube::ObjectMeta> meta = store.MetaOf(expectation.key);
  return !meta || meta->uid != expectation.gone || meta->deleting;
}

std::vector<kube::Uid> Cache::DomainUids() const {
  std::set<std::string> uids;
  const auto add = [&](const auto& object) { uids.insert(object.domain); };
  VisitVersions([&](const auto& domain) { uids.insert(domain.uid); });
  templates_.Visit(add);
  nodes_.Visit(add);
  for (const auto& driver : driver_namespaces_) {
    driver->daemon_sets.Visit(add);
    driver->cliques.Visit(add);
  }
  uids.erase("");
  return {uids.begin(), uids.end()};
}

}  // namespace compute_domain
