#include "controller/compute_domain/describe.h"

#include "controller/compute_domain/labels.h"
#include "controller/compute_domain/membership.h"
#include "controller/compute_domain/plugins.h"
#include "controller/compute_domain/roll.h"
#include "controller/compute_domain/status.h"
#include "controller/compute_domain/usage.h"

namespace compute_domain {

namespace {

json::Value List(const std::vector<std::string>& texts) {
  json::Value list = json::Value::Array();
  for (const std::string& text : texts) list.Append(text);
  return list;
}

}  // namespace

json::Value Describe(const Observed& observed, const Instant& now) {
  const kube::ObjectMeta& meta = observed.domain->meta;
  const Usage usage = FindUsage(observed);
  const api::DomainStatus status = DecideStatus(observed, PlanMembership(observed, now), now);
  return json::Value::Object({{"namespace", meta.key.ns},
                              {"name", meta.key.name},
                              {"uid", meta.uid},
                              {"deleting", meta.deleting},
                              {"users", List(usage.users)},
                              {"waiting", List(usage.waiting)},
                              {"heldByOthers", List(FindHeldNodes(observed))},
                              {"idleNodes", List(IdleNodes(observed, observed.children.claims))},
                              {"nodesWithoutPlugin", List(FindMissingPlugins(observed, now).nodes)},
                              {"outdatedDaemons", List(FindOutdated(observed))},
                              {"status", api::Encode(status)}});
}

}  // namespace compute_domain
