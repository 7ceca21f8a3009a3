#include "test/simulation/scenarios/world.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "pkg/base/check.h"
#include "test/fixtures/nvidia_permissions.h"
#include "test/simulation/apiserver/shipped_permissions.h"
#include "test/simulation/apiserver/shipped_policies.h"
#include "test/simulation/mutants/mutants.h"
#include "test/simulation/oracles/daemon_oracles.h"
#include "test/simulation/scenarios/scenarios.h"

namespace simulation {

namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr int kStepsMax = 500'000;       // Of one run; some hundreds are usual.
constexpr auto kRest = seconds(75);      // Nothing of the controller due for this long is rest.
constexpr auto kPhaseMax = minutes(60);  // Of virtual time, for one phase.
const std::string kLostNode = "node-b";

// How long what is written may be late because of a fault: if the process dies or stands still,
// until its Lease is over, and it is tried again.
constexpr auto kHealingOfProcess = seconds(20);
// What failed otherwise is tried again, after a back-off or the Retry-After of a 429.
constexpr auto kHealingOfRequest = seconds(2);

// And how much longer it may take until all is at rest; and a controller that lacks permissions
// backs off.
constexpr auto kHealedWithin = seconds(180);
constexpr auto kAsksWithin = seconds(120);
// A leader looks at a pod that waits ever less often, each of two in its own time.
constexpr auto kLooksWithin = seconds(300);

// How many requests more a fault may cost: a process that starts reads all that it watches, and
// what failed is tried again, ever more rarely.
constexpr int kMoreRequests = 60;

// How long a process stands still: until its Lease has been over for a while.
constexpr auto kFrozen = seconds(30);

// How long a kind cannot be read: until its view has been old for a while, or until a process that
// started without it should have done what does not need it.
constexpr auto kUnreadable = seconds(150);
constexpr auto kUnknown = seconds(240);
// A leader that could not read domains has given the Lease up, and asks again after a minute.
constexpr auto kFitAgain = seconds(65);
// What failed all the while is tried again.
constexpr auto kSlowestRetry = seconds(35);

// A silent watch is listed after five minutes. The LIST may fail for a minute before the view is
// old.
constexpr auto kSilence = minutes(6);
// After a restore every kind is listed.
constexpr auto kListed = seconds(10);
// When a kind that is not served is looked for again.
constexpr auto kLooksAgain = seconds(35);

// How long a node that joins waits for others at most.
constexpr auto kLongestWindow = seconds(16);

constexpr seconds kStaleMax = minutes(5);  // Of a phase.

// The back-off of a watch that breaks earlier grows.
constexpr auto kFlakyAfter = seconds(1);

constexpr std::chrono::seconds kClocksApart{10};
constexpr int kDriftPerMillion = 10'000;

// Of two replicas the hosts' clocks differ, and drift apart.
Skew SkewOf(const RunSpec& spec, std::size_t slot) {
  if (!spec.two_leaders && !spec.standby) return {};
  std::mt19937_64 random(2 * spec.seed + slot);
  const auto drawn = [&](int most) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(2 * most + 1)) - most;
  };
  return {.ahead = std::chrono::seconds(drawn(static_cast<int>(kClocksApart.count()))),
          .per_million = drawn(kDriftPerMillion)};
}

Writer WriterOf(const ObjectStore& store, const std::string& client) {
  const std::string accounts = "system:serviceaccount:" + std::string(kDriverNamespace) + ":";
  const std::string of = client.substr(client.find('/') + 1);
  if (client.starts_with("controller-")) return {.user = accounts + "cdom-controller"};
  if (client.starts_with("plugin/")) {
    return {.user = accounts + "cdom-kubelet-plugin", .node = of};
  }
  if (!client.starts_with("daemon/")) return {.user = client};
  Writer daemon = {.user = accounts + "compute-domain-daemon-service-account"};
  const ObjectPtr pod = store.Get(Kind::kPod, {.ns = std::string(kDriverNamespace), .name = of});
  if (!pod) return daemon;  // With it the token has gone.
  daemon.node = (*pod)["spec"]["nodeName"].AsString();
  daemon.pod = of;
  daemon.pod_uid = pod->uid();
  return daemon;
}

// By the policies that ship, in their words.
std::string WhyRefused(const ObjectStore& store, const ObjectStore::Admission& write) {
  const char* of_one = write.before.IsNull() ? "CREATE" : "UPDATE";
  const Admitted admitted = {
      .by = WriterOf(store, write.actor),
      .operation = write.after.IsNull() ? "DELETE" : of_one,
      .resource = write.kind.resource.plural,
      .subresource = write.subresource == Subresource::kStatus ? "status" : "",
      .ns = write.key.ns,
      .name = write.key.name,
      .before = write.before,
      .after = write.after};
  const std::vector<Objection> objections = FindObjections(admitted);
  if (objections.empty()) return "";
  return "ValidatingAdmissionPolicy '" + objections.front().policy + "' denied request: rule " +
         std::to_string(objections.front().rule);
}

