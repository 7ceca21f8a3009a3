#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "pkg/json/value.h"
#include "test/simulation/oracles/ground_truth.h"
#include "test/simulation/oracles/oracles.h"
#include "test/simulation/oracles/report.h"

namespace simulation {

namespace {

using std::chrono::seconds;

constexpr seconds kServesWithin{75};
constexpr seconds kLongestRetry{30};  // Of a write that was refused.

// Returns whether any object is of the domain, or may be: a claim in its namespace.
bool HasRemains(const GroundTruth& truth, const Object& domain) {
  for (const Kind kind :
       {Kind::kDaemonSet, Kind::kClaimTemplate, Kind::kClique, Kind::kPod, Kind::kNode}) {
    const bool has_any = std::ranges::any_of(truth.Live(kind), [&](const auto& object) {
      return DomainOf(kind, *object.second) == domain.uid();
    });
    if (has_any) return true;
  }
  return std::ranges::any_of(truth.Live(Kind::kClaim), [&](const auto& claim) {
    return claim.first.ns == domain.key().ns ||
           DomainOf(Kind::kClaim, *claim.second) == domain.uid();
  });
}

// Returns what the write is that the domain waits for. Empty if there is none.
std::string FindDue(const GroundTruth& truth, const SystemUnderTest& system, const Object& domain,
                    Time now) {
  // Children that cannot be read may exist, and a domain without them needs no finalizer.
  const bool is_seen =
      now > system.unreadable_until || (!system.unreadable.contains("daemonsets") &&
                                        !system.unreadable.contains("resourceclaimtemplates"));
  const std::string finalizer = "the finalizer of " + kube::ToString(domain.key());
  if (domain.deleting()) {
    const bool is_over = now > system.unreadable_until || system.unreadable.empty();
    const bool is_due = is_over && domain.HasFinalizer(kFinalizer) && !HasRemains(truth, domain);
    return is_due ? finalizer : "";
  }
  if (!is_seen) return "";
  if (!domain.HasFinalizer(kFinalizer)) return finalizer;
  const bool has_set = std::ranges::any_of(truth.Live(Kind::kDaemonSet), [&](const auto& set) {
    return RoleOf(truth, system, Kind::kDaemonSet, *set.second) == Role::kDaemonSet &&
           set.second->Label(kDomainLabel) == domain.uid();
  });
  if (!has_set) return "the DaemonSet of " + DaemonName(domain.uid());
  // Another object of a template's name keeps it.
  const std::string& name =
      domain.value()["spec"]["channel"]["resourceClaimTemplate"]["name"].AsString();
  for (const kube::ObjectKey& key :
       {kube::ObjectKey{.ns = system.driver_namespace, .name = DaemonName(domain.uid())},
        kube::ObjectKey{.ns = domain.key().ns, .name = name}}) {
    if (!truth.Get(Kind::kClaimTemplate, key)) return "the template " + kube::ToString(key);
  }
  return "";
}

// Returns what FindDue() calls the write that the request tries. Empty if it is another request.
std::string FindTried(const RequestRecord& request) {
  const Target& target = request.target;
  if (target.kind == nullptr || !target.subresource.empty()) return "";
  if (target.kind->kind == Kind::kComputeDomain &&
      (target.verb == "patch" || target.verb == "update")) {
    return "the finalizer of " + kube::ToString(target.key);
  }
  if (target.verb != "create") return "";
  const auto object = json::Parse(request.body);
  if (!object) return "";
  const std::string& name = (*object)["metadata"]["name"].AsString();
  if (target.kind->kind == Kind::kDaemonSet) return "the DaemonSet of " + name;
  if (target.kind->kind != Kind::kClaimTemplate) return "";
  return "the template " + kube::ToString(kube::ObjectKey{.ns = target.key.ns, .name = name});
}

// Returns whether the client takes or renews the Lease with this request.
bool KeepsLease(const RequestRecord& request) {
  if (request.target.kind == nullptr || request.target.kind->kind != Kind::kLease) return false;
  const bool is_written = request.target.verb != "get" && request.status < 300;
  const auto lease = json::Parse(request.body);
  return is_written && lease && (*lease)["spec"]["holderIdentity"].AsString() == request.client;
}

}  // namespace

Oracle LeaderServes(const OracleContext& context) {
  return {.on_request = [context, leads_since = std::map<std::string, Time>(),
                         due_since = std::map<std::string, Time>(),
                         tried = std::map<std::string, Time>(), said = std::set<std::string>()](
                            const GroundTruth& truth, const RequestRecord& request) mutable {
    if (!context.system.clients.contains(request.client)) return;
    if (const std::string what = FindTried(request); !what.empty()) tried[what] = request.time;
    if (!KeepsLease(request)) return;
    const Time now = request.time;
    const Time began = leads_since.try_emplace(request.client, now).first->second;
    // Whatever excuses a process, a kind that it cannot read does not.
    SystemUnderTest system = context.system;
    std::erase_if(system.excuses, [](const Excuse& excuse) { return excuse.is_of_reads; });
    std::map<std::string, Time> due;
    for (const auto& [key, domain] : truth.Live(Kind::kComputeDomain)) {
      const std::string what = FindDue(truth, system, *domain, now);
      if (what.empty()) continue;
      const auto before = due_since.find(what);
      due[what] = before == due_since.end() ? now : before->second;
    }
    due_since = due;
    for (const auto& [what, since] : due) {
      const auto last = tried.find(what);
      const Time retried = last == tried.end() ? Time() : last->second + kLongestRetry;
      const auto late = Lateness(system, std::max({since, began, retried}), now);
      if (late <= kServesWithin + system.silence || !said.insert(what).second) continue;
      context.violations.push_back("S24 LeaderServes: " + request.client +
                                   " leads, and has not written " + what + " for " +
                                   InMilliseconds(now - since));
    }
  }};
}

}  // namespace simulation
