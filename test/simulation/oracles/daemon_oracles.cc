#include "test/simulation/oracles/daemon_oracles.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "pkg/base/rfc3339.h"
#include "pkg/json/value.h"
#include "test/simulation/oracles/ground_truth.h"

namespace simulation {

namespace {

using json::Value;
using What = ImexEvent::What;
using std::chrono::seconds;

// The longest that a watch is behind.
constexpr auto kLate = seconds(20);
constexpr auto kDeaf = seconds(5);
constexpr std::ptrdiff_t kMembersMax = 18;  // Of a clique.
constexpr std::string_view kClient = "daemon/";

class Complaints {
 public:
  explicit Complaints(const char* oracle) : oracle_(oracle) {}
  void Say(const ImexEvent& event, const std::string& sentence) {
    Say("at revision " + std::to_string(event.revision) + " the daemon of " + event.container.node +
        " " + sentence);
  }
  void Say(const std::string& sentence) {
    violations_.push_back(std::string(oracle_) + ": " + sentence);
  }
  Violations Take() { return std::move(violations_); }

 private:
  const char* oracle_;
  Violations violations_;
};

kube::ObjectKey CliqueKeyOf(const DaemonContainer& container) {
  return {.ns = container.pod.ns, .name = CliqueName(container.domain, container.clique)};
}

// The index of the container's own entry; -1: it has none.
int IndexIn(const Value& clique, const DaemonContainer& container) {
  for (const Value& entry : clique["daemons"].items()) {
    const bool is_own = entry["nodeName"].AsString() == container.node &&
                        entry["ipAddress"].AsString() == container.ip;
    if (is_own) return static_cast<int>(entry["index"].AsInt().value_or(-1));
  }
  return -1;
}

// Whether the clique said so at the event, or shortly before.
bool HadIndex(const History& history, const ImexEvent& event) {
  bool had = false;
  for (const std::size_t place : history.ChangesOf(Kind::kClique)) {
    const Change& change = history.changes()[place];
    if (change.revision() > event.revision) break;
    if (change.after->key() != CliqueKeyOf(event.container)) continue;
    // What it said until now was true until now.
    if (change.time < event.time - kLate) had = false;
    had = had || (change.type != Change::Type::kDeleted &&
                  IndexIn(change.after->value(), event.container) == event.index);
  }
  return had;
}

// The pod of a daemon that sent something; null: never seen.
ObjectPtr PodOfClient(const History& history, const std::string& client) {
  const std::string name = client.substr(kClient.size());
  for (const std::size_t place : history.ChangesOf(Kind::kPod)) {
    const Change& change = history.changes()[place];
    if (change.after->key().name == name) return change.after;
  }
  return nullptr;
}

bool IsOfController(const Object& pod) { return pod.Label(kMembershipWriterLabel) == "controller"; }

// Sets the one name in the one map of the pod's metadata, and its UID as the condition.
bool SetsOnly(const std::string& body, const char* map, std::string_view name) {
  const auto patch = json::Parse(body);
  if (!patch || patch->members().size() != 1) return false;
  const Value& metadata = (*patch)["metadata"];
  return metadata.members().size() == 2 && !metadata["uid"].AsString().empty() &&
         metadata[map].members().size() == 1 && metadata[map].Find(name) != nullptr;
}

bool MaySend(const RequestRecord& request, const Object& pod) {
  const Target& target = request.target;
  if (target.kind == nullptr || target.key.ns != pod.key().ns) return false;
  const bool reads = target.verb == "get" || target.verb == "list" || target.verb == "watch";
  const bool is_of_controller = IsOfController(pod);
  if (target.kind->kind == Kind::kClique) {
    const bool writes = target.verb == "create" || target.verb == "update";
    return reads || (writes && !is_of_controller);
  }
  if (target.kind->kind != Kind::kPod) return false;
  if (reads) return !is_of_controller;
  const bool sets = SetsOnly(request.body, "labels", kCliqueLabel) ||
                    (is_of_controller && SetsOnly(request.body, "annotations", kImexAnnotation));
  return target.verb == "patch" && target.key == pod.key() && target.subresource.empty() && sets;
}

// The entries of other nodes.
Value OthersIn(const ObjectPtr& clique, const std::string& node) {
  Value others = Value::Array();
  if (!clique) return others;
  for (const Value& entry : (*clique)["daemons"].items()) {
    if (entry["nodeName"].AsString() != node) others.Append(entry);
  }
  return others;
}

}  // namespace

// ---- I1

Violations ImexIsKept(const ApiServer& /*server*/, const Fabric& fabric) {
  Complaints report("I1 ImexIsKept");
  struct State {
    bool runs = false;
    bool was_told = false;  // To stop.
  };
  std::map<kube::Uid, State> states;  // Of containers, by pod.
  for (const ImexEvent& event : fabric.events()) {
    State& state = states[event.container.uid];
    switch (event.what) {
      case What::kContainer:
        state = {};
        break;
      case What::kStart:
        if (state.runs) report.Say(event, "started IMEX beside one that runs");
        state.runs = true;
        break;
      case What::kTellsToEnd:
        if (!state.was_told) report.Say(event, "told IMEX to end, which nobody asked it to");
        state.runs = false;
        break;
      case What::kEnd:
        state.runs = false;
        break;
      case What::kToldToStop:
        state.was_told = true;
        break;
      case What::kSignal:
      case What::kStopped:
        break;
    }
  }
  return report.Take();
}

// ---- I2

Violations ImexStartsUnderItsIndex(const ApiServer& server, const Fabric& fabric) {
  Complaints report("I2 ImexStartsUnderItsIndex");
  std::map<kube::Uid, int> before;  // Of this container, by pod.
  for (const ImexEvent& event : fabric.events()) {
    if (event.what == What::kContainer) before.erase(event.container.uid);
    if (event.what != What::kStart) continue;
    const auto [it, is_first] = before.try_emplace(event.container.uid, event.index);
    const bool is_kept = !is_first && std::exchange(it->second, event.index) == event.index;
    if (event.index >= 0 && (is_kept || HadIndex(server.store().history(), event))) continue;
    report.Say(event, "started IMEX under the index " + std::to_string(event.index) +
                          ", which its clique does not have for it");
  }
  return report.Take();
}

// ---- I3

Violations DaemonsWriteTheirOwn(const ApiServer& server, const Fabric& /*fabric*/) {
  Complaints report("I3 DaemonsWriteTheirOwn");
  const History& history = server.store().history();
  std::map<std::string, ObjectPtr> pods;  // By client.
  for (const RequestRecord& request : server.requests()) {
    if (!request.client.starts_with(kClient)) continue;
    const auto [it, is_new] = pods.try_emplace(request.client);
    if (is_new) it->second = PodOfClient(history, request.client);
    if (it->second && MaySend(request, *it->second)) continue;
    report.Say(request.client + " sent " + request.ToString() + " " + request.body);
  }
  for (const std::size_t place : history.ChangesOf(Kind::kClique)) {
    const Change& change = history.changes()[place];
    const auto pod = pods.find(change.actor);
    if (pod == pods.end() || !pod->second) continue;
    const std::string& node = TargetNode(*pod->second);
    if (SameValue(OthersIn(change.before, node), OthersIn(change.after, node))) continue;
    report.Say(change.actor + " changed another's entry at revision " +
               std::to_string(change.revision()));
  }
  return report.Take();
}

// ---- I7

Violations SignalsAreHeard(const ApiServer& /*server*/, const Fabric& fabric) {
  Complaints report("I7 SignalsAreHeard");
  std::map<kube::Uid, Time> last;  // Of the IMEX that runs, by pod.
  for (const ImexEvent& event : fabric.events()) {
    if (event.what == What::kStart) last.erase(event.container.uid);
    if (event.what != What::kSignal) continue;
    const auto [it, is_first] = last.try_emplace(event.container.uid, event.time);
    const Time before = std::exchange(it->second, event.time);
    if (!is_first && event.time - before <= kDeaf) {
      report.Say(event, "signalled IMEX twice within 5 s");
    }
  }
  return report.Take();
}

// ---- I8

Violations DaemonsLeave(const ApiServer& server, const Fabric& fabric) {
  Complaints report("I8 DaemonsLeave");
  const History& history = server.store().history();
  for (const ImexEvent& event : fabric.events()) {
    if (event.what != What::kStopped || !event.why.empty()) continue;
    const ObjectPtr pod = PodOfClient(history, std::string(kClient) + event.container.pod.name);
    if (!pod || IsOfController(*pod)) continue;
    const Objects cliques = history.StateAt(Kind::kClique, event.revision);
    const auto clique = cliques.find(CliqueKeyOf(event.container));
    if (clique == cliques.end() || IndexIn(clique->second->value(), event.container) < 0) continue;
    report.Say(event, "stopped, left its entry in its clique and does not say why");
  }
  return report.Take();
}

// ---- At rest.

namespace {

// A daemon that runs on a node that is not silent, of a domain that exists, and its state.
struct Living {
  const DaemonContainer& container;
  ObjectPtr pod = nullptr;
  ObjectPtr domain = nullptr;
  ObjectPtr clique = nullptr;         // Null: there is none.
  const RunningImex* imex = nullptr;  // Null: it does not run.

