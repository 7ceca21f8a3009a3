#include <algorithm>
#include <utility>

#include "test/simulation/oracles/ground_truth.h"
#include "test/simulation/oracles/oracles.h"
#include "test/simulation/oracles/report.h"

namespace simulation {

namespace {

using json::Value;
using std::chrono::seconds;

// One entry of a clique's `daemons`, or of a domain's `status.nodes`.
struct Entry {
  std::string node = {};
  std::string ip = {};
  std::string clique = {};
  std::int64_t index = -1;
  bool ready = false;
};
using Entries = std::vector<Entry>;

Entries ReadEntries(const Value& list, const char* node) {
  Entries entries;
  for (const Value& entry : list.items()) {
    entries.push_back({.node = entry[node].AsString(),
                       .ip = entry["ipAddress"].AsString(),
                       .clique = entry["cliqueID"].AsString(),
                       .index = entry["index"].AsInt().value_or(-1),
                       .ready = entry["status"].AsString() == "Ready"});
  }
  return entries;
}

// Nothing for what is not there.
Entries DaemonsOf(const ObjectPtr& clique) {
  return clique ? ReadEntries((*clique)["daemons"], "nodeName") : Entries();
}
Entries NodesOf(const ObjectPtr& domain) {
  return domain ? ReadEntries((*domain)["status"]["nodes"], "name") : Entries();
}

const Entry* FindNode(const Entries& entries, const std::string& node) {
  const auto it = std::ranges::find(entries, node, &Entry::node);
  return it == entries.end() ? nullptr : &*it;
}

bool HasIndexTwice(const Entries& entries) {
  std::set<std::pair<std::string, std::int64_t>> used;
  return std::ranges::any_of(entries, [&](const Entry& entry) {
    return entry.index >= 0 && !used.emplace(entry.clique, entry.index).second;
  });
}

// Where a member is expected: a clique of a domain, and a node in it.
struct Place {
  kube::Uid domain = {};
  std::string clique = {};
  std::string node = {};
};

// A daemon pod that makes its node a member there: one that has not ended, and has not said that it
// is in another clique.
bool IsPodOf(const SystemUnderTest& system, const Place& place, const Object& pod) {
  const std::string* clique = pod.FindLabel(kCliqueLabel);
  return IsDaemonPod(system, pod, place.domain) && !IsTerminal(pod) &&
         pod["spec"]["nodeName"].AsString() == place.node &&
         (clique == nullptr || *clique == place.clique);
}

// The pod that an entry is about: the one with its address.
ObjectPtr FindPodOf(const GroundTruth& truth, const SystemUnderTest& system, const Place& place,
                    const std::string& ip) {
  for (const auto& [key, pod] : truth.Live(Kind::kPod)) {
    const bool is_it = IsPodOf(system, place, *pod) && (*pod)["status"]["podIP"].AsString() == ip;
    if (is_it) return pod;
  }
  return nullptr;
}

Place PlaceIn(const Object& clique, const std::string& node) {
  return {.domain = DomainOfClique(clique), .clique = clique.Label(kCliqueLabel), .node = node};
}

bool IsCliqueWrite(const Change& change) {
  return change.kind == Kind::kClique && change.type != Change::Type::kDeleted;
}
bool IsDomainWrite(const Change& change) {
  return change.kind == Kind::kComputeDomain && change.type != Change::Type::kDeleted;
}

}  // namespace

// ---- S1

namespace {

// The domain whose channel the pod holds, if it has just begun to run; else empty.
kube::Uid DomainOfStartedPod(const GroundTruth& truth, const Change& change) {
  const Object& pod = *change.after;
  const auto runs = [](const Object& version) {
    return version["status"]["phase"].AsString() == "Running";
  };
  if (!runs(pod) || (change.before && runs(*change.before))) return {};
  for (const PodClaim& wanted : ClaimsOf(pod)) {
    const ObjectPtr claim =
        truth.Get(Kind::kClaim, {.ns = pod.key().ns, .name = std::string(wanted.claim)});
    const auto config = claim ? FindConfig(*claim) : std::nullopt;
    if (config && config->is_channel) return config->domain;
  }
  return {};
}

// Daemon pods that were ready, by UID and address, and until when; nothing: they are.
using Daemons = std::map<std::pair<kube::Uid, std::string>, std::optional<Time>>;
using ReadyDaemons = std::map<std::pair<kube::Uid, std::string>, Daemons>;  // By domain and node.

class ReleaseCheck {
 public:
  explicit ReleaseCheck(const OracleContext& context)
      : system_(context.system), report_("S1 ReleaseGate", context.violations) {}