// What a server says that does not do what it is asked.
http::Response Missing(Fault fault) {
  Reply reply = Failed(409, "Conflict", "the object has been modified");
  http::Response response;
  if (fault == Fault::kForbidden) reply = Failed(403, "Forbidden", "not today");
  if (fault == Fault::kServerError) reply = Failed(500, "InternalError", "etcd has no leader");
  if (fault == Fault::kReplyLost) {
    reply = Failed(504, "Timeout", "no reply from upstream");
    response.retry_after = seconds(1);
  }
  if (FailsReads(fault)) reply = Failed(503, "ServiceUnavailable", "a shard is down");
  if (fault == Fault::kTooManyRequests) {
    reply = Failed(429, "TooManyRequests", "too many requests");
    response.retry_after = seconds(1);
  }
  response.status = reply.code;
  response.body = json::Serialize(reply.status);
  if (fault == Fault::kForeignNotFound || fault == Fault::kForeignConflict) {
    response.status = fault == Fault::kForeignNotFound ? 404 : 409;
    response.body = "<html>default backend</html>";
  }
  return response;
}

}  // namespace

void World::ContinueAs(const RunSpec& spec) { spec_ = spec; }

World::World(const RunSpec& spec, bool trace, BeforeRequest before_request)
    : spec_(spec),
      trace_(trace),
      before_request_(std::move(before_request)),
      random_(spec.seed),
      daemons_(
          cluster_.server(), cluster_.store(),
          [this](const std::string& client, const http::Request& request) {
            return ServeRequest(client, request);
          },
          [this](const std::string& client, const http::Request& request) {
            return OpenWatch(client, request);
          },
          [this](const std::string& node) { cluster_.agent(node).Wake(); }, spec.seed) {
  if (spec_.own_daemons) cluster_.RunDaemonsBy(daemons_);
  if (!FindScenario(spec_.scenario)->has_nvidia_permissions) {
    cluster_.server().Refuse([](const std::string& client, const Target& target) {
      return client.starts_with("controller") && !ShippedPermissions::OfController().Allow(target);
    });
    cluster_.store().Admit([this](const ObjectStore::Admission& write) {
      const std::string why = WhyRefused(cluster_.store(), write);
      return why.empty() ? WhyOverQuota(write) : why;
    });
  } else {
    system_.may_read_claims = false;
    system_.may_patch = false;
    cluster_.server().Refuse([](const std::string& client, const Target& target) {
      const std::string& of = target.kind->resource.plural;
      const kube::Permission right = {
          .verb = target.verb,
          .resource = target.subresource.empty() ? of : of + "/" + target.subresource};
      return client.starts_with("controller") && !fixtures::IsNvidiasPermission(right);
    });
  }
  // The first keeps the order of the kinds.
  std::vector<Kind> kinds(kAllKinds.begin(), kAllKinds.end());
  std::mt19937_64 order(spec.seed);
  if (spec.seed > 1) std::ranges::shuffle(kinds, order);
  cluster_.namespace_controller().SetOrder(std::move(kinds));
  cluster_.AddNamespace("train");
  cluster_.AddNamespace("lab");
  for (const auto& [node, clique] : FindScenario(spec_.scenario)->nodes) {
    NodeAgent& agent = cluster_.AddNode(node, clique);
    if (!spec_.controller_writes) agent.LookNowAndThen();
  }
  cluster_.Settle();
  start_ = cluster_.store().revision();
  system_.daemon_image = ReplicaOptions().image;
  system_.says_all = true;
  if (spec_.two_leaders || spec_.standby || spec_.mixed) system_.pace = kLongestWindow;
  // It is late in hearing of pods, and then of the clique that it wrote.
  if (spec_.mixed) {
    system_.view_lag = 2 * Replica::kLagMax;
    system_.delay += system_.view_lag;
  }
  system_.elect = !spec_.two_leaders;
  if (spec_.two_leaders || spec_.standby) {
    system_.clocks_apart = kClocksApart;
    system_.clocks_drift_per_million = kDriftPerMillion;
  }
}

void World::Note(const std::string& line) {
  if (!trace_) return;
  const auto age =
      std::chrono::duration_cast<std::chrono::milliseconds>(cluster_.now() - Cluster::kStart);
  outcome_.trace.push_back(std::to_string(age.count()) + " ms " + line);
}

std::size_t World::CountTemplates(const std::string& ns) const {
  return static_cast<std::size_t>(std::ranges::count(
      All(Kind::kClaimTemplate), ns, [](const auto& item) { return item.first.ns; }));
}

std::string World::WhyOverQuota(const ObjectStore::Admission& write) const {
  const auto quota = quotas_.find(write.key.ns);
  const bool is_counted = write.kind.kind == Kind::kClaimTemplate && write.before.IsNull();
  if (!is_counted || quota == quotas_.end()) return "";
  const std::size_t used = CountTemplates(quota->first);
  if (used < quota->second) return "";
  const std::string of = "count/resourceclaimtemplates.resource.k8s.io=";
  return "exceeded quota: templates, requested: " + of + "1, used: " + of + std::to_string(used) +
         ", limited: " + of + std::to_string(quota->second);
}

