#include "test/cluster/nodesim/simulator.h"

#include <thread>
#include <utility>

#include "pkg/http/curl_transport.h"
#include "pkg/kube/client/request.h"
#include "pkg/kube/runtime/watch_loop.h"
#include "test/cluster/nodesim/advance.h"
#include "test/cluster/nodesim/names.h"
#include "test/cluster/nodesim/topology.h"

namespace nodesim {

namespace {

using base::ErrorCode;
using base::Result;

constexpr const char* kUserAgent = "cdom-nodesim/0.2.0";

// Writes of one node at a time; a node has few, but may run a hundred pods.
constexpr std::size_t kActionsMax = 8;

Result<void> WaitFor(const base::Clock& clock, const std::function<bool()>& condition,
                     const std::string& what) {
  constexpr std::chrono::seconds kPatience{20};
  const TimePoint deadline = clock.Now() + kPatience;
  while (!condition()) {
    if (clock.Now() >= deadline) {
      return base::Fail(ErrorCode::kDeadlineExceeded, what + " did not go within 20 s");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {};
}

json::Value DescribePod(const PodRun& run) {
  json::Value value = json::Value::Object({{"namespace", run.key.ns},
                                           {"name", run.key.name},
                                           {"uid", run.uid},
                                           {"stage", ToString(run.stage)},
                                           {"ip", run.ip},
                                           {"ready", run.ready},
                                           {"restarts", run.restarts}});
  if (!run.waits_for.empty()) value["waitsFor"] = run.waits_for;
  if (run.orphan) value["orphan"] = true;
  if (run.daemon) {
    json::Value daemon = json::Value::Object(
        {{"domain", run.daemon->domain},
         {"clique", run.daemon->clique_id},
         {"membershipWriter", run.daemon->controller_writes ? "controller" : "daemon"},
         {"member", run.daemon->member_since.has_value()}});
    if (!run.daemon->problem.empty()) daemon["problem"] = run.daemon->problem;
    value["daemon"] = std::move(daemon);
  }
  return value;
}

json::Value DescribeClaim(const ClaimRun& claim) {
  json::Value value = json::Value::Object({{"namespace", claim.key.ns},
                                           {"name", claim.key.name},
                                           {"uid", claim.uid},
                                           {"state", claim.prepared ? "prepared" : "pending"},
                                           {"attempts", claim.attempts}});
  if (!claim.grants.empty()) {
    value["device"] = claim.grants.front().device;
    value["domain"] = claim.grants.front().domain;
  }
  if (!claim.prepared) {
    value["reason"] = claim.reason;
    value["permanent"] = claim.reason_is_permanent;
  }
  return value;
}

json::Value DescribeNode(const NodeState& node, const Node* object) {
  json::Value value = json::Value::Object({{"name", node.identity.name},
                                           {"alive", node.alive},
                                           {"removed", node.removed},
                                           {"setUp", node.set_up},
                                           {"clique", node.clique_id},
                                           {"bootID", node.boot_id},
                                           {"daemonsStalled", node.daemons_stalled},
                                           {"pluginStopped", node.plugin_stopped},
                                           {"domainLabel", object == nullptr ? "" : object->domain},
                                           {"ready", object == nullptr ? "" : object->ready}});
  json::Value claims = json::Value::Array();
  for (const auto& [uid, claim] : node.claims) claims.Append(DescribeClaim(claim));
  value["claims"] = std::move(claims);
  json::Value pods = json::Value::Array();
  for (const auto& [uid, run] : node.pods) pods.Append(DescribePod(run));
  value["pods"] = std::move(pods);
  if (!node.last_error.empty()) value["lastError"] = node.last_error;
  return value;
}

}  // namespace

Simulator::Simulator(Settings settings, http::Endpoint endpoint, http::Credentials& credentials,
                     const base::Clock& clock, base::Logger& logger, std::function<void()> on_ready)
    : settings_(std::move(settings)),
      endpoint_(std::move(endpoint)),
      credentials_(credentials),
      clock_(clock),
      logger_(logger),
      on_ready_(std::move(on_ready)),
      queue_(clock),
      world_(
          [this](const std::string& node) {
            if (synced_ && nodes_.contains(node)) queue_.Add(node);
          },
          settings_.seed, logger),
      addresses_(settings_.node_prefix) {
  for (PlacedNode& placed : PlaceNodes(settings_)) {
    const std::string name = placed.identity.name;
    SeededRandom random(settings_.seed, name);
    NodeState state;
    state.identity = std::move(placed.identity);
    state.clique_id = std::move(placed.clique_id);
    state.boot_id = RandomUuid(random);
    state.daemons_stalled = settings_.daemons_elsewhere;
    nodes_.emplace(name,
                   std::make_unique<SimulatedNode>(std::move(state), random.Next(), endpoint_));
  }
}

void Simulator::Run(const std::stop_token& stop) {
  kube::WatchLoop loop(endpoint_, credentials_, kUserAgent, clock_);
  world_.AddTo(loop);
  std::vector<std::jthread> workers;  // They end by `stop`, too, and are joined on return.
  loop.Run(stop, [&] {
    if (synced_ || !world_.HasSynced()) return;
    for (const auto& pod : world_.AllPods()) addresses_.Skip(pod->status.pod_ip);
    synced_ = true;
    for (const auto& [name, node] : nodes_) queue_.Add(name);
    workers.emplace_back([this, stop] { SendHeartbeats(stop); });
    for (int i = 0; i < settings_.workers; ++i) {
      workers.emplace_back([this, stop] { Work(stop); });
    }
  });
}

void Simulator::Work(const std::stop_token& stop) {
  const auto transport = NewTransport();
  while (const auto name = queue_.Get(stop)) {
    const TimePoint wake = TakeTurn(*nodes_.at(*name), *transport);
    queue_.Done(*name);
    if (wake != TimePoint::max()) queue_.AddAt(*name, wake);
  }
}

void Simulator::SendHeartbeats(const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kLookEvery{50};
  const auto transport = NewTransport();
  SeededRandom random(settings_.seed, "heartbeats");
  while (!stop.stop_requested()) {
    if (!SendDueHeartbeats(*transport, random)) std::this_thread::sleep_for(kLookEvery);
  }
}

std::vector<Simulator::Heartbeat> Simulator::DueHeartbeats() {
  constexpr std::size_t kSideBySide = 32;
  std::vector<Heartbeat> due;
  // Begins behind the one that was last, so that each has its turn should they all be late.
  auto it = nodes_.upper_bound(last_heartbeat_);
  for (std::size_t i = 0; i < nodes_.size() && due.size() < kSideBySide; ++i, ++it) {
    if (it == nodes_.end()) it = nodes_.begin();
    SimulatedNode& node = *it->second;
    const bool is_due = node.state.With([&](const NodeState& state) {
      const std::optional<Action> action = Beat(state, world_, clock_.Now());
      if (!action) return false;
      due.push_back(
          {.node = &node, .request = ToRequest(*action, state, clock_.Wall()), .action = *action});
      return true;
    });
    if (is_due) last_heartbeat_ = it->first;
  }
  return due;
}

bool Simulator::SendDueHeartbeats(http::Transport& transport, base::Random& random) {
  const base::MutexLock lock(heartbeats_);
  const std::vector<Heartbeat> due = DueHeartbeats();
  if (due.empty()) return false;
  std::vector<http::Request> requests;
  requests.reserve(due.size());
  for (const Heartbeat& heartbeat : due) requests.push_back(heartbeat.request);
  const auto replies = transport.SendAll(requests);
  for (std::size_t i = 0; i < due.size(); ++i) {
    const auto outcome = ReadReply(replies[i], requests[i].method);
    const bool is_first = due[i].node->state.With([&](NodeState& state) {
      const bool is_new = !state.lease.renewed;
      Note(state, due[i].action, outcome, settings_, clock_.Now(), random);
      return is_new;
    });
    Count(*due[i].node, due[i].action, outcome);
    if (is_first) queue_.Add(due[i].node->name);  // It may be set up now.
  }
  return true;
}

TimePoint Simulator::TakeTurn(SimulatedNode& node, http::Transport& transport) {
  const base::MutexLock lock(node.turn);
  Plan plan;
  std::vector<Write> writes;
  node.state.With([&](NodeState& state) {
    plan = Advance(state, world_, settings_, addresses_, clock_.Now(), clock_.Wall());
    if (plan.actions.size() > kActionsMax) {
      plan.actions.erase(plan.actions.begin() + kActionsMax, plan.actions.end());
      plan.wake = clock_.Now();
    }
    for (const Action& action : plan.actions) {
      writes.push_back({.request = ToRequest(action, state, clock_.Wall())});
      if (settings_.daemon_account) writes.back().daemon = DaemonOf(action, state);
    }
  });
  CountIfSetUp(node);
  if (writes.empty()) return plan.wake;

  std::vector<Result<Written>> outcomes;
  for (auto& reply : SendWrites(node, writes, transport)) {
    outcomes.push_back(ReadReply(std::move(reply), writes[outcomes.size()].request.method));
  }
  node.state.With([&](NodeState& state) {
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      Note(state, plan.actions[i], outcomes[i], settings_, clock_.Now(), node.random);
    }
  });
  for (std::size_t i = 0; i < outcomes.size(); ++i) Count(node, plan.actions[i], outcomes[i]);
  return clock_.Now();  // What was done may let more be done.
}

// The node's own side by side.
std::vector<Result<http::Response>> Simulator::SendWrites(SimulatedNode& node,
                                                          const std::vector<Write>& writes,
                                                          http::Transport& transport) {
  std::vector<http::Request> own;
  for (const Write& write : writes) {
    if (!write.daemon) own.push_back(write.request);
  }
  auto own_replies = transport.SendAll(own);
  auto next = own_replies.begin();
  std::vector<Result<http::Response>> replies;
  for (const Write& write : writes) {
    replies.push_back(write.daemon
                          ? node.daemon_account.Send(*write.daemon, write.request, transport)
                          : std::move(*next++));
  }
  return replies;
}

void Simulator::Count(const SimulatedNode& node, const Action& action,
                      const Result<Written>& outcome) {
  ++counters_.requests;
  if (outcome) {
    logger_.Log(base::LogLevel::kObjects, "Wrote",
                {{"node", node.name}, {"what", Describe(action)}});
    return;
  }
  const ErrorCode code = outcome.error().code;
  if (code == ErrorCode::kConflict) {
    ++counters_.conflicts;
  } else if (code != ErrorCode::kNotFound && code != ErrorCode::kAlreadyExists) {
    ++counters_.failures;
    logger_.Warning(
        "A write failed and will be repeated",
        {{"node", node.name}, {"what", Describe(action)}, {"err", outcome.error().message}});
    return;
  }
  logger_.Log(base::LogLevel::kObjects, "A write was refused",
              {{"node", node.name}, {"what", Describe(action)}, {"err", outcome.error().message}});
}

void Simulator::CountIfSetUp(SimulatedNode& node) {
  if (node.counted_set_up ||
      !node.state.With([](const NodeState& state) { return state.set_up; })) {
    return;
  }
  node.counted_set_up = true;
  if (++nodes_set_up_ == nodes_.size()) on_ready_();
}

Result<Simulator::SimulatedNode*> Simulator::Find(const std::string& node) {
  const auto it = nodes_.find(node);
  if (it == nodes_.end()) {
    return base::Fail(ErrorCode::kNotFound, "There is no simulated node '" + node + "'.");
  }
  return it->second.get();
}

Result<void> Simulator::Change(const std::string& node,
                               const std::function<void(NodeState&)>& change) {
  SimulatedNode* const found = TRY(Find(node));
  {
    const base::MutexLock lock(found->turn);
    found->state.With(change);
  }
  queue_.Add(node);
  return {};
}

Result<void> Simulator::Kill(const std::string& node) {
  SimulatedNode* const found = TRY(Find(node));
  found->state.With([](NodeState& state) { state.alive = false; });
  // What was being written has been written.
  const base::MutexLock lock(found->turn);
  const base::MutexLock heartbeats_lock(heartbeats_);
  return {};
}

Result<void> Simulator::Revive(const std::string& node) {
  return Change(node, [](NodeState& state) { nodesim::Revive(state); });
}

Result<void> Simulator::Reboot(const std::string& node) {
  SimulatedNode* const found = TRY(Find(node));
  std::string boot_id;
  {
    const base::MutexLock lock(found->turn);
    boot_id = RandomUuid(found->random);
  }
  return Change(node, [&](NodeState& state) {
    nodesim::Reboot(state, boot_id, clock_.Wall());
    state.daemons_stalled = settings_.daemons_elsewhere;
  });
}

Result<void> Simulator::Remove(const std::string& node) {
  TRY(Kill(node));
  TRY(Change(node, [](NodeState& state) { state.removed = true; }));
  std::vector<http::Request> requests = {
      kube::DeleteRequest(kube::kNodes, {.name = node}, "", kube::Propagation::kBackground)};
  for (const auto& slice : world_.SlicesOf(node)) {
    requests.push_back(kube::DeleteRequest(kube::kResourceSlices, slice->meta.key, slice->meta.uid,
                                           kube::Propagation::kBackground));
  }
  TRY(DeleteAll(requests));
  return WaitFor(
      clock_, [&] { return !world_.GetNode(node) && world_.SlicesOf(node).empty(); },
      "node " + node);
}

Result<void> Simulator::Move(const std::string& node, const std::string& clique_id) {
  return Change(node, [&](NodeState& state) { nodesim::Move(state, clique_id); });
}

Result<void> Simulator::StallDaemon(const std::string& node, bool stalled) {
  return Change(node, [&](NodeState& state) { state.daemons_stalled = stalled; });
}

Result<void> Simulator::StopPlugin(const std::string& node, bool stopped) {
  return Change(node, [&](NodeState& state) { state.plugin_stopped = stopped; });
}

Result<void> Simulator::ForceDelete(const kube::ObjectKey& key) {
  const auto pod = world_.GetPod(key);
  if (!pod || !nodes_.contains(pod->node)) {
    return base::Fail(ErrorCode::kNotFound,
                      "There is no pod '" + kube::ToString(key) + "' on a simulated node.");
  }
  const auto set_orphan = [&](bool orphan) {
    return Change(pod->node, [&](NodeState& state) {
      const auto it = state.pods.find(pod->meta.uid);
      if (it == state.pods.end() || it->second.stage > PodRun::Stage::kRunning) return;
      it->second.orphan = orphan;
    });
  };
  TRY(set_orphan(true));
  http::Request request = DeletePodRequest({.key = key, .uid = pod->meta.uid});
  if (Result<void> deleted = DeleteAll({std::move(request)}); !deleted) {
    TRY(set_orphan(false));
    return deleted;
  }
  return WaitFor(
      clock_,
      [&] {
        const auto now = world_.GetPod(key);
        return !now || now->meta.uid != pod->meta.uid;
      },
      "pod " + kube::ToString(key));
}

Result<void> Simulator::ReapOrphans(const std::string& node) {
  return Change(node, [](NodeState& state) { nodesim::ReapOrphans(state); });
}

json::Value Simulator::State() const {
  json::Value nodes = json::Value::Array();
  for (const auto& [name, node] : nodes_) {
    const auto object = world_.GetNode(name);
    nodes.Append(node->state.With(
        [&](const NodeState& state) { return DescribeNode(state, object.get()); }));
  }
  return json::Value::Object({{"requests", counters_.requests.load()},
                              {"conflicts", counters_.conflicts.load()},
                              {"failures", counters_.failures.load()},
                              {"nodesSetUp", nodes_set_up()},
                              {"nodes", std::move(nodes)}});
}

Result<void> Simulator::CleanUp() {
  for (const auto& [name, node] : nodes_) TRY(Kill(name));
  std::vector<http::Request> requests;
  for (const auto& [name, node] : nodes_) {
    for (const auto& slice : world_.SlicesOf(name)) {
      requests.push_back(kube::DeleteRequest(kube::kResourceSlices, slice->meta.key, "",
                                             kube::Propagation::kBackground));
    }
    const auto object = world_.GetNode(name);
    const bool ours = object && object->created_by_simulator;
    if (ours || node->state.With([](const NodeState& state) { return state.lease.created; })) {
      requests.push_back(kube::DeleteRequest(kube::kLeases,
                                             {.ns = std::string(kLeaseNamespace), .name = name}, "",
                                             kube::Propagation::kBackground));
    }
    if (ours) {
      requests.push_back(
          kube::DeleteRequest(kube::kNodes, {.name = name}, "", kube::Propagation::kBackground));
    }
  }
  return DeleteAll(requests);
}

Result<void> Simulator::DeleteAll(const std::vector<http::Request>& requests) {
  constexpr std::size_t kSideBySide = 16;
  const auto transport = NewTransport();
  Result<void> all = {};
  for (std::size_t begin = 0; begin < requests.size(); begin += kSideBySide) {
    const auto first = requests.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto count = std::min(kSideBySide, requests.size() - begin);
    for (auto& reply : transport->SendAll({first, first + static_cast<std::ptrdiff_t>(count)})) {
      const auto deleted = kube::CheckStatus(std::move(reply), http::Method::kDelete);
      // Gone already is as good; of several failures the last is told.
      if (!deleted && deleted.error().code != ErrorCode::kNotFound) {
        all = tl::unexpected(deleted.error());
      }
    }
  }
  return all;
}

std::unique_ptr<http::Transport> Simulator::NewTransport() const {
  return std::make_unique<http::CurlTransport>(endpoint_, credentials_, kUserAgent);
}

}  // namespace nodesim