  void Look(const GroundTruth& truth, const Change& change) {
    if (change.kind == Kind::kPod) return LookAtPod(truth, change);
    if (change.type == Change::Type::kDeleted) return;
    if (change.kind == Kind::kNode) NoteBoot(change);
    if (change.kind == Kind::kClique) NoteWriter(change);
    if (!system_.clients.contains(change.actor)) return;
    if (change.kind == Kind::kClique) {
      CheckReady(change, DomainOfClique(*change.after), DaemonsOf(change.before),
                 DaemonsOf(change.after));
    }
    if (change.kind == Kind::kComputeDomain) {
      Entries nodes = NodesOf(change.after);
      std::erase_if(nodes,
                    [&](const Entry& entry) { return IsSaidInClique(truth, change, entry); });
      CheckReady(change, change.after->uid(), NodesOf(change.before), nodes);
    }
  }

 private:
  void LookAtPod(const GroundTruth& truth, const Change& change) {
    const Object& pod = *change.after;
    const std::string& node = pod["spec"]["nodeName"].AsString();
    const kube::Uid& domain = pod.Label(kDomainLabel);
    const bool is_there = change.type != Change::Type::kDeleted;
    if (IsDaemonPod(system_, pod, domain)) return NoteDaemon(change, is_there);
    const kube::Uid started = is_there ? DomainOfStartedPod(truth, change) : kube::Uid();
    if (started.empty() || WasReady({started, node}, change.time, {})) return;
    if (CrashesAndSaysReady(truth, started, node)) return;
    if (DiedWithItsNodeAndSaysReady(truth, change, started, node)) return;
    report_.Say(change, "started " + Show(Kind::kPod, pod.key()) + " on " + node +
                            " where no daemon is ready");
  }

  // By entry of a clique: whether the controller wrote it as it is.
  void NoteWriter(const Change& change) {
    const bool is_controller = system_.clients.contains(change.actor);
    const Entries before = DaemonsOf(change.before);
    for (const Entry& entry : DaemonsOf(change.after)) {
      const Entry* old = FindNode(before, entry.node);
      const bool is_new = old == nullptr || old->ready != entry.ready || old->ip != entry.ip;
      if (is_new) by_controller_[{change.after->key(), entry.node}] = is_controller;
    }
  }

  // Returns the address under which a daemon says in its clique that it is ready on the node. What
  // the controller wrote does not count.
  std::optional<std::string> SaidReadyUnder(const kube::ObjectKey& key, const ObjectPtr& clique,
                                            const std::string& node) const {
    const Entries daemons = DaemonsOf(clique);
    const Entry* said = FindNode(daemons, node);
    const auto writer = by_controller_.find({key, node});
    const bool is_controllers = writer != by_controller_.end() && writer->second;
    if (said == nullptr || !said->ready || is_controllers) return {};
    return said->ip;
  }

  // A daemon that keeps its own entry, and crashes before it has written what it is, leaves there
  // what it was; and NVIDIA's plugin relies on that. The controller does not write such an entry.
  bool CrashesAndSaysReady(const GroundTruth& truth, const kube::Uid& domain,
                           const std::string& node) const {
    const auto crashes = [](const Value& container) {
      return container["state"]["waiting"]["reason"].AsString() == "CrashLoopBackOff";
    };
    return std::ranges::any_of(truth.Live(Kind::kPod), [&](const auto& item) {
      const Object& pod = *item.second;
      if (!IsDaemonPod(system_, pod, domain) || pod.deleting() || TargetNode(pod) != node ||
          pod.Label(kMembershipWriterLabel) == "controller" ||
          !std::ranges::any_of(pod["status"]["containerStatuses"].items(), crashes)) {
        return false;
      }
      const Entries daemons = DaemonsOf(truth.Get(
          Kind::kClique, {.ns = system_.driver_namespace,
                          .name = CliqueName(domain, std::string(pod.Label(kCliqueLabel)))}));
      const Entry* own = FindNode(daemons, node);
      return own != nullptr && own->ready && own->ip == pod["status"]["podIP"].AsString();
    });
  }