// ---- What users do.

void World::SetQuota(const std::string& ns, std::optional<std::size_t> templates) {
  Note("-- the quota of " + ns + " is " + (templates ? std::to_string(*templates) : "taken away"));
  quotas_.erase(ns);
  if (templates) quotas_[ns] = *templates;
}

void World::CreateDomain(const DomainName& domain) {
  if (!first_) first_ = domain;
  // A namespace that is going takes no more.
  const ObjectPtr ns = Get(Kind::kNamespace, {.name = domain.key.ns});
  if (!ns || ns->deleting()) return;
  Note("-- the user creates the domain " + kube::ToString(domain.key));
  cluster_.CreateDomain(domain.key, domain.template_name, domain.num_nodes);
}

void World::UserDeletes(const DomainName& domain, const std::string& propagation) {
  if (!DomainIsLive(domain)) return;
  Note("-- the user deletes the domain " + kube::ToString(domain.key));
  cluster_.DeleteDomain(domain.key, propagation);
}

void World::UserRecreates(const DomainName& domain) {
  UserDeletes(domain);
  wanted_ = domain;
}

void World::UserDeletes(Kind kind, const kube::ObjectKey& key) {
  Note("-- the user deletes " + Describe(kind).resource.kind + " " + kube::ToString(key));
  (void)cluster_.store().Delete("user", kind, key, {.propagation = "Background"});
}

void World::UserForceDeletes(const kube::ObjectKey& pod) {
  Note("-- the user deletes pod " + kube::ToString(pod) + " by force");
  (void)cluster_.store().Delete("user", Kind::kPod, pod, {.grace = 0});
}

void World::UserCreates(Kind kind, const std::string& ns, json::Value object) {
  Note("-- a user creates " + Describe(kind).resource.kind + " " +
       object["metadata"]["name"].AsString());
  (void)cluster_.store().Create("user", kind, ns, std::move(object));
}

void World::UserEdits(Kind kind, const kube::ObjectKey& key,
                      const std::function<void(json::Value& object)>& change) {
  Note("-- a user edits " + Describe(kind).resource.kind + " " + kube::ToString(key));
  (void)cluster_.store().Edit("user", kind, key, change);
}

void World::UpgradeController(const std::string& image) {
  system_.daemon_image = image;
  // The new process waits until the Lease of the old one has expired.
  system_.excuses.push_back({.from = cluster_.now(), .until = cluster_.now() + kHealingOfProcess});
  for (std::size_t slot = 0; slot < replicas_.size(); ++slot) {
    replicas_[slot].reset();
    StartReplica(slot, {});
  }
}

void World::RunWithoutController(const std::function<void()>& meanwhile) {
  Note("-- the controller dies");
  const std::size_t slots = replicas_.size();
  replicas_.clear();
  const std::size_t excuse = system_.excuses.size();
  system_.excuses.push_back({.from = cluster_.now()});
  meanwhile();
  system_.excuses[excuse].until = cluster_.now() + kHealingOfProcess;
  replicas_.resize(slots);
  for (std::size_t slot = 0; slot < slots; ++slot) StartReplica(slot, {});
}

void World::UserLabelsNode(const std::string& node, const std::string& value) {
  Note("-- the user labels " + node + " as of \"" + value + "\"");
  (void)cluster_.store().Edit("user", Kind::kNode, {.name = node}, [&](json::Value& object) {
    json::Value& labels = object["metadata"]["labels"];
    labels.Erase(kDomainLabel);
    if (!value.empty()) labels[kDomainLabel] = value;
  });
}

Workload& World::StartJob(const std::string& name, const DomainName& domain,
                          std::vector<std::string> nodes, const std::string& claim) {
  jobs_.push_back(&cluster_.AddWorkload({.ns = domain.key.ns, .name = name}, domain.template_name,
                                        std::move(nodes), claim));
  return *jobs_.back();
}

bool World::StepUser() {
  if (!wanted_ || Get(Kind::kComputeDomain, wanted_->key)) return false;
  CreateDomain(*std::exchange(wanted_, {}));
  return true;
}

// One write at a time, each as soon as the controller has repaired what it undid.
bool World::StepUndoer() {
  if (!undoes_repairs_) return false;
  for (const auto& [key, set] : All(Kind::kDaemonSet)) {
    const std::string generation = std::to_string(set->meta()["generation"].AsInt().value_or(0));
    const std::string& stamp = At(set->meta(), {"annotations", kTemplateHashAnnotation}).AsString();
    if (set->deleting() || !stamp.ends_with(":" + generation)) continue;
    UserEdits(Kind::kDaemonSet, key, [&](json::Value& object) {
      object["spec"]["template"]["metadata"]["annotations"]["edited"] = generation;
    });
    return true;
  }
  for (const auto& [key, clique] : All(Kind::kClique)) {
    if (clique->deleting() || clique->Label(kDomainLabel).empty()) continue;
    UserEdits(Kind::kClique, key,
              [](json::Value& object) { object["metadata"]["labels"].Erase(kDomainLabel); });
    return true;
  }
  for (const auto& [key, domain] : All(Kind::kComputeDomain)) {
    if (domain->deleting() || !domain->HasFinalizer(kFinalizer)) continue;
    UserEdits(Kind::kComputeDomain, key,
              [](json::Value& object) { object["metadata"].Erase("finalizers"); });
    return true;
  }
  return false;
}

