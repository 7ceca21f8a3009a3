// The product's daemon in a daemon pod: node/daemon/step.h decides, and what it says is done here,
// to an IMEX that is a value. The controller writes membership: the daemon writes its pod's label
// and its report, and reads its clique.
#include <algorithm>

#include "controller/api/names.h"
#include "node/daemon/clique.h"
#include "pkg/base/number.h"
#include "pkg/base/rfc3339.h"
#include "test/cluster/nodesim/turn.h"

namespace nodesim {

namespace {

constexpr std::chrono::seconds kDeaf{5};
constexpr std::chrono::seconds kRestartAfter{1};  // A container that failed.
constexpr const char* kVersion = "580.nodesim";

// How many are on their way into it, if the controller says so.
std::optional<int> JoiningIn(const Clique& clique) {
  const auto it = clique.annotations.find(std::string(api::kJoiningAnnotation));
  if (it == clique.annotations.end()) return {};
  const std::optional<int> count = base::ParseNumber<int>(it->second);
  return count && *count >= 0 ? count : std::nullopt;
}

std::shared_ptr<const api::Clique> CliqueOf(const Turn& turn,
                                            const imex_daemon::DaemonIdentity& self) {
  const auto seen = turn.cluster.GetClique(self.CliqueKey());
  if (!seen) return nullptr;
  api::Clique clique = {
      .meta = seen->meta, .domain = self.domain, .id = self.clique, .joining = JoiningIn(*seen)};
  for (const Member& member : seen->daemons) {
    clique.daemons.push_back({.node = member.node,
                              .ip = member.ip,
                              .clique = member.clique_id,
                              .index = member.index.value_or(-1),
                              .ready = member.status == "Ready"});
  }
  return std::make_shared<const api::Clique>(std::move(clique));
}

void LookUp(OwnDaemon& own) {
  own.knows.clear();
  for (const imex::HostsEntry& host : *own.memory.hosts) own.knows[host.index] = host.ip;
}

// What IMEX was started with, or looked up last, is where a peer is.
std::set<int> ConnectedWith(const OwnDaemon& own) {
  std::set<int> connected;
  if (!own.observed.clique) return connected;
  for (const api::Member& peer : own.observed.clique->daemons) {
    const auto known = own.knows.find(peer.index);
    if (peer.node != own.self.node && known != own.knows.end() && known->second == peer.ip) {
      connected.insert(peer.index);
    }
  }
  return connected;
}

void StartImex(const Turn& turn, OwnDaemon& own) {
  LookUp(own);
  own.observed.imex = {.runs = true, .since = turn.now, .started = base::FormatSeconds(turn.wall)};
  const auto& hosts = *own.memory.hosts;
  const auto found = std::ranges::find(hosts, own.self.ip, &imex::HostsEntry::ip);
  if (found != hosts.end()) own.observed.imex.index = found->index;
  imex_daemon::OnStarted(own.memory, turn.now);
}

void Signal(const Turn& turn, OwnDaemon& own) {
  imex_daemon::OnSignalled(own.memory, turn.now);
  if (turn.now < own.deaf_until) return;
  own.deaf_until = turn.now + kDeaf;
  LookUp(own);
}

void Answer(const Turn& turn, OwnDaemon& own) {
  const std::string state(turn.node.daemons_stalled ? imex::kUnknown : imex::kReady);
  own.observed.answers = imex_daemon::ImexAnswers{
      .state = state, .own = imex::OwnView{.version = kVersion, .connected = ConnectedWith(own)}};
  imex_daemon::OnAnswered(own.memory, *own.observed.answers, turn.now);
}

// What the step says of this node; whether there was anything.
bool Do(const Turn& turn, const imex_daemon::DaemonStep& step, OwnDaemon& own) {
  const bool stops = step.stop && own.observed.imex.runs;
  if (step.hosts) {
    imex_daemon::OnHostsWritten(own.memory, *step.hosts, own.observed.imex.runs, turn.now);
  }
  if (step.start) StartImex(turn, own);
  if (step.signal) Signal(turn, own);
  if (step.ask) Answer(turn, own);
  if (stops) own.observed.imex.runs = false;
  return step.hosts || step.start || step.signal || step.ask || stops;
}

// Decides and does until nothing is left for now but a write.
imex_daemon::DaemonStep Settle(const Turn& turn, OwnDaemon& own) {
  own.observed.now = turn.now;
  own.observed.clique = CliqueOf(turn, own.self);
  own.observed.clique_read = true;
  imex_daemon::DaemonStep step = imex_daemon::Decide(own.self, own.observed, own.memory);
  while (Do(turn, step, own)) step = imex_daemon::Decide(own.self, own.observed, own.memory);
  return step;
}

}  // namespace

OwnDaemon StartOwnDaemon(const Turn& turn, const PodRun& run, const Daemon& daemon) {
  return {.self = {.domain = daemon.domain,
                   .clique = daemon.clique_id,
                   .node = turn.node.identity.name,
                   .ip = run.ip,
                   .pod = run.key,
                   .pod_uid = run.uid,
                   .nodes_max = daemon.members_max}};
}

void AdoptOwnDaemon(const Turn& turn, const Pod& pod, OwnDaemon& own) {
  own.memory.membership_writer = imex_daemon::MembershipWriter::kController;
  if (own.self.clique.empty() || !pod.imex) return;
  own.memory.reported = pod.imex;
  own.memory.reported_at = turn.now;
  own.observed.imex = {
      .runs = true, .since = turn.now, .started = pod.imex->started, .ends = pod.imex->restarts};
  if (pod.imex->index >= 0) own.observed.imex.index = pod.imex->index;
  // As it has looked them up before.
  own.observed.clique = CliqueOf(turn, own.self);
  if (!own.observed.clique) return;
  own.memory.hosts =
      imex_daemon::HostsIn(*own.observed.clique, own.self, own.observed.imex.index.value_or(-1));
  own.memory.hosts_at = own.memory.hosts_first = turn.now;
  LookUp(own);
}

void AdvanceOwnDaemon(Turn& turn, PodRun& run) {
  OwnDaemon& own = *run.daemon->own;
  if (own.dead_until && turn.now < *own.dead_until) return turn.At(*own.dead_until);
  if (own.dead_until) {
    ++run.restarts;
    run.started = turn.wall;
    own = StartOwnDaemon(turn, run, *run.daemon);
  }
  const imex_daemon::DaemonStep step = Settle(turn, own);
  run.daemon->problem = step.fatal;
  if (!step.fatal.empty()) {
    own.dead_until = turn.now + kRestartAfter;
    return turn.At(*own.dead_until);
  }
  if (step.write == imex_daemon::Write::kLabel) {
    turn.Do(LabelPod{.key = run.key, .uid = run.uid, .clique_id = own.self.clique});
  } else if (step.write == imex_daemon::Write::kReport && turn.settings.imex_reports) {
    turn.Do(ReportImex{.key = run.key, .uid = run.uid, .report = step.report});
  }
  turn.At(step.requeue_at);
}

bool StopOwnDaemon(Turn& turn, PodRun& run) {
  OwnDaemon& own = *run.daemon->own;
  own.observed.stopping = true;
  imex_daemon::OnStopping(own.memory, turn.now);
  const imex_daemon::DaemonStep step = Settle(turn, own);
  turn.At(step.requeue_at);
  return step.over || !step.fatal.empty();
}

}  // namespace nodesim