  void NoteBoot(const Change& change) {
    const auto boot = [](const Object& node) {
      return At(node.value(), {"status", "nodeInfo", "bootID"}).AsString();
    };
    const bool has_booted = change.before && boot(*change.before) != boot(*change.after);
    if (has_booted) booted_[change.after->key().name] = change.time;
  }

  // The same of a daemon whose pod was deleted while its machine was down. The next daemon takes
  // the entry over once it runs.
  bool DiedWithItsNodeAndSaysReady(const GroundTruth& truth, const Change& change,
                                   const kube::Uid& domain, const std::string& node) const {
    const auto booted = booted_.find(node);
    if (booted == booted_.end() || change.time - booted->second > system_.delay) return false;
    return std::ranges::any_of(truth.Live(Kind::kClique), [&](const auto& item) {
      const auto& [key, clique] = item;
      if (DomainOfClique(*clique) != domain) return false;
      const std::optional<std::string> ip = SaidReadyUnder(key, clique, node);
      return ip && std::ranges::none_of(truth.Live(Kind::kPod), [&](const auto& other) {
               const Object& pod = *other.second;
               return IsDaemonPod(system_, pod, domain) && pod["status"]["podIP"].AsString() == *ip;
             });
    });
  }

  void NoteDaemon(const Change& change, bool is_there) {
    const Object& pod = *change.after;
    auto& daemons = ready_[{pod.Label(kDomainLabel), pod["spec"]["nodeName"].AsString()}];
    const std::string& ip = pod["status"]["podIP"].AsString();
    const bool is_ready = is_there && IsPodReady(pod) && !pod.deleting();
    // A pod that started again with its node has another address.
    for (auto& [daemon, until] : daemons) {
      const bool was_it = daemon.first == pod.uid() && !until;
      if (was_it && (!is_ready || daemon.second != ip)) until = change.time;
    }
    if (is_ready) daemons[{pod.uid(), ip}].reset();
  }

  // Some daemon there, of an address if one is given, is ready or was no longer ago than what is
  // said of it may lag behind.
  bool WasReady(const std::pair<kube::Uid, std::string>& place, Time now,
                const std::optional<std::string>& ip) const {
    const auto daemons = ready_.find(place);
    if (daemons == ready_.end()) return false;
    return std::ranges::any_of(daemons->second, [&](const auto& item) {
      const auto& [daemon, until] = item;
      return (!ip || *ip == daemon.second) &&
             (!until || Lateness(system_, *until, now) <= system_.delay + system_.silence);
    });
  }

  // By the daemon.
  bool IsSaidInClique(const GroundTruth& truth, const Change& change, const Entry& entry) const {
    const kube::ObjectKey key = {.ns = system_.driver_namespace,
                                 .name = CliqueName(change.after->uid(), entry.clique)};
    return SaidReadyUnder(key, truth.Get(Kind::kClique, key), entry.node) == entry.ip;
  }

  void CheckReady(const Change& change, const kube::Uid& domain, const Entries& before,
                  const Entries& after) {
    for (const Entry& entry : after) {
      const Entry* old = FindNode(before, entry.node);
      const bool is_new = old == nullptr || !old->ready || old->ip != entry.ip;
      if (!entry.ready || !is_new) continue;
      if (WasReady({domain, entry.node}, change.time, entry.ip)) continue;
      report_.Say(change, "called " + entry.node + " ready in " +
                              Show(change.kind, change.after->key()) +
                              ", where no daemon is ready under " + entry.ip);
    }
  }

