#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "pkg/json/value.h"
#include "test/simulation/oracles/ground_truth.h"
#include "test/simulation/oracles/oracles.h"
#include "test/simulation/oracles/report.h"

namespace simulation {

namespace {

using json::Value;
using std::chrono::seconds;

constexpr seconds kUnlabelled{60};  // Of a node whose domain is gone.
constexpr seconds kToldWithin{30};  // Why a domain is not ready.
constexpr seconds kFailover{19};    // A Lease's duration, and two retries, of which one may fail.

// What is wrong, in words that name the oracle, and how long it may be.
using Wrongs = std::map<std::string, seconds>;

// A daemon that serves on its node, by the pod and the node alone.
struct Server {
  std::string ip = {};
  std::string clique = {};
  bool writes_own_entry = false;
};

std::map<std::string, Server> FindServers(const GroundTruth& truth, const SystemUnderTest& system,
                                          const kube::Uid& domain) {
  std::map<std::string, Server> servers;
  for (const auto& [key, pod] : truth.Live(Kind::kPod)) {
    const std::string& node = (*pod)["spec"]["nodeName"].AsString();
    const std::string* clique = pod->FindLabel(kCliqueLabel);
    const bool serves = IsDaemonPod(system, *pod, domain) && !IsTerminal(*pod) &&
                        !pod->deleting() && IsPodReady(*pod) && !IsNodeLost(truth, node) &&
                        clique != nullptr;
    if (!serves) continue;
    servers[node] = {.ip = (*pod)["status"]["podIP"].AsString(),
                     .clique = *clique,
                     .writes_own_entry = pod->Label(kMembershipWriterLabel) != "controller"};
  }
  return servers;
}

// Whether its clique says so, where the daemon writes that itself; where the controller does it is
// no excuse, unless there is no room.
bool IsInClique(const GroundTruth& truth, const SystemUnderTest& system, const kube::Uid& domain,
                const std::string& node, const Server& server) {
  if (server.clique.empty()) return true;
  const ObjectPtr clique = truth.Get(
      Kind::kClique, {.ns = system.driver_namespace, .name = CliqueName(domain, server.clique)});
  const Value::Items entries = clique ? (*clique)["daemons"].items() : Value::Items();
  for (const Value& entry : entries) {
    if (entry["nodeName"].AsString() != node) continue;
    return !server.writes_own_entry ||
           (entry["status"].AsString() == "Ready" && entry["ipAddress"].AsString() == server.ip);
  }
  return !server.writes_own_entry && std::ssize(entries) < system.members_max;
}

// Whether its clique has an entry of it.
bool IsListed(const GroundTruth& truth, const SystemUnderTest& system, const kube::Uid& domain,
              const std::string& node, const Server& server) {
  const ObjectPtr clique = truth.Get(
      Kind::kClique, {.ns = system.driver_namespace, .name = CliqueName(domain, server.clique)});
  return !server.clique.empty() && clique &&
         std::ranges::any_of((*clique)["daemons"].items(), [&](const Value& entry) {
           return entry["nodeName"].AsString() == node;
         });
}

// Whether the claim has no node, and no pod waits for one: it is a rest of its pod, for the garbage
// collector.
bool IsLeftBehind(const GroundTruth& truth, const Object& claim) {
  const Value& owner = claim.ControllerOwner();
  const ObjectPtr pod =
      truth.Get(Kind::kPod, {.ns = claim.key().ns, .name = owner["name"].AsString()});
  return AllocatedNode(claim).empty() &&
         (pod == nullptr || pod->uid() != owner["uid"].AsString() || IsTerminal(*pod));
}

// Why the pods of the domain share no memory, as far as objects show it; empty: they do.
std::string WhyNotShared(const GroundTruth& truth, const Object& domain,
                         const std::map<std::string, Server>& servers) {
  std::set<std::string> cliques;
  for (const auto& [key, claim] : truth.Live(Kind::kClaim)) {
    const std::string node = AllocatedNode(*claim);
    if (!AsksForChannel(*claim, domain) || IsLeftBehind(truth, *claim)) continue;
    if (node.empty()) return "the pod of " + kube::ToString(key) + " waits";
    if (!IsConsumer(*claim, domain)) continue;
    const auto server = servers.find(node);
    if (server == servers.end()) return "nobody serves " + node;
    cliques.insert(server->second.clique);
  }
  if (cliques.empty()) return "no pod uses it";
  if (cliques.contains("")) return "a node has no fabric";
  if (cliques.size() > 1) {
    const Spanning spanning = SpanningOf(domain);
    if (spanning == Spanning::kByGroup) return "objects do not show in which clique each group is";
    if (spanning == Spanning::kNo) return "pods are in several cliques";
  }
  const bool are_few = std::ssize(servers) < domain["spec"]["numNodes"].AsInt().value_or(0);
  return are_few ? "fewer nodes serve than it wants" : "";
}

void AddWrongsOfStatus(const GroundTruth& truth, const SystemUnderTest& system,
                       const Object& domain, Wrongs& wrongs) {
  const auto add = [&](const char* oracle, const std::string& sentence,
                       std::chrono::seconds more = std::chrono::seconds(0)) {
    wrongs.emplace(std::string(oracle) + kube::ToString(domain.key()) + " " + sentence,
                   system.delay + system.silence + more);
  };
  const auto servers = FindServers(truth, system, domain.uid());
  const std::set<std::string> users = NodesWithChannels(truth, domain);
  const auto is_strange = [&](const std::string& node) {
    return system.may_read_claims && !users.contains(node);
  };
  std::set<std::string> shown;
  for (const Value& entry : domain["status"]["nodes"].items()) {
    if (entry["status"].AsString() != "Ready") continue;
    const std::string& node = entry["name"].AsString();
    const auto server = servers.find(node);
    const bool is_listed =
        server != servers.end() && IsListed(truth, system, domain.uid(), node, server->second);
    if (is_listed && is_strange(node)) {
      add("L5 StatusFollows: ", "shows " + node + ", where no pod has a channel");
    }
    if (server == servers.end()) {
      add("L5 StatusFollows: ", "shows " + node + " Ready, where no daemon serves");
    } else if (server->second.ip == entry["ipAddress"].AsString()) {
      shown.insert(node);
    }
  }
  for (const auto& [node, server] : servers) {
    if (shown.contains(node) || is_strange(node)) continue;
    if (!IsInClique(truth, system, domain.uid(), node, server)) continue;
    add("L5 StatusFollows: ",
        "does not show " + node + " Ready, where a daemon serves at " + server.ip, system.pace);
  }
  const std::string& is_shared = FindCondition(domain.value(), "MemoryShared")["status"].AsString();
  const std::string why_not = WhyNotShared(truth, domain, servers);
  if (is_shared == "True" && !why_not.empty()) {
    add("S26 MemoryIsShared: ", "says that memory is shared, although " + why_not);
  }
  const std::string& members = FindCondition(domain.value(), "MembersReady")["message"].AsString();
  const bool may_wait = std::ranges::any_of(truth.Live(Kind::kClaim), [&](const auto& item) {
    return AsksForChannel(*item.second, domain) && IsLeftBehind(truth, *item.second);
  });
  // It may know more than objects show, and less than claims would.
  const bool may_differ = members.find("IMEX") != std::string::npos || !system.may_read_claims ||
                          !system.serves_cliques || may_wait;
  const bool are_shown = std::ranges::all_of(servers, [&](const auto& item) {
    return IsInClique(truth, system, domain.uid(), item.first, item.second);
  });
  if (!is_shared.empty() && is_shared != "True" && why_not.empty() && are_shown && !may_differ) {
    add("S26 MemoryIsShared: ", "does not say that memory is shared", system.pace);
  }
  if (FindCondition(domain.value(), "Ready")["status"].AsString() != "True") return;
  for (const auto& [key, node] : truth.Live(Kind::kNode)) {
    const bool is_its = node->Label(kDomainLabel) == domain.uid() && !is_strange(key.name);
    if (!is_its || servers.contains(key.name)) continue;
    add("S10 ReadyIsTrue: ", "is Ready although nobody serves " + key.name);
  }
  if (!system.may_read_claims) return;
  for (const std::string& node : users) {
    if (servers.contains(node)) continue;
    add("S10 ReadyIsTrue: ", "is Ready although nobody serves " + node);
  }
}

Wrongs FindWrongs(const GroundTruth& truth, const SystemUnderTest& system) {
  Wrongs wrongs;
  for (const auto& [key, domain] : truth.Live(Kind::kComputeDomain)) {
    if (!domain->deleting()) AddWrongsOfStatus(truth, system, *domain, wrongs);
  }
  for (const auto& [key, node] : truth.Live(Kind::kNode)) {
    const DomainRecord* record = truth.FindDomain(node->Label(kDomainLabel));
    if (record == nullptr || record->exists) continue;
    wrongs.emplace("L4 NodesAreFreed: " + key.name + " has the label of a domain that is gone",
                   kUnlabelled + system.delay + system.silence);
  }
  return wrongs;
}

// Looks at the end of each instant, since within one nothing takes time.
class Watchman {
 public:
  explicit Watchman(const OracleContext& context) : context_(context) {}

