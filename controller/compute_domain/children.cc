#include "controller/compute_domain/children.h"

#include <algorithm>

#include "controller/api/names.h"
#include "controller/compute_domain/deletion.h"
#include "controller/compute_domain/ownership.h"
#include "controller/daemon_set/render.h"
#include "controller/resource_claim_template/render.h"

namespace compute_domain {

namespace {

// One child that the domain should have.
struct Wanted {
  Kind kind = {};
  kube::ObjectKey key = {};
  json::Value (*render)(const Observed& observed) = nullptr;
  const kube::ObjectMeta* found = nullptr;  // Under whatever name; one that stays, if there is one.
};

template <typename T>
const kube::ObjectMeta* FindOurs(const std::vector<T>& all, const Observed& observed,
                                 bool (*is_ours)(const Observed&, const T&)) {
  const kube::ObjectMeta* found = nullptr;
  for (const T& object : all) {
    if (!is_ours(observed, object)) continue;
    if (found == nullptr || found->deleting) found = &object.meta;
  }
  return found;
}

std::vector<Wanted> WantedChildren(const Observed& observed) {
  const Children& children = observed.children;
  const std::string& ns = observed.facts.driver_namespaces.front();
  const kube::ObjectKey daemon_key = {.ns = ns, .name = api::DaemonName(observed.uid)};
  return {
      {.kind = Kind::kClaimTemplate,
       .key = daemon_key,
       .render =
           [](const Observed& all) {
             return resource_claim_template::RenderDaemon(
                 all.uid, all.facts.driver_namespaces.front(), all.facts.template_version);
           },
       .found = FindOurs(children.templates, observed, IsDaemonTemplate)},
      {.kind = Kind::kDaemonSet,
       .key = daemon_key,
       .render = [](const Observed& all) { return daemon_set::Render(all.uid, all.facts.daemons); },
       .found = FindOurs(children.daemon_sets, observed, IsDaemonSet)},
      {.kind = Kind::kClaimTemplate,
       .key = {.ns = observed.domain->meta.key.ns, .name = observed.domain->template_name},
       .render =
           [](const Observed& all) {
             return resource_claim_template::RenderWorkload(*all.domain,
                                                            all.facts.template_version);
           },
       .found = FindOurs(children.templates, observed, IsWorkloadTemplate)},
  };
}

// Somebody deleted a child that holds the finalizer which the reference gave it. It is let go, so
// that it can be made again; like every release, only after a live read (R5).
std::optional<Action> PlanRelease(const Observed& observed, const Wanted& child) {
  if (!HoldsFinalizer(*child.found)) return {};
  const auto read = observed.evidence.taken.find({child.kind, child.found->key});
  if (read == observed.evidence.taken.end()) {
    return ReadTaken{.kind = child.kind, .key = child.found->key};
  }
  if (!read->second || !*read->second) return {};
  const kube::ObjectMeta& live = (**read->second).meta;
  if (live.uid != child.found->uid || !HoldsFinalizer(live)) return {};
  return Release(child.kind, live);
}

std::optional<Action> PlanCreation(const Observed& observed, Wanted child) {
  const auto taken = observed.evidence.taken.find({child.kind, child.key});
  const bool is_free = taken == observed.evidence.taken.end() ||
                       (taken->second && !*taken->second);  // Or gone again.
  if (is_free) {
    return Create{
        .kind = child.kind, .key = std::move(child.key), .object = child.render(observed)};
  }
  if (!taken->second) return ReadTaken{.kind = child.kind, .key = std::move(child.key)};
  return {};  // It is ours and the cache is behind, or FindTakenName says whose it is.
}

// Whether what holds a child's name counts as that child (R4).
bool IsChild(const Observed& observed, Kind kind, const Evidence::Taken& found) {
  if (kind == Kind::kDaemonSet) {
    return IsDaemonSet(observed, {.meta = found.meta, .domain = found.domain});
  }
  const api::ClaimTemplate decoded = {
      .meta = found.meta, .domain = found.domain, .target = found.target};
  return IsDaemonTemplate(observed, decoded) || IsWorkloadTemplate(observed, decoded);
}

std::string WhoseIs(const Observed& observed, const Evidence::Taken& found) {
  if (found.domain.empty()) return "does not belong to a ComputeDomain";
  if (found.domain != observed.uid) {
    return "belongs to the ComputeDomain with UID " + found.domain;
  }
  return "carries this domain's label, but its target or owner says otherwise";
}

}  // namespace

std::vector<Action> PlanChildren(const Observed& observed) {
  std::vector<Action> actions;
  for (Wanted& child : WantedChildren(observed)) {
    // One that is being deleted is made again once it is gone; its name is taken until then.
    std::optional<Action> action = child.found != nullptr
                                       ? PlanRelease(observed, child)
                                       : PlanCreation(observed, std::move(child));
    if (action) actions.push_back(*std::move(action));
  }
  return actions;
}

std::optional<Failure> FindTakenName(const Observed& observed) {
  for (const auto& [name, read] : observed.evidence.taken) {
    const auto& [kind, key] = name;
    if (kind == Kind::kClique || !read || !*read) continue;
    const Evidence::Taken& found = **read;
    if (IsChild(observed, kind, found)) continue;
    const std::string what = kind == Kind::kDaemonSet ? "DaemonSet " : "ResourceClaimTemplate ";
    return Failure{.reason = std::string(api::kReasonTemplateNameTaken),
                   .message = what + kube::ToString(key) + " exists and " +
                              WhoseIs(observed, found) +
                              ". Delete it, or create this domain again with another "
                              "spec.channel.resourceClaimTemplate.name."};
  }
  return {};
}

}  // namespace compute_domain