  int Index() const { return clique ? IndexIn(clique->value(), container) : -1; }
};

std::vector<Living> LivingIn(const ApiServer& server, const Fabric& fabric) {
  const ObjectStore& store = server.store();
  std::vector<Living> all;
  for (const auto& [uid, container] : fabric.containers()) {
    const ObjectPtr pod = store.Get(Kind::kPod, container.pod);
    const ObjectPtr domain = FindByUid(store.Live(Kind::kComputeDomain), container.domain);
    const bool is_live = pod && pod->uid() == uid && !pod->deleting() && domain &&
                         !domain->deleting() && !fabric.IsSilent(container.node);
    if (!is_live || container.clique.empty()) continue;
    all.push_back({.container = container,
                   .pod = pod,
                   .domain = domain,
                   .clique = store.Get(Kind::kClique, CliqueKeyOf(container)),
                   .imex = fabric.Find(uid)});
  }
  return all;
}

// Indices of entries of others that it has no connection with.
Value UnreachableOf(const Living& living, const Fabric& fabric) {
  const std::set<int> connected = fabric.ConnectedWith(*living.imex);
  std::set<int> missing;
  for (const Value& entry : (*living.clique)["daemons"].items()) {
    const int index = static_cast<int>(entry["index"].AsInt().value_or(-1));
    const bool is_peer = entry["nodeName"].AsString() != living.container.node &&
                         entry["ipAddress"].AsString() != living.container.ip;
    if (is_peer && !connected.contains(index)) missing.insert(index);
  }
  Value unreachable = Value::Array();
  for (const int index : missing) unreachable.Append(index);
  return unreachable;
}

}  // namespace

// ---- I4

Violations ReportsAreTrue(const ApiServer& server, const Fabric& fabric) {
  Complaints report("I4 ReportsAreTrue");
  for (const Living& living : LivingIn(server, fabric)) {
    if (living.imex == nullptr || !living.clique) continue;
    const Value* said = living.pod->meta()["annotations"].Find(kImexAnnotation);
    if (!IsOfController(*living.pod)) {
      if (said != nullptr) report.Say("the daemon of " + living.container.node + " reports");
      continue;
    }
    const auto told = json::Parse(said == nullptr ? "" : said->AsString());
    const Value is = Value::Object({{"index", living.imex->index},
                                    {"state", "READY"},
                                    {"version", "580.1"},
                                    {"started", base::FormatSeconds(living.imex->since)},
                                    {"restarts", living.imex->restarts},
                                    {"unreachable", UnreachableOf(living, fabric)}});
    for (const auto& [name, value] : is.members()) {
      if (told && SameValue((*told)[name], value)) continue;
      report.Say("the daemon of " + living.container.node + " reports " +
                 (said == nullptr ? "nothing" : said->AsString()) + ", not " + json::Serialize(is));
      break;
    }
  }
  return report.Take();
}

// ---- I5

Violations DaemonsAreReady(const ApiServer& server, const Fabric& fabric) {
  Complaints report("I5 DaemonsAreReady");
  for (const Living& living : LivingIn(server, fabric)) {
    const std::string& node = living.container.node;
    const bool is_known = (*living.pod)["status"]["phase"].AsString() != "Unknown";
    const bool has_room = living.Index() >= 0 || !living.clique ||
                          std::ssize((*living.clique)["daemons"].items()) < kMembersMax;
    if (!is_known || !has_room) continue;
    if (living.imex == nullptr) {
      report.Say("on " + node + " no IMEX runs");
      continue;
    }
    if (!IsPodReady(*living.pod)) report.Say("the pod on " + node + " is not ready");
    bool is_ready = false;
    for (const Value& entry :
         living.clique ? (*living.clique)["daemons"].items() : Value::Items()) {
      is_ready = is_ready || (entry["nodeName"].AsString() == node &&
                              entry["ipAddress"].AsString() == living.container.ip &&
                              entry["status"].AsString() == "Ready");
    }
    if (!is_ready) report.Say("the clique of " + node + " does not call it ready");
  }
  return report.Take();
}

// ---- I6

Violations OtherIndicesAreTold(const ApiServer& server, const Fabric& fabric) {
  Complaints report("I6 OtherIndicesAreTold");
  for (const Living& living : LivingIn(server, fabric)) {
    const Value& said = FindCondition(living.domain->value(), "MembersReady");
    if (said["status"].AsString() != "True" || living.imex == nullptr) continue;
    const std::string& node = living.container.node;
    const bool differs =
        living.Index() >= 0 && living.Index() != living.imex->index && IsOfController(*living.pod);
    const std::string& message = said["message"].AsString();
    const std::size_t at = std::min(message.find("with another index"), message.size());
    const bool is_told =
        message.substr(at, message.find(". ", at) - at).find(node + " (as ") != std::string::npos;
    if (differs == is_told) continue;
    report.Say(kube::ToString(living.domain->key()) + (differs ? " does not say" : " says") +
               " that IMEX on " + node + " runs with another index");
  }
  return report.Take();
}

// ---- I10

namespace {

// A start of IMEX on a node of a domain where an earlier one had run.
struct Restart {
  const ImexEvent* start = nullptr;
  const ImexEvent* before = nullptr;  // Start of the earlier one.
  Time ended = {};                    // The end of the earlier one.
};

std::vector<Restart> RestartsOf(const Fabric& fabric, const kube::Uid& domain) {
  struct Last {
    const ImexEvent* start = nullptr;
    std::optional<Time> ended = {};
  };
  std::map<std::string, Last> last;  // By node.
  std::vector<Restart> restarts;
  for (const ImexEvent& event : fabric.events()) {
    if (event.container.domain != domain || event.what == What::kSignal) continue;
    Last& of_node = last[event.container.node];
    if (of_node.start != nullptr && !of_node.ended) of_node.ended = event.time;
    if (event.what != What::kStart) continue;
    if (of_node.start != nullptr) {
      restarts.push_back({.start = &event, .before = of_node.start, .ended = *of_node.ended});
    }
    of_node = {.start = &event};
  }
  return restarts;
}

// When the claim got its node.
Time AllocatedAt(const History& history, const Object& claim) {
  for (const std::size_t place : history.ChangesOf(Kind::kClaim)) {
    const Change& change = history.changes()[place];
    const bool is_it = change.after && change.after->uid() == claim.uid();
    if (is_it && !AllocatedNode(*change.after).empty()) return change.time;
  }
  return Time::max();
}

// For how long the earlier IMEX served a pod that was there when the later was started.
std::chrono::microseconds ServedBefore(const History& history, const Object& domain,
                                       const Restart& restart) {
  std::chrono::microseconds longest{0};
  for (const auto& [key, claim] : history.StateAt(Kind::kClaim, restart.start->revision)) {
    const bool is_there =
        IsConsumer(*claim, domain) && AllocatedNode(*claim) == restart.start->container.node;
    if (!is_there) continue;
    const Time since = std::max(AllocatedAt(history, *claim), restart.before->time);
    longest = std::max<std::chrono::microseconds>(
        longest, std::chrono::duration_cast<std::chrono::microseconds>(restart.ended - since));
  }
  return longest;
}

// Controllers that sent something from then on.
std::size_t ControllersSince(const ApiServer& server, Time time) {
  std::set<std::string> clients;
  for (const RequestRecord& request : server.requests()) {
    if (request.time >= time && request.client.starts_with("controller")) {
      clients.insert(request.client);
    }
  }
  return clients.size();
}

}  // namespace

Violations LostMemoryIsTold(const ApiServer& server, const Fabric& fabric) {
  Complaints report("I10 LostMemoryIsTold");
  const ObjectStore& store = server.store();
  std::map<std::string, std::string> cliques;  // By node.
  for (const ImexEvent& event : fabric.events()) {
    cliques[event.container.node] = event.container.clique;
  }
  for (const auto& [key, domain] : store.Live(Kind::kComputeDomain)) {
    if (domain->deleting()) continue;
    bool may_be_lost = false;
    std::string lost_on;
    for (const Restart& restart : RestartsOf(fabric, domain->uid())) {
      const auto served = ServedBefore(store.history(), *domain, restart);
      // Whether a pod is left that was in its clique before that time.
      const auto is_left = [&](Time before) {
        return std::ranges::any_of(store.Live(Kind::kClaim), [&](const auto& item) {
          return IsConsumer(*item.second, *domain) &&
                 cliques[AllocatedNode(*item.second)] == restart.start->container.clique &&
                 AllocatedAt(store.history(), *item.second) <= before;
        });
      };
      // When exactly a controller saw a claim and a start is not known.
      if (served <= std::chrono::microseconds(0) || !is_left(restart.start->time + kLate)) continue;
      may_be_lost = true;
      const DaemonContainer& container = restart.start->container;
      const ObjectPtr pod = PodOfClient(store.history(), std::string(kClient) + container.pod.name);
      const bool reports = pod && IsOfController(*pod) && !container.clique.empty();
      const bool is_certain =
          served > kLate && reports && ControllersSince(server, restart.before->time) == 1;
      if (is_certain) lost_on = restart.start->container.node;
    }
    const Value& said = FindCondition(domain->value(), "MemoryShared");
    if (!lost_on.empty() && said["status"].AsString() == "True") {
      report.Say(kube::ToString(key) +
                 " says that memory is shared, though IMEX was started again on " + lost_on +
                 " under pods that are left");
    }
    if (!may_be_lost && said["reason"].AsString() == "ImexRestartedUnderJob") {
      report.Say(kube::ToString(key) +
                 " says that IMEX was started again, which it was under no pod");
    }
  }
  return report.Take();
}

// ---- I9

Violations DaemonsAreQuiet(const ApiServer& server, std::size_t since) {
  Complaints report("I9 DaemonsAreQuiet");
  for (std::size_t i = since; i < server.requests().size(); ++i) {
    const RequestRecord& request = server.requests()[i];
    if (!request.client.starts_with(kClient) || request.target.verb == "watch") continue;
    report.Say(request.client + " sent " + request.ToString());
  }
  return report.Take();
}

namespace {

template <typename... Oracles>
Violations All(const ApiServer& server, const Fabric& fabric, Oracles... oracles) {
  Violations all;
  (std::ranges::move(oracles(server, fabric), std::back_inserter(all)), ...);
  return all;
}

}  // namespace

Violations CheckDaemons(const ApiServer& server, const Fabric& fabric) {
  return All(server, fabric, ImexIsKept, ImexStartsUnderItsIndex, DaemonsWriteTheirOwn,
             SignalsAreHeard, DaemonsLeave);
}

Violations CheckDaemonsAtRest(const ApiServer& server, const Fabric& fabric) {
  return All(server, fabric, ReportsAreTrue, DaemonsAreReady, OtherIndicesAreTold,
             LostMemoryIsTold);
}

}  // namespace simulation