  // `truth` has been as it is since the last change, and changes at `now`.
  void Look(const GroundTruth& truth, Time now) {
    const Time since = instant_.value_or(now);
    instant_ = now;
    if (since == now) return;
    const Wrongs wrongs = FindWrongs(truth, context_.system);
    std::erase_if(since_, [&](const auto& item) { return !wrongs.contains(item.first); });
    for (const auto& [what, at_most] : wrongs) {
      const Time began = since_.try_emplace(what, since).first->second;
      const auto late = Lateness(context_.system, began, now);
      if (late <= at_most || !said_.insert(what).second) continue;
      context_.violations.push_back(what + ", for " + InMilliseconds(now - began));
    }
  }

 private:
  const OracleContext context_;
  std::optional<Time> instant_ = {};
  std::map<std::string, Time> since_;  // What is wrong now.
  std::set<std::string> said_;
};

}  // namespace

std::chrono::microseconds ByFastClock(const SystemUnderTest& system,
                                      std::chrono::microseconds time) {
  return time * (1'000'000 - system.clocks_drift_per_million) / 1'000'000;
}

std::chrono::microseconds Lateness(const SystemUnderTest& system, Time since, Time now) {
  std::vector<Excuse> excuses = system.excuses;
  std::ranges::sort(excuses, {}, &Excuse::from);
  std::chrono::microseconds late{0};
  Time until = since;  // It is added up to here.
  for (const Excuse& excuse : excuses) {
    if (excuse.from > until) late += std::min(excuse.from, now) - std::min(until, now);
    until = std::max(until, excuse.until);
  }
  return late + now - std::min(until, now);
}

Oracle StatusFollows(const OracleContext& context) {
  const auto watchman = std::make_shared<Watchman>(context);
  return {.on_change =
              [watchman](const GroundTruth& before, const Change& change) {
                // Leases are renewed while nothing else happens.
                if (change.kind != Kind::kLease) watchman->Look(before, change.time);
              },
          .at_end = [watchman](const GroundTruth& truth, Time now) { watchman->Look(truth, now); }};
}

Oracle FailoverIsFast(const OracleContext& context) {
  return {.on_change = [context, leaders = std::set<std::string>(), renewed = Time()](
                           const GroundTruth& /*before*/, const Change& change) mutable {
    if (change.kind != Kind::kLease) return;
    const Time last = std::exchange(renewed, change.time);
    const bool may_wait = !context.system.unreadable.empty();
    if (may_wait && last <= context.system.unreadable_until) return;
    const std::string& holder = (*change.after)["spec"]["holderIdentity"].AsString();
    if (!context.system.clients.contains(holder) || !leaders.insert(holder).second) return;
    const auto first = std::ranges::find(context.server.requests(), holder, &RequestRecord::client);
    if (first == context.server.requests().end()) return;
    const auto still = context.system.stood_still_until.find(holder);
    const Time thawed = still == context.system.stood_still_until.end() ? Time() : still->second;
    const auto took = change.time - std::max({first->time, last, thawed});
    if (took <= kFailover) return;
    context.violations.push_back("L8 FailoverIsFast: " + holder + " led only after " +
                                 InMilliseconds(took));
  }};
}

namespace {

// Whether the API server holds something for which the domain is not ready: of its members, of what
// these need, or, for the condition, of pods that wait for a node.
bool HasCause(const GroundTruth& truth, const SystemUnderTest& system, const Object& domain,
              bool is_condition) {
  constexpr std::size_t kChildren = 3;
  if (domain.deleting()) return true;
  std::set<Role> children;
  for (const Kind kind : {Kind::kDaemonSet, Kind::kClaimTemplate}) {
    for (const auto& [key, object] : truth.Live(kind)) {
      const bool is_its = object->Label(kDomainLabel) == domain.uid() && !object->deleting();
      if (is_its) children.insert(RoleOf(truth, system, kind, *object));
    }
  }
  children.erase(Role::kNone);
  if (children.size() < kChildren) return true;
  std::set<std::string> members;
  for (const Value& entry : domain["status"]["nodes"].items()) {
    members.insert(entry["name"].AsString());
  }
  for (const auto& [key, node] : truth.Live(Kind::kNode)) {
    if (node->Label(kDomainLabel) == domain.uid()) members.insert(key.name);
  }
  for (const auto& [key, claim] : truth.Live(Kind::kClaim)) {
    if (HoldsChannel(*claim, domain)) members.insert(AllocatedNode(*claim));
    const bool waits = AsksForChannel(*claim, domain) && AllocatedNode(*claim).empty();
    if (waits && is_condition) return true;
  }
  const auto servers = FindServers(truth, system, domain.uid());
  if (std::ssize(servers) < domain["spec"]["numNodes"].AsInt().value_or(0)) return true;
  return std::ranges::any_of(members, [&](const std::string& member) {
    const auto server = servers.find(member);
    return server == servers.end() ||
           !IsInClique(truth, system, domain.uid(), member, server->second);
  });
}

// When a domain was called Ready.
struct CalledReady {
  Time time = {};
  Revision revision = 0;
};

// Whether there was such a thing from when the domain was called Ready until the change, and not
// long before it. A view that is behind may show something after it that came before.
bool HadCause(const OracleContext& context, const GroundTruth& truth, const Change& change,
              const CalledReady& since, bool is_condition) {
  if (HasCause(truth, context.system, *change.before, is_condition)) return true;
  const auto lag = context.system.view_lag + context.system.silence;
  GroundTruth past;
  for (const Change& next : context.server.store().history().changes()) {
    if (next.revision() >= change.revision()) return false;
    // It is as in `past` until now. Leases and Events say nothing of members.
    const bool is_told =
        Lateness(context.system, next.time, change.time) <= kToldWithin + context.system.silence;
    const bool is_since =
        next.revision() > since.revision || (lag > seconds(0) && next.time >= since.time - lag);
    const bool counts =
        is_since && is_told && next.kind != Kind::kLease && next.kind != Kind::kEvent;
    const DomainRecord* record = counts ? past.FindDomain(change.before->uid()) : nullptr;
    if (record != nullptr && HasCause(past, context.system, *record->last, is_condition))
      return true;
    past.Apply(next);
  }
  return false;
}

// Whether daemons on one node of the domain have reported different starts of IMEX until then.
bool WasImexRestarted(const OracleContext& context, const Change& until) {
  std::map<std::string, std::set<std::string>> starts;
  for (const Change& change : context.server.store().history().changes()) {
    if (change.revision() >= until.revision()) break;
    if (change.kind != Kind::kPod) continue;
    const Object& pod = *change.after;
    if (!IsDaemonPod(context.system, pod, until.after->uid())) continue;
    const auto report = json::Parse(At(pod.meta(), {"annotations", kImexAnnotation}).AsString());
    const std::string started = report ? std::as_const(*report)["started"].AsString() : "";
    if (!started.empty()) starts[pod["spec"]["nodeName"].AsString()].insert(started);
  }
  return std::ranges::any_of(starts, [](const auto& item) { return item.second.size() > 1; });
}

bool SaysReady(const Object& domain) { return domain["status"]["status"].AsString() == "Ready"; }
bool HasReadyTrue(const Object& domain) {
  return FindCondition(domain.value(), "Ready")["status"].AsString() == "True";
}

}  // namespace

Oracle ReadinessHasCause(const OracleContext& context) {
  return {.on_change = [context, report = Report("S21 ReadinessHasCause", context.violations),
                        since = std::map<std::string, CalledReady>()](
                           const GroundTruth& truth, const Change& change) mutable {
    if (change.kind != Kind::kComputeDomain || change.type == Change::Type::kDeleted) return;
    if (!context.system.elect) return;
    for (const auto& [what, says] : {std::pair("status.status", &SaysReady),
                                     std::pair("the condition Ready", &HasReadyTrue)}) {
      const bool was_ready = change.before && says(*change.before);
      const bool is_ready = says(*change.after);
      CalledReady& began = since[what + change.after->uid()];
      if (!was_ready && is_ready) began = {.time = change.time, .revision = change.revision()};
      if (!was_ready || is_ready || !context.system.clients.contains(change.actor)) continue;
      if (HadCause(context, truth, change, began, says == &HasReadyTrue)) continue;
      const std::string& reason =
          FindCondition(change.after->value(), "Ready")["reason"].AsString();
      const bool is_lost = says == &HasReadyTrue && reason == "ImexRestartedUnderJob";
      if (is_lost && WasImexRestarted(context, change)) continue;
      report.Say(change, std::string("took back ") + what + " of " +
                             kube::ToString(change.after->key()) +
                             ", whose members all serve, as they did since " +
                             InMilliseconds(change.time - began.time) + " before: " +
                             FindCondition(change.after->value(), "Ready")["message"].AsString());
    }
  }};
}

namespace {

constexpr std::size_t kRequestsMax = 20;  // Of one object and verb, or of one LIST,
constexpr seconds kRequestsIn{1};         // within this time.

// How often it may be sent in that time.
std::size_t BudgetFor(const GroundTruth& truth, const SystemUnderTest& system,
                      const RequestRecord& request) {
  const Target& target = request.target;
  // To decide, and to write. Needed by: scenario=nvidia-permissions order=mixed leaders=2
  // seed=424242016.
  if (target.verb == "get" && !system.may_patch) return 2 * kRequestsMax;
  // Of two leaders each decides again when the other has written the status before it. Needed by:
  // scenario=daemons-without-cliques writer=controller fault=views-stall at=74 stale=nodes+pods
  // order=mixed leaders=2 seed=7 tail=short.
  if (target.verb == "get" && !system.elect) return 2 * kRequestsMax;
  // Needed by: scenario=upgrade-five-domains writer=controller fault=views-stall at=74
  // stale=nodes+pods order=mixed leaders=2 seed=7.
  const bool is_shared =
      target.verb == "list" && !target.key.ns.empty() && target.Query("labelSelector").empty();
  // By all domains, until a process knows that claims of daemons have the label. Needed by:
  // scenario=upgrade-five-domains writer=daemon fault=kind-unknown at=168 stale=pods tail=short.
  const bool is_drivers = target.key.ns == system.driver_namespace;
  // Of a domain that is not cached only the UID is known. Needed by: scenario=upgrade-five-domains
  // writer=controller fault=crash-after at=27 stale=computedomains@995 order=mixed leaders=2
  // seed=26112707 tail=short.
  const bool is_search = target.verb == "list" && target.key.ns.empty() &&
                         target.kind == &Describe(Kind::kComputeDomain);
  if (!is_shared && !is_search) return kRequestsMax;
  const auto domains = std::ranges::count_if(truth.domains(), [&](const auto& domain) {
    return domain.second.exists &&
           (is_search || is_drivers || domain.second.last->key().ns == target.key.ns);
  });
  return kRequestsMax * std::max<std::size_t>(1, static_cast<std::size_t>(domains));
}

// What the request is about, and how; empty: it has no budget. Pages of one LIST are one.
std::string BudgetOf(const RequestRecord& request) {
  const Target& target = request.target;
  if (!target.Query("continue").empty()) return "";
  std::string name = target.key.name;
  if (target.verb == "create") {
    const auto body = json::Parse(request.body);
    const std::string& made = body ? (*body)["metadata"]["name"].AsString() : request.body;
    name = made.empty() ? request.body : made;
  }
  std::string path;
  for (const std::string& segment : target.segments) path += "/" + segment;
  return request.client + " sent " + target.verb + " " + path + " " + name + " " +
         target.Query("labelSelector") + target.Query("fieldSelector");
}

}  // namespace

Oracle RequestsHaveABudget(const OracleContext& context) {
  return {.on_request = [context, last = std::map<std::string, std::deque<Time>>(),
                         said = std::set<std::string>()](const GroundTruth& truth,
                                                         const RequestRecord& request) mutable {
    const bool is_controller = context.system.clients.contains(request.client);
    const bool is_ours = is_controller || request.client.starts_with("daemon/");
    const std::string budget = is_ours ? BudgetOf(request) : "";
    if (budget.empty()) return;
    std::deque<Time>& times = last[budget];
    times.push_back(request.time);
    const std::size_t most = BudgetFor(truth, context.system, request);
    if (times.size() <= most) return;
    const auto took = request.time - times[times.size() - most - 1];
    while (times.size() > most) times.pop_front();
    if (took >= ByFastClock(context.system, kRequestsIn) || !said.insert(budget).second) return;
    context.violations.push_back("Q1 RequestsHaveABudget: " + budget + " " +
                                 std::to_string(most + 1) + " times within " +
                                 InMilliseconds(took));
  }};
}

namespace {

constexpr std::size_t kRepetitionsMax = 20;
constexpr seconds kRepetitionsIn{60};

// Removes what differs each time the same is written.
void LeaveOutVersions(Value& body) {
  if (body.items().empty()) {
    body["metadata"].Erase("resourceVersion");
    Value conditions = Value::Array();
    for (Value condition : body["status"]["conditions"].items()) {
      condition.Erase("lastTransitionTime");
      conditions.Append(std::move(condition));
    }
    body["status"]["conditions"] = std::move(conditions);
    return;
  }
  Value operations = Value::Array();
  for (Value operation : body.items()) {
    const std::string& path = operation["path"].AsString();
    if (path == "/metadata/resourceVersion" || path.starts_with("/metadata/annotations")) continue;
    if (path == "/spec/template") operation["value"]["metadata"].Erase("annotations");
    operations.Append(std::move(operation));
  }
  body = std::move(operations);
}

// Returns what a write of the controller changes, and to what. Of a conflict also which version it
// was for. Empty for other requests.
std::string RepetitionOf(const RequestRecord& request) {
  const Target& target = request.target;
  const bool is_write = target.verb == "create" || target.verb == "patch" ||
                        target.verb == "update" || target.verb == "delete";
  // A conflict ends when the cache is newer, or somebody answers so each time. A name that is taken
  // is tried again at the pace of the read that shows by whom.
  const bool is_conflict = request.status == 409 && target.verb != "create";
  const bool counts = request.status < 300 || is_conflict;
  if (!is_write || !counts || target.kind == nullptr) return "";
  if (target.kind->kind == Kind::kLease || target.kind->kind == Kind::kEvent) return "";
  auto body = json::Parse(request.body.empty() ? "{}" : request.body);
  if (!body) return "";
  if (request.status < 300) LeaveOutVersions(*body);
  return request.ToString() + " " + json::Serialize(*body);
}

}  // namespace

Oracle RepetitionsArePaced(const OracleContext& context) {
  return {.on_request = [context, last = std::map<std::string, std::deque<Time>>(),
                         said = std::set<std::string>()](const GroundTruth& /*truth*/,
                                                         const RequestRecord& request) mutable {
    if (!context.system.clients.contains(request.client)) return;
    const std::string what = RepetitionOf(request);
    if (what.empty()) return;
    std::deque<Time>& times = last[request.client + " " + what];
    times.push_back(request.time);
    if (times.size() <= kRepetitionsMax) return;
    const auto took = request.time - times.front();
    times.pop_front();
    if (took >= ByFastClock(context.system, kRepetitionsIn) || !said.insert(what).second) return;
    context.violations.push_back("Q3 RepetitionsArePaced: " + request.client + " sent the same " +
                                 request.ToString() + " " + std::to_string(kRepetitionsMax + 1) +
                                 " times within " + InMilliseconds(took));
  }};
}

}  // namespace simulation