  const SystemUnderTest& system_;
  Report report_;
  ReadyDaemons ready_;
  std::map<std::pair<kube::ObjectKey, std::string>, bool> by_controller_;  // By clique and node.
  std::map<std::string, Time> booted_;                                     // By node.
};

}  // namespace

Oracle ReleaseGate(const OracleContext& context) {
  return {.on_change = [check = ReleaseCheck(context)](const GroundTruth& truth,
                                                       const Change& change) mutable {
    check.Look(truth, change);
  }};
}

// ---- S2

namespace {

bool RunsDaemon(const SystemUnderTest& system, const Object& pod, const std::string& node) {
  return IsDaemonPod(system, pod, pod.Label(kDomainLabel)) &&
         pod["spec"]["nodeName"].AsString() == node &&
         pod["status"]["phase"].AsString() == "Running";
}

}  // namespace

Oracle OneDomainPerNode(const OracleContext& context) {
  return {.on_change = [&system = context.system,
                        report = Report("S2 OneDomainPerNode", context.violations)](
                           const GroundTruth& truth, const Change& change) {
    if (change.kind != Kind::kPod || change.type == Change::Type::kDeleted) return;
    const Object& pod = *change.after;
    const std::string& node = pod["spec"]["nodeName"].AsString();
    if (!RunsDaemon(system, pod, node) ||
        (change.before && RunsDaemon(system, *change.before, node)))
      return;
    for (const auto& [key, other] : truth.Live(Kind::kPod)) {
      const bool is_rival =
          RunsDaemon(system, *other, node) && other->Label(kDomainLabel) != pod.Label(kDomainLabel);
      if (!is_rival) continue;
      report.Say(change, "started " + Show(Kind::kPod, pod.key()) + " on " + node + ", where " +
                             kube::ToString(key) + " of another domain runs");
    }
  }};
}

// ---- S3

namespace {

// The pods that have had an index, by clique and index.
using Holders = std::map<std::pair<kube::ObjectKey, std::int64_t>, std::set<kube::Uid>>;

// The pod of another node that exists and had the index. Null if there is none.
ObjectPtr FindHolder(const GroundTruth& truth, const SystemUnderTest& system, const Object& clique,
                     const Entry& entry, const std::set<kube::Uid>& holders) {
  for (const auto& [key, pod] : truth.Live(Kind::kPod)) {
    const std::string& node = (*pod)["spec"]["nodeName"].AsString();
    const bool is_one = holders.contains(pod->uid()) && node != entry.node &&
                        IsPodOf(system, PlaceIn(clique, node), *pod);
    if (is_one) return pod;
  }
  return nullptr;
}

void CheckIndices(const GroundTruth& truth, const SystemUnderTest& system, const Change& change,
                  Holders& holders, const Report& report) {
  const Object& clique = *change.after;
  const Entries before = DaemonsOf(change.before);
  for (const Entry& entry : DaemonsOf(change.after)) {
    const Entry* old = FindNode(before, entry.node);
    if (old != nullptr && old->index == entry.index) continue;
    const std::string gave = "gave " + entry.node + " the index " + std::to_string(entry.index);
    if (entry.index < 0 || entry.index >= system.members_max) {
      report.Say(change, gave + ", which does not exist");
    }
    const ObjectPtr holder =
        FindHolder(truth, system, clique, entry, holders[{clique.key(), entry.index}]);
    if (holder)
      report.Say(change, gave + " of " + Show(Kind::kPod, holder->key()) + ", which lives");
  }
}

}  // namespace

Oracle IndexUniqueness(const OracleContext& context) {
  return {.on_change = [&system = context.system,
                        report = Report("S3 IndexUniqueness", context.violations),
                        holders = Holders()](const GroundTruth& truth,
                                             const Change& change) mutable {
    const bool is_clique = IsCliqueWrite(change);
    if (!is_clique && !IsDomainWrite(change)) return;
    const bool is_controller = system.clients.contains(change.actor);
    const Entries before = is_clique ? DaemonsOf(change.before) : NodesOf(change.before);
    const Entries after = is_clique ? DaemonsOf(change.after) : NodesOf(change.after);
    if (is_controller && HasIndexTwice(after) && !HasIndexTwice(before)) {
      report.Say(change, "gave an index twice in " + Show(change.kind, change.after->key()));
    }
    if (!is_clique) return;
    if (is_controller) CheckIndices(truth, system, change, holders, report);
    for (const Entry& entry : after) {
      const ObjectPtr pod = FindPodOf(truth, system, PlaceIn(*change.after, entry.node), entry.ip);
      if (pod) holders[{change.after->key(), entry.index}].insert(pod->uid());
    }
  }};
}

// ---- S4

namespace {

// Nodes that the controller took out of one clique, under which index and when.
struct Left {
  std::int64_t index = -1;
  Time time = {};
};
using LeftByNode = std::map<std::string, Left>;
using LeftByClique = std::map<kube::Uid, LeftByNode>;

// Of daemon pods, by pod and clique.
using Indices = std::map<std::pair<kube::Uid, kube::ObjectKey>, std::int64_t>;

// A little less than the minute, which ends at a whole second.
constexpr std::chrono::seconds kKept{55};

// Whether some index is neither in use nor kept for anybody.
bool HasFreeIndex(const SystemUnderTest& system, const Entries& entries, const LeftByNode& kept) {
  std::set<std::int64_t> taken;
  for (const Entry& entry : entries) taken.insert(entry.index);
  for (const auto& [node, left] : kept) taken.insert(left.index);
  return std::ssize(taken) < system.members_max;
}

void CheckKept(const SystemUnderTest& system, const Change& change, LeftByNode& left,
               const Report& report) {
  const Entries before = DaemonsOf(change.before);
  const Entries after = DaemonsOf(change.after);
  std::erase_if(left, [&](const auto& item) { return change.time >= item.second.time + kKept; });
  for (const Entry& entry : after) {
    if (FindNode(before, entry.node) != nullptr) continue;
    for (const auto& [node, was] : left) {
      const bool is_its_own = node == entry.node;
      if (is_its_own == (was.index == entry.index)) continue;
      if (is_its_own) {
        const auto holds = [&](const Entry& one) { return one.index == was.index; };
        if (std::ranges::any_of(before, holds)) continue;
      } else if (!HasFreeIndex(system, after, left)) {
        continue;
      }
      const std::string kept =
          is_its_own ? std::to_string(was.index) + " is kept for it" : "it is kept for " + node;
      report.Say(change, "gave " + entry.node + " the index " + std::to_string(entry.index) +
                             " although " + kept);
    }
    left.erase(entry.node);
  }
  for (const Entry& entry : before) {
    if (FindNode(after, entry.node) != nullptr) continue;
    left[entry.node] = {.index = entry.index, .time = change.time};
  }
}

}  // namespace

Oracle IndexStability(const OracleContext& context) {
  return {.on_change = [&system = context.system,
                        report = Report("S4 IndexStability", context.violations),
                        left = LeftByClique(), indices = Indices()](const GroundTruth& truth,
                                                                    const Change& change) mutable {
    if (!IsCliqueWrite(change)) return;
    if (system.clients.contains(change.actor)) {
      CheckKept(system, change, left[change.after->uid()], report);
    }
    for (const Entry& entry : DaemonsOf(change.after)) {
      const ObjectPtr pod = FindPodOf(truth, system, PlaceIn(*change.after, entry.node), entry.ip);
      if (!pod) continue;
      const auto [it, is_first] =
          indices.try_emplace({pod->uid(), change.after->key()}, entry.index);
      const std::int64_t before = std::exchange(it->second, entry.index);
      if (is_first || before == entry.index || !system.clients.contains(change.actor)) continue;
      report.Say(change, "moved " + entry.node + " from index " + std::to_string(before) + " to " +
                             std::to_string(entry.index) + " while " +
                             Show(Kind::kPod, pod->key()) + " lives");
    }
  }};
}

// ---- S5

namespace {

// While which revisions, the last one excluded, there was a pod for the place.
std::vector<std::pair<Revision, Revision>> PresenceOf(const History& history,
                                                      const SystemUnderTest& system,
                                                      const Place& place) {
  std::map<kube::Uid, Revision> began;
  std::vector<std::pair<Revision, Revision>> presence;
  for (const std::size_t position : history.ChangesOf(Kind::kPod)) {
    const Change& change = history.changes()[position];
    const Object& pod = *change.after;
    const bool is_there = change.type != Change::Type::kDeleted && IsPodOf(system, place, pod);
    if (is_there) {
      began.emplace(pod.uid(), change.revision());
    } else if (const auto it = began.find(pod.uid()); it != began.end()) {
      presence.emplace_back(it->second, change.revision());
      began.erase(it);
    }
  }
  for (const auto& [uid, since] : began) presence.emplace_back(since, kNewest);
  return presence;
}

// Whether the client read pods live, after the entry was made and before the change, when there was
// none for the place.
bool HasProof(const ApiServer& server, const SystemUnderTest& system, const Place& place,
              Revision entry_since, const Change& change) {
  const auto presence = PresenceOf(server.store().history(), system, place);
  return std::ranges::any_of(server.requests(), [&](const RequestRecord& request) {
    const bool is_look = request.target.verb == "list" || request.target.verb == "get";
    const bool is_live = is_look && request.client == change.actor && request.status == 200 &&
                         request.target.kind != nullptr &&
                         request.target.kind->kind == Kind::kPod &&
                         request.view == request.revision && request.revision >= entry_since &&
                         request.revision < change.revision();
    return is_live && std::ranges::none_of(presence, [&](const auto& interval) {
             return interval.first <= request.revision && request.revision < interval.second;
           });
  });
}

// Since when an entry has been in its clique, by clique and node.
using EntriesSince = std::map<std::pair<kube::ObjectKey, std::string>, Revision>;

void CheckLeavers(const GroundTruth& truth, const SystemUnderTest& system, const Change& change,
                  const EntriesSince& since, const Report& report) {
  const Entries after = NodesOf(change.after);
  const std::set<std::string> users = NodesWithChannels(truth, *change.after);
  for (const Entry& entry : NodesOf(change.before)) {
    if (FindNode(after, entry.node) != nullptr) continue;
    const Place place = {.domain = change.after->uid(), .clique = entry.clique, .node = entry.node};
    const ObjectPtr pod = FindPodOf(truth, system, place, entry.ip);
    if (!entry.clique.empty() && !users.contains(entry.node)) continue;
    const kube::ObjectKey key = {.ns = system.driver_namespace,
                                 .name = CliqueName(place.domain, place.clique)};
    const Entries daemons = DaemonsOf(truth.Get(Kind::kClique, key));
    const Entry* listed = FindNode(daemons, entry.node);
    // One that was taken out and put in again has left meanwhile.
    const bool has_stayed = listed != nullptr && listed->index == entry.index &&
                            since.at({key, entry.node}) <= change.before->revision();
    if (!pod || (!entry.clique.empty() && !has_stayed)) continue;
    report.Say(change, "took " + entry.node + " out of the status of " +
                           kube::ToString(change.after->key()) + " while " +
                           Show(Kind::kPod, pod->key()) + " is a member");
  }
}

}  // namespace

Oracle NoPruneWithoutProof(const OracleContext& context) {
  return {.on_change = [&server = context.server, &system = context.system,
                        report = Report("S5 NoPruneWithoutProof", context.violations),
                        since = EntriesSince()](const GroundTruth& truth,
                                                const Change& change) mutable {
    const bool is_controller = system.clients.contains(change.actor);
    const bool lets_loose = IsDomainWrite(change) && !change.after->deleting();
    if (is_controller && lets_loose) CheckLeavers(truth, system, change, since, report);
    if (!IsCliqueWrite(change)) return;
    const Object& clique = *change.after;
    const Entries after = DaemonsOf(change.after);
    for (const Entry& entry : after) {
      const bool is_new = FindNode(DaemonsOf(change.before), entry.node) == nullptr;
      if (is_new) since[{clique.key(), entry.node}] = change.revision();
    }
    for (const Entry& entry : DaemonsOf(change.before)) {
      if (!is_controller || FindNode(after, entry.node) != nullptr) continue;
      const Place place = PlaceIn(clique, entry.node);
      if (HasProof(server, system, place, since[{clique.key(), entry.node}], change)) continue;
      report.Say(change, "took " + entry.node + " out of " + Show(Kind::kClique, clique.key()) +
                             " without having seen that its pod is gone");
    }
  }};
}

Oracle NoStrangers(const OracleContext& context) {
  return {.on_change = [context, report = Report("S23 NoStrangers", context.violations),
                        users = std::set<std::pair<kube::Uid, std::string>>()](
                           const GroundTruth& truth, const Change& change) mutable {
    const Object& after = *change.after;
    if (change.kind == Kind::kClaim) {
      for (const auto& [uid, record] : truth.domains()) {
        if (HoldsChannel(after, *record.last)) users.emplace(uid, AllocatedNode(after));
      }
    }
    const bool is_told = change.kind == Kind::kClique || change.kind == Kind::kComputeDomain;
    const SystemUnderTest& system = context.system;
    const bool is_judged = system.clients.contains(change.actor) && system.may_read_claims &&
                           Lateness(system, change.time - seconds(1), change.time) == seconds(1);
    if (!is_told || !is_judged || change.type == Change::Type::kDeleted) return;
    const bool is_clique = change.kind == Kind::kClique;
    const kube::Uid domain = is_clique ? DomainOfClique(after) : after.uid();
    const Entries before = is_clique ? DaemonsOf(change.before) : NodesOf(change.before);
    for (const Entry& entry : is_clique ? DaemonsOf(change.after) : NodesOf(change.after)) {
      if (FindNode(before, entry.node) || users.contains({domain, entry.node})) continue;
      report.Say(change, "made " + entry.node + " a member in " + Show(change.kind, after.key()) +
                             ", where no pod of the domain ever was");
    }
  }};
}

}  // namespace simulation