void World::LoseNode() {
  system_.pace = kLongestWindow;
  Note("-- " + kLostNode + " falls silent");
  cluster_.FailNode(kLostNode);
  node_is_lost_ = true;
}

// ---- Requests and faults.

void World::StartReplica(std::size_t slot, std::map<std::string, Revision> stale,
                         const kube::Fitness& fitness) {
  const std::string client = "controller-" + std::to_string(++processes_);
  system_.clients.insert(client);
  Note("-- process " + client + " starts");
  const ReplicaOptions options = {.client = client,
                                  .elects = !spec_.two_leaders,
                                  .controller_writes = spec_.controller_writes,
                                  .mixed = spec_.mixed,
                                  .image = system_.daemon_image,
                                  .rules = FindMutant(spec_.mutant)->rules,
                                  .stale = std::move(stale),
                                  .silent = silent_,
                                  .believes_silence = FindMutant(spec_.mutant)->believes_silence,
                                  .seed = spec_.seed + static_cast<std::uint64_t>(processes_),
                                  .skew = SkewOf(spec_, slot),
                                  .fitness = fitness};
  replicas_[slot] = std::make_unique<Replica>(
      cluster_.server(), options,
      [this, client](const http::Request& request) {
        base::Result<http::Response> reply = ServeRequest(client, request);
        const auto hears = FindMutant(spec_.mutant)->hears;
        if (hears != nullptr && reply) *reply = hears(request, *std::move(reply));
        return reply;
      },
      [this, client](const http::Request& request) { return OpenWatch(client, request); });
}

bool World::Applies(Fault fault, const http::Request& request) const {
  switch (fault) {
    case Fault::kNone:
      return false;
    case Fault::kConflict:
      return request.method != http::Method::kGet;
    case Fault::kUserDeletes:
    case Fault::kUserRecreates:
      return first_ && DomainIsLive(*first_);
    case Fault::kWatchBreaks:
      return IsWatch(request) || std::ranges::any_of(replicas_, [](const auto& replica) {
               return replica->HasOpenWatch();
             });
    case Fault::kImexEnds:
    case Fault::kDaemonDies:
      return daemons_.Victim(kLostNode) != nullptr;
    case Fault::kRestored:
      return std::ranges::all_of(replicas_,
                                 [](const auto& replica) { return replica->WatchesAll(); });
    default:
      return true;
  }
}

bool World::IsRefused(const std::string& client, const http::Request& request) const {
  if (!refused_ || request.method == http::Method::kGet) return false;
  const KindInfo* kind = ParseTarget(request.method, request.path).kind;
  return client.starts_with("controller") && kind != nullptr && kind->kind == *refused_;
}

bool World::IsUnreadable(const std::string& client, const http::Request& request) const {
  if (cluster_.now() >= reads_fail_until_ || request.method != http::Method::kGet) return false;
  const KindInfo* kind = ParseTarget(request.method, request.path).kind;
  return client.starts_with("controller") && kind != nullptr &&
         ParseStale(spec_.stale, 0).contains(kind->resource.plural);
}

base::Result<http::Response> World::ServeRequest(const std::string& client,
                                                 const http::Request& request) {
  // Renewals of the Lease are one request over and over; of each process the first ones stand for
  // all.
  constexpr int kLeaseRequests = 4;
  const bool is_lease = request.path.find("/leases") != std::string::npos;
  const bool counts = !is_quiet_ && (!is_lease || ++lease_requests_[client] <= kLeaseRequests);
  if (counts) {
    ++outcome_.requests;
    if (before_request_) before_request_(request);
  }
  const bool has_fault = counts && outcome_.requests == spec_.at && Applies(spec_.fault, request);
  const std::string text = client + " " + std::string(http::ToString(request.method)) + " " +
                           request.path + (has_fault ? "   <- fault" : "");
  if (!has_fault) {
    const bool is_refused = IsRefused(client, request);
    http::Response response = IsUnreadable(client, request) ? Missing(Fault::kReadsFail)
                              : is_refused                  ? Missing(Fault::kForbidden)
                                           : cluster_.server().Handle(client, request);
    if (counts) Note(text + " " + std::to_string(response.status));
    return response;
  }
  Note(text);
  return InjectFault<http::Response>(client, request,
                                     [&] { return cluster_.server().Handle(client, request); });
}

base::Result<WatchStream> World::OpenWatch(const std::string& client,
                                           const http::Request& request) {
  const bool counts = !is_quiet_;
  if (counts) {
    ++outcome_.watches;
    if (before_request_) before_request_(request);
  }
  const bool has_fault = counts && outcome_.watches == spec_.watch && Applies(spec_.fault, request);
  const std::string text = client + " WATCH " + request.path + (has_fault ? "   <- fault" : "");
  const auto open = [&] { return cluster_.server().OpenWatch(client, request); };
  if (!has_fault) {
    WatchStream stream =
        IsUnreadable(client, request) ? WatchStream(Missing(Fault::kReadsFail)) : open();
    if (counts) Note(text + " " + std::to_string(stream.opening().status));
    return stream;
  }
  Note(text);
  // Once it is open, the view shows what was so before, while the others show what is so now.
  system_.view_lag = std::max<std::chrono::seconds>(system_.view_lag, kHealingOfRequest);
  if (spec_.fault != Fault::kWatchBreaks) {
    return InjectFault<WatchStream>(client, request, open);
  }
  outcome_.faulted = true;
  ExcuseFault();
  WatchStream stream = open();
  stream.Break();
  return stream;
}

void World::FailReads() {
  const auto time = spec_.fault == Fault::kReadsFail ? kUnreadable : kUnknown;
  reads_fail_until_ = cluster_.now() + time;
  // A watch that opens again shows all that was so meanwhile, and reads showed the end of it.
  system_.view_lag = time + kSlowestRetry;
  for (const auto& [kind, none] : ParseStale(spec_.stale, 0)) system_.unreadable.insert(kind);
  system_.unreadable_until = reads_fail_until_ + kSlowestRetry;
}

void World::ExcuseFault() {
  if (!ChangesNothing(spec_)) return;  // It does not hinder the controller itself.
  // What happened at once is heard of in pieces, each of which makes the next wait longer.
  if (spec_.fault == Fault::kWatchBreaks) system_.pace = kLongestWindow;
  const bool ends_process = spec_.fault == Fault::kCrashBefore ||
                            spec_.fault == Fault::kCrashAfter || spec_.fault == Fault::kFreezes ||
                            spec_.fault == Fault::kDaemonDies || spec_.fault == Fault::kKindUnknown;
  const auto healing = ends_process ? kHealingOfProcess : kHealingOfRequest;
  const auto stands_still = spec_.fault == Fault::kFreezes       ? kFrozen
                            : spec_.fault == Fault::kReadsFail   ? kUnreadable + kSlowestRetry
                            : spec_.fault == Fault::kKindUnknown ? kUnknown + kSlowestRetry
                            : spec_.fault == Fault::kRestored    ? kListed
                                                                 : seconds(0);
  const auto asks_late = system_.unreadable.contains("computedomains") ? kFitAgain : seconds(0);
  system_.excuses.push_back({.from = cluster_.now(),
                             .until = cluster_.now() + stands_still + healing + asks_late,
                             .is_of_reads = FailsReads(spec_.fault)});
  if (FailsReads(spec_.fault) || spec_.fault == Fault::kWatchesSilent) return;
  const Time ends = spec_.fault == Fault::kRestored ? system_.excuses.back().until : Time::max();
  const auto newest = spec_.fault == Fault::kViewsStall ? cluster_.store().revision() : start_;
  for (const auto& [kind, view] : ParseStale(spec_.stale, static_cast<std::int64_t>(newest))) {
    // Up to the next change it was the truth.
    const Numbered<Change>& changes = cluster_.store().history().changes();
    const auto next = std::ranges::upper_bound(changes, static_cast<Revision>(view), {},
                                               [](const Change& c) { return c.revision(); });
    system_.excuses.push_back(
        {.from = next == changes.end() ? cluster_.now() : next->time, .until = ends});
  }
}

template <typename Reply>
base::Result<Reply> World::InjectFault(const std::string& client, const http::Request& request,
                                       const std::function<Reply()>& serve) {
  outcome_.faulted = true;
  if (FailsReads(spec_.fault)) FailReads();
  ExcuseFault();
  switch (spec_.fault) {
    case Fault::kNone:
      break;
    case Fault::kCrashBefore:
      throw ProcessDied();
    case Fault::kCrashAfter:
      (void)serve();
      throw ProcessDied();
    case Fault::kReplyLost: {
      (void)serve();
      if (spec_.at % 2 == 0) return Reply(Missing(spec_.fault));
      const bool is_write = request.method != http::Method::kGet;
      return base::Fail(
          is_write ? base::ErrorCode::kUnknownOutcome : base::ErrorCode::kDeadlineExceeded,
          "the reply was lost");
    }
    case Fault::kConflict:
    case Fault::kForbidden:
    case Fault::kTooManyRequests:
    case Fault::kServerError:
    case Fault::kForeignNotFound:
    case Fault::kForeignConflict:
      return Reply(Missing(spec_.fault));
    case Fault::kUserDeletes:
      UserDeletes(*first_);
      break;
    case Fault::kUserRecreates:
      UserRecreates(*first_);
      break;
    case Fault::kWatchesExpire:
      cluster_.server().Compact(cluster_.store().revision());
      for (const auto& replica : replicas_) replica->ExpireWatches();
      daemons_.ExpireWatches();
      break;
    case Fault::kWatchBreaks:
      for (const auto& replica : replicas_) replica->BreakWatches(seconds(0));
      daemons_.BreakWatches();
      break;
    case Fault::kNodeLost:
      LoseNode();
      break;
    case Fault::kFreezes:
      for (const auto& replica : replicas_) {
        if (replica->client() == client) replica->FreezeUntil(cluster_.now() + kFrozen);
      }
      system_.stood_still_until[client] = cluster_.now() + kFrozen;
      break;
    case Fault::kViewsStall: {
      // Once it goes on, the view shows what was so before, while the others show what is so now.
      system_.view_lag = kStaleMax;
      const auto now = static_cast<std::int64_t>(cluster_.store().revision());
      for (const auto& [kind, revision] : ParseStale(spec_.stale, now)) {
        for (const auto& replica : replicas_) {
          replica->FallBehind(kind, static_cast<Revision>(revision));
        }
      }
      break;
    }
    case Fault::kReadsFail:
      for (const auto& replica : replicas_) replica->BreakWatches(seconds(0));
      break;
    case Fault::kWatchesSilent:
      system_.silence = kSilence;
      for (const auto& [kind, revision] : ParseStale(spec_.stale, 0)) silent_.insert(kind);
      for (const auto& replica : replicas_) {
        for (const std::string& kind : silent_) replica->Silence(kind);
      }
      break;
    case Fault::kRestored: {
      system_.view_lag = kStaleMax;
      std::map<std::string, Revision> kinds;
      for (const auto& [kind, revision] :
           ParseStale(spec_.stale, static_cast<std::int64_t>(start_))) {
        kinds[kind] = static_cast<Revision>(revision);
      }
      for (const auto& replica : replicas_) replica->GoBack(kinds);
      break;
    }
    case Fault::kKindUnknown:
      throw ProcessDied();
    case Fault::kImexEnds:
      daemons_.EndImex(*daemons_.Victim(kLostNode));
      break;
    case Fault::kDaemonDies:
      KillDaemon(client);
      break;
  }
  return serve();
}

void World::KillDaemon(const std::string& client) {
  const DaemonContainer& victim = *daemons_.Victim(kLostNode);
  // The daemon that sends this request cannot be destroyed during the call.
  if (client.ends_with("/" + victim.pod.name)) throw ProcessDied();
  daemons_.Kill(victim);
}

// ---- Time.

bool World::StepReplica(std::size_t slot) {
  if (!replicas_[slot]->IsFrozen() && replicas_[slot]->HasEnded()) {
    const kube::Fitness fitness = replicas_[slot]->fitness();
    replicas_[slot].reset();
    StartReplica(slot, {}, fitness);
  }
  if (spec_.flaky_watches) replicas_[slot]->BreakWatches(kFlakyAfter);
  try {
    const bool moved = replicas_[slot]->Step();
    outcome_.passes_at_once = std::max(outcome_.passes_at_once, replicas_[slot]->passes_at_once());
    return moved;
  } catch (const ProcessDied&) {
    std::map<std::string, Revision> stale;
    for (const auto& [kind, revision] :
         ParseStale(IsOfKinds(spec_.fault) ? "" : spec_.stale, static_cast<std::int64_t>(start_))) {
      stale[kind] = static_cast<Revision>(revision);
    }
    replicas_[slot].reset();
    StartReplica(slot, std::move(stale));
    return true;
  }
}

// Of those who can move whom the seed names.
bool World::StepRandomActor() {
  const std::vector<std::unique_ptr<Peer>>& peers = cluster_.peers();
  std::vector<std::size_t> order(peers.size() + 2 + replicas_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::shuffle(order, random_);
  for (const std::size_t one : order) {
    const std::size_t rest = one - std::min(one, peers.size());
    const bool moved = one < peers.size() ? peers[one]->Step(cluster_.now())
                       : rest == 0        ? StepUser() || StepUndoer()
                       : rest == 1        ? spec_.own_daemons && daemons_.Step()
                                          : StepReplica(rest - 2);
    if (moved) return true;
  }
  return false;
}

bool World::StepActors() {
  if (steps_ >= kStepsMax) return false;
  if (++steps_ == kStepsMax) Say("L6: it never comes to rest");
  if (spec_.mixed) {
    LetPeersLag();
    return StepRandomActor();
  }
  bool moved = StepUser() || StepUndoer();
  for (std::size_t slot = 0; slot < replicas_.size(); ++slot) {
    // One replica goes a step at a time; of two the seed says how many each makes before the other.
    const std::uint64_t steps = spec_.two_leaders ? random_() % 4 : 1;
    for (std::uint64_t i = 0; i < steps; ++i) moved = StepReplica(slot) || moved;
  }
  if (spec_.own_daemons) {
    const bool is_stale = !IsOfKinds(spec_.fault);
    daemons_.SetStaleView({.kind = is_stale ? spec_.stale : "", .revision = start_});
    moved = daemons_.Step() || moved;
  }
  for (const auto& peer : cluster_.peers()) {
    // With two leaders the cluster too moves at its own pace.
    if (spec_.two_leaders && random_() % 2 == 0) continue;
    moved = peer->Step(cluster_.now()) || moved;
  }
  if (moved || !spec_.two_leaders) return moved;
  // No actor moved, perhaps because none had a turn.
  for (std::size_t slot = 0; slot < replicas_.size(); ++slot) moved = StepReplica(slot) || moved;
  return cluster_.Settle() > 0 || moved;
}

// Most are fast, some take seconds, and now and then one takes long.
void World::LetPeersLag() {
  using std::chrono::milliseconds;
  for (; lagging_ < cluster_.peers().size(); ++lagging_) {
    cluster_.peers()[lagging_]->SetLag([this]() -> std::chrono::microseconds {
      const std::uint64_t kind = random_() % 10;
      const std::uint64_t most = kind < 5 ? 20 : kind < 9 ? 2'000 : 12'000;
      return milliseconds(random_() % most);
    });
  }
}

// When something is due next, of anybody.
std::optional<Time> World::NextDue() const {
  std::optional<Time> due = cluster_.NextDue();
  for (const auto& replica : replicas_) {
    if (const auto next = replica->NextDue(); next && (!due || *next < *due)) due = next;
  }
  if (const auto next = daemons_.NextDue()) due = std::min(due.value_or(*next), *next);
  return due;
}

void World::AdvanceTo(Time time) {
  constexpr auto kTick = std::chrono::microseconds(1'000);  // Time never stands still.
  cluster_.Advance(std::max<std::chrono::microseconds>(time - cluster_.now(), kTick));
}

// To the next moment at which something is due; false if that is rest.
bool World::AdvanceTime() {
  const Time horizon = cluster_.now() + kRest;
  const bool replicas_rest =
      std::ranges::any_of(replicas_, [](const auto& replica) { return replica->Leads(); }) &&
      std::ranges::all_of(replicas_,
                          [&](const auto& replica) { return replica->IsAtRest(horizon); });
  const bool is_readable = cluster_.now() >= reads_fail_until_;
  if (!cluster_.NextDue() && replicas_rest && is_readable && daemons_.AreAtRest()) return false;
  const std::optional<Time> due = NextDue();
  if (due) AdvanceTo(*due);
  return due.has_value();
}

bool World::CatchUp() {
  bool caught_up = false;
  for (const auto& replica : replicas_) caught_up = replica->CatchUp() || caught_up;
  for (Excuse& excuse : system_.excuses) {
    if (FailsReads(spec_.fault)) continue;  // That heals by itself.
    // Of an old view, which was excused until now.
    if (excuse.until == Time::max()) excuse.until = cluster_.now() + kHealingOfRequest;
  }
  return caught_up;
}

void World::RunUntil(const std::string& phase, const std::function<bool(const World&)>& done) {
  RunPhase(phase, done);
  if (!outcome_.faulted && !done(*this)) Say("L1: nothing more happens before " + phase);
}

void World::RunPhase(const std::string& phase, const std::function<bool(const World&)>& done) {
  const Time end = cluster_.now() + kPhaseMax;
  for (;;) {
    // A process that waits for what its stale cache does not show never rests.
    if (cluster_.now() > end - kPhaseMax + kStaleMax) (void)CatchUp();
    bool moved = true;
    while (moved && !done(*this)) moved = StepActors();
    if (moved || steps_ >= kStepsMax) return;
    if (cluster_.now() > end) {
      Say("L1: no rest within an hour while " + phase);
      return;
    }
    if (AdvanceTime()) continue;
    // At rest with a stale cache: the servers catch up, and the run must come to the right state.
    if (CatchUp()) continue;
    if (!std::exchange(node_is_lost_, false)) return;
    // At rest without a node: also that must be right, and so it must be once it is there again.
    CheckRest();
    Note("-- " + kLostNode + " boots again");
    cluster_.RecoverNode(kLostNode, true);
  }
}

void World::RunFor(seconds time) {
  const Time end = cluster_.now() + time;
  for (;;) {
    while (StepActors()) {
    }
    if (cluster_.now() >= end || steps_ >= kStepsMax) return;
    AdvanceTo(std::min(NextDue().value_or(end), end));
  }
}

// ---- Checks.

void World::CheckRest() {
  // What could not be read is read again before anybody judges.
  if (cluster_.now() < reads_fail_until_) {
    RunFor(std::chrono::ceil<seconds>(reads_fail_until_ - cluster_.now()) + kSlowestRetry +
           kFitAgain);
  }
  system_.serves_cliques = cluster_.store().IsServed(Kind::kClique);
  system_.full_namespaces.clear();
  for (const auto& [ns, templates] : quotas_) {
    if (CountTemplates(ns) >= templates) system_.full_namespaces.insert(ns);
  }
  for (std::string& violation : CheckDaemonsAtRest(cluster_.server(), daemons_.fabric())) {
    Say(std::move(violation));
  }
  for (std::string& violation : simulation::CheckRest(cluster_.server(), system_)) {
    Say(std::move(violation));
  }
  // A branch that nothing is expected of need not say.
  const bool will_be_faulted = spec_.at > 0 || spec_.watch > 0;
  if (will_be_faulted && (expected_ == nullptr || !ChangesNothing(spec_))) return;
  course_.rests.push_back(DescribeEnd(cluster_.server(), system_));
  course_.deeds.push_back(CountDeeds(cluster_.server(), system_));
  course_.times.push_back(cluster_.now() - Cluster::kStart);
  course_.requests.push_back(CountRequests(cluster_.server(), system_));
}

void World::CheckQuiet() {
  is_quiet_ = true;
  const std::size_t since = cluster_.server().requests().size();
  // Long in plain runs; the effect of a fault or a race shows within a minute.
  RunFor(IsPlain(spec_) ? minutes(15) : minutes(1));
  is_quiet_ = false;
  for (std::string& violation : QuietAtRest(cluster_.server(), system_, since)) {
    Say(std::move(violation));
  }
  for (std::string& violation : DaemonsAreQuiet(cluster_.server(), since)) {
    Say(std::move(violation));
  }
}

void World::EndAllDomains() {
  for (const auto& [key, domain] : Objects(All(Kind::kComputeDomain))) {
    UserDeletes({.key = key});
  }
  RunToRest("the domains go");
  // A controller that may not read claims waits for the end of the grace period.
  if (!system_.may_read_claims) RunFor(system_.deletion_grace + minutes(1));
  CheckQuiet();
  for (const auto& [key, domain] : All(Kind::kComputeDomain)) {
    Say("L2: " + kube::ToString(key) + " still exists at the end of the run");
  }
  CheckRest();
}

void World::TidyUp() {
  Note("-- the scenario is left: what is broken is repaired, and jobs finish");
  for (const auto& [node, clique] : FindScenario(spec_.scenario)->nodes) {
    NodeAgent& agent = cluster_.agent(node);
    if (agent.silent_since()) cluster_.RecoverNode(node, true);
    agent.StartPlugin();
    agent.SetHealth(NodeAgent::Health::kWell);
  }
  quotas_.clear();
  refused_.reset();
  undoes_repairs_ = false;
  if (!cluster_.store().IsServed(Kind::kClique)) {
    cluster_.store().SetServed(Kind::kClique, true);
    RunFor(kLooksAgain);
  }
  for (Workload* job : jobs_) job->Finish();
  RunToRest("the jobs end");
}

// With the run without a fault.
void World::Compare() {
  // With two leaders, mixed order or a stale kind, actions of a user who does not wait for rest
  // come at other times.
  const bool has_own_times = spec_.two_leaders || spec_.mixed || !spec_.stale.empty();
  const bool is_same =
      ChangesNothing(spec_) && !(has_own_times && FindScenario(spec_.scenario)->order_matters);
  if (expected_ == nullptr || !is_same) return;
  const bool is_one = std::ranges::any_of(
      *expected_, [&](const Course& course) { return CompareWith(course).empty(); });
  if (is_one) return;
  for (std::string& violation : CompareWith(expected_->front())) Say(std::move(violation));
}

Violations World::CompareWith(const Course& expected) const {
  Violations violations = SameEnd(course_, expected, spec_.short_tail);
  const bool sees_all =
      spec_.stale.empty() && !spec_.two_leaders && !spec_.mixed && !spec_.flaky_watches;
  if (sees_all && !FindScenario(spec_.scenario)->never_rests) {
    std::ranges::move(SameDeeds(course_, expected), std::back_inserter(violations));
    std::ranges::move(FewMoreRequests(course_, expected, kMoreRequests),
                      std::back_inserter(violations));
  }
  // A phase that must see a silent kind several times has the hour of RunPhase().
  if (system_.silence > seconds(0)) return violations;
  seconds later = kHealedWithin;
  if (!spec_.stale.empty()) later += kStaleMax;
  // Each of three processes asks for what it may not read, at first often and then seldom.
  if (!system_.may_read_claims) later += (spec_.standby ? 3 : 1) * kAsksWithin;
  if (spec_.two_leaders) later += kLooksWithin;
  std::ranges::move(SameTime(course_, expected, later), std::back_inserter(violations));
  return violations;
}

void World::Execute(void (*scenario)(World& world)) {
  daemons_.SetRules(FindMutant(spec_.mutant)->daemon_rules);
  replicas_.resize(spec_.two_leaders || spec_.standby ? 2 : 1);
  for (std::size_t slot = 0; slot < replicas_.size(); ++slot) StartReplica(slot, {});
  try {
    scenario(*this);
    CheckQuiet();
    EndAllDomains();
    Compare();
  } catch (const LeavesScenario&) {
    Compare();
    TidyUp();
    EndAllDomains();
  }
  for (std::string& violation : CheckDaemons(cluster_.server(), daemons_.fabric())) {
    Say(std::move(violation));
  }
  for (std::string& violation : oracle_runner_.Finish()) Say(std::move(violation));
  if (!trace_) return;
  for (const auto& replica : replicas_) {
    for (const std::string& line : replica->logger().lines())
      outcome_.trace.push_back("log: " + line);
  }
}

}  // namespace simulation
