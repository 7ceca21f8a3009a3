#include "node/daemon/step.h"

#include <algorithm>

#include "node/daemon/clique.h"
#include "pkg/base/find.h"
#include "pkg/kube/api/meta.h"

namespace imex_daemon {

namespace {

using api::ImexReport;
using std::chrono::milliseconds, std::chrono::seconds;

constexpr auto kIdle = std::chrono::minutes(10);
// The daemons of a clique start at the same time, and each must change the same object.
constexpr auto kSpread = milliseconds(500);
// Random in the upper nine tenths of a delay: daemons that conflicted do not conflict again.
constexpr base::BackoffPolicy kWrites = {
    .first = milliseconds(40), .most = milliseconds(600), .jitter = 9};
constexpr auto kForbiddenFor = seconds(60);
// The watch shows changes of a full clique. This retry is for changes that it missed.
constexpr auto kNoRoomFor = std::chrono::minutes(5);
// Peers arrive one after another, and IMEX ignores signals for 5 s after one. If IMEX starts after
// these peers have arrived, it needs no signal for them.
constexpr auto kQuiet = milliseconds(500);
constexpr auto kQuietWithin = seconds(2);
constexpr base::BackoffPolicy kStarts = {
    .first = milliseconds(100), .most = seconds(6), .jitter = 9};
constexpr base::BackoffPolicy kFiles = {
    .first = milliseconds(100), .most = seconds(3), .jitter = 9};
constexpr auto kLivedLong = seconds(60);  // After this time, an end is not a failed start.
// The cache usually shows this daemon's write sooner. After this time the clique is read again.
constexpr auto kSeenWithin = seconds(2);
constexpr auto kLeaveWithin = seconds(10);
constexpr auto kReportEvery = seconds(10);
constexpr auto kFirstReport = seconds(5);  // If IMEX does not become ready.
constexpr auto kHearsAfter = seconds(2);   // After its start, if it prints no index.
constexpr auto kReachWithin = seconds(15);
constexpr auto kAskFirst = milliseconds(250);
constexpr auto kAskMost = seconds(30);
constexpr auto kAskLost = seconds(10);  // While a peer is missing: it may return any time.
constexpr int kUnansweredMost = 2;      // In a row. One more is reported.

void RequeueAt(DaemonStep& step, TimePoint until) {
  step.requeue_at = std::min(step.requeue_at, until);
}

bool WasStarted(const DaemonObservation& observed) {
  return observed.imex.runs || observed.imex.ends > 0;
}

const api::Member* Own(const DaemonIdentity& self, const DaemonObservation& observed) {
  return observed.clique == nullptr ? nullptr : OwnEntry(*observed.clique, self);
}

// Returns the index that IMEX runs with: as it printed, else as in the hosts file when it started.
// -1 if there is none.
int RunsAs(const DaemonIdentity& self, const DaemonObservation& observed,
           const DaemonMemory& memory) {
  if (!WasStarted(observed)) return -1;
  if (observed.imex.index) return *observed.imex.index;
  if (!memory.hosts) return -1;
  const auto own = std::ranges::find(*memory.hosts, self.ip, &imex::HostsEntry::ip);
  return own == memory.hosts->end() ? -1 : own->index;
}

void DecideHosts(const DaemonIdentity& self, const DaemonObservation& observed,
                 const DaemonMemory& memory, DaemonStep& step) {
  // A deleted clique will be created again, and its daemons have not moved.
  if (observed.clique == nullptr) return;
  if (Own(self, observed) == nullptr && !WasStarted(observed)) return;
  std::vector<imex::HostsEntry> hosts =
      HostsIn(*observed.clique, self, RunsAs(self, observed, memory));
  if (memory.hosts == hosts) return;
  if (observed.now < memory.hosts_retry.next) return RequeueAt(step, memory.hosts_retry.next);
  step.hosts = std::move(hosts);
}

// Returns when IMEX may start with the present peers. The clique may say that more will come.
TimePoint WhenGathered(const DaemonObservation& observed, const DaemonMemory& memory) {
  const TimePoint at_most = memory.hosts_first + kQuietWithin;
  const std::optional<int>& joining = observed.clique->joining;
  if (!joining) return std::min(memory.hosts_at + kQuiet, at_most);
  return *joining == 0 ? memory.hosts_at : at_most;
}

void DecideStart(const DaemonIdentity& self, const DaemonObservation& observed,
                 const DaemonMemory& memory, DaemonStep& step) {
  if (observed.imex.runs || step.hosts || !memory.hosts) return;
  // The first start needs an index. Later starts are in place, with the same files.
  TimePoint due = memory.starts.next;
  if (!WasStarted(observed)) {
    if (Own(self, observed) == nullptr) return;
    due = std::max(due, WhenGathered(observed, memory));
  }
  if (observed.now < due) return RequeueAt(step, due);
  step.start = true;
}

void DecideSignal(const DaemonObservation& observed, const DaemonMemory& memory, DaemonStep& step) {
  const bool others_come = observed.clique != nullptr && observed.clique->joining.value_or(0) > 0;
  auto due = imex::WhenToSignal(memory.signals, others_come);
  if (!observed.imex.runs || !due) return;
  // Without a handler for the signal, IMEX would end.
  if (!observed.imex.index) due = std::max(*due, observed.imex.since + kHearsAfter);
  if (observed.now < *due) return RequeueAt(step, *due);
  step.signal = true;
}

void DecideAsk(const DaemonIdentity& self, const DaemonObservation& observed,
               const DaemonMemory& memory, DaemonStep& step) {
  if (!observed.imex.runs || observed.asking) return;
  if (observed.now < memory.ask_next) return RequeueAt(step, memory.ask_next);
  step.ask = true;
  step.runs_as = RunsAs(self, observed, memory);
}

// Returns whether the cached clique is older than this daemon's last write.
bool IsBehind(const DaemonObservation& observed, const DaemonMemory& memory, DaemonStep& step) {
  if (memory.written_version.empty() || observed.now >= memory.written_at + kSeenWithin) {
    return false;
  }
  const bool behind = observed.clique == nullptr ||
                      kube::IsOlder(observed.clique->meta.resource_version, memory.written_version);
  if (behind) RequeueAt(step, memory.written_at + kSeenWithin);
  return behind;
}

std::optional<Write> EntryWrite(const DaemonIdentity& self, const DaemonObservation& observed,
                                const DaemonMemory& memory, DaemonStep& step) {
  if (!observed.clique_read || IsBehind(observed, memory, step)) return {};
  if (observed.clique == nullptr) return Write::kCreate;
  if (observed.clique->meta.deleting) return {};
  const api::Member* own = Own(self, observed);
  const bool is_full = !HasRoom(*observed.clique, self);
  if (is_full && observed.now < memory.no_room_until) {
    RequeueAt(step, memory.no_room_until);
    return {};
  }
  const bool owns =
      base::Contains(observed.clique->meta.owners, self.pod_uid, &kube::OwnerReference::uid);
  if (own != nullptr && own->ready == observed.pod_ready && owns) return {};
  return Write::kEntry;
}

// Returns until when a peer without a connection may still be connecting.
TimePoint ReachedUntil(const DaemonObservation& observed, const DaemonMemory& memory) {
  return std::max(memory.hosts_at, observed.imex.since) + kReachWithin;
}

// Returns the indices in `hosts` of peers that IMEX is not connected to. The host with `own_ip` is
// not a peer, whatever its index is now.
std::vector<int> UnreachableIn(const std::vector<imex::HostsEntry>& hosts,
                               const std::string& own_ip, const imex::OwnView& view) {
  std::vector<int> unreachable;
  for (const imex::HostsEntry& host : hosts) {
    if (host.ip != own_ip && !view.connected.contains(host.index))
      unreachable.push_back(host.index);
  }
  return unreachable;
}

ImexReport ReportOf(const DaemonIdentity& self, const DaemonObservation& observed,
                    const DaemonMemory& memory) {
  const Imex& process = observed.imex;
  ImexReport report = {.index = process.index.value_or(-1),
                       .state = std::string(process.runs ? imex::kUnknown : api::kImexEnded),
                       .started = process.started,
                       .restarts = std::max(0, process.runs ? process.ends : process.ends - 1),
                       .in_use = process.in_use};
  if (!process.runs || !observed.answers) return report;
  report.state = observed.answers->state;
  report.peers_unanswered = memory.peers_unanswered > kUnansweredMost;
  if (!observed.answers->own) return report;
  report.version = observed.answers->own->version;
  report.peers_known = true;
  // Peers that have just arrived may still be connecting. So may all peers after a start.
  if (memory.hosts && observed.now >= ReachedUntil(observed, memory)) {
    report.unreachable = UnreachableIn(*memory.hosts, self.ip, *observed.answers->own);
  }
  report.unreachable_count = static_cast<int>(report.unreachable.size());
  if (report.unreachable.size() > api::kUnreachableMax) {
    report.unreachable.resize(api::kUnreachableMax);
  }
  return report;
}

std::optional<Write> ReportWrite(const DaemonIdentity& self, const DaemonObservation& observed,
                                 const DaemonMemory& memory, DaemonStep& step) {
  if (!WasStarted(observed)) return {};
  step.report = ReportOf(self, observed, memory);
  const TimePoint reached_until = ReachedUntil(observed, memory);
  if (observed.now < reached_until) RequeueAt(step, reached_until);
  if (memory.reported == step.report) return {};
  TimePoint due = memory.reported_at + kReportEvery;
  // Before the first report, the only news is that the clique forms.
  if (!memory.reported) {
    due = step.report.state == imex::kReady ? observed.now : observed.imex.since + kFirstReport;
  }
  if (observed.now >= due) return Write::kReport;
  RequeueAt(step, due);
  return {};
}

void DecideWrite(const DaemonIdentity& self, const DaemonObservation& observed,
                 const DaemonMemory& memory, DaemonStep& step) {
  if (observed.writing) return;
  if (observed.now < memory.writes.next) return RequeueAt(step, memory.writes.next);
  if (memory.membership_writer == MembershipWriter::kUnknown) {
    step.write = Write::kLabel;
  } else if (self.clique.empty()) {
    return;
  } else if (memory.membership_writer == MembershipWriter::kDaemon) {
    step.write = EntryWrite(self, observed, memory, step);
  } else {
    step.write = ReportWrite(self, observed, memory, step);
  }
}

// Removes the entry from the clique, and stops IMEX.
void DecideEnd(const DaemonIdentity& self, const DaemonObservation& observed,
               const DaemonMemory& memory, DaemonStep& step) {
  const TimePoint give_up = memory.stopping_since.value_or(observed.now) + kLeaveWithin;
  const bool is_in =
      memory.membership_writer == MembershipWriter::kDaemon && !self.clique.empty() && !memory.left;
  const bool leaves = (is_in || observed.writing) && observed.now < give_up;
  step.state = "Stopping";
  step.stop = observed.imex.runs;
  step.over = !observed.imex.runs && !leaves;
  if (!leaves) return;
  RequeueAt(step, give_up);
  if (!is_in || observed.writing) return;
  if (observed.now < memory.writes.next) return RequeueAt(step, memory.writes.next);
  step.write = Write::kLeave;
}

std::string StateOf(const DaemonIdentity& self, const DaemonObservation& observed,
                    const DaemonMemory& memory) {
  if (memory.membership_writer == MembershipWriter::kUnknown) return "Labelling the pod";
  if (self.clique.empty()) return "This node has no fabric: there is no IMEX to run";
  const api::Member* own = Own(self, observed);
  if (!WasStarted(observed)) {
    if (own != nullptr) return "Starting IMEX";
    const bool is_full = observed.clique != nullptr && !HasRoom(*observed.clique, self);
    if (is_full) return "Waiting for room in the clique, which is full";
    return memory.membership_writer == MembershipWriter::kController
               ? "Waiting for the controller to give this node an index"
               : "Joining the clique";
  }
  if (!observed.imex.runs) return "IMEX ended by itself and is started again";
  if (observed.imex.in_use) {
    return "IMEX finds its resources in use: disable nvidia-imex.service on this node";
  }
  const int runs_as = observed.imex.index.value_or(-1);
  if (own != nullptr && runs_as >= 0 && own->index != runs_as) {
    return "IMEX runs as " + std::to_string(runs_as) + " and the clique says " +
           std::to_string(own->index) + ": delete this pod when no job needs it";
  }
  return "IMEX runs";
}

}  // namespace

DaemonStep Decide(const DaemonIdentity& self, const DaemonObservation& observed,
                  const DaemonMemory& memory) {
  DaemonStep step = {.requeue_at = observed.now + kIdle};
  if (observed.stopping) {
    DecideEnd(self, observed, memory, step);
    return step;
  }
  if (!memory.fatal.empty() && !observed.imex.runs && !memory.was_ready) {
    step.fatal = memory.fatal;
    return step;
  }
  step.state = StateOf(self, observed, memory);
  if (memory.membership_writer != MembershipWriter::kUnknown && !self.clique.empty()) {
    DecideHosts(self, observed, memory, step);
    DecideStart(self, observed, memory, step);
    DecideSignal(observed, memory, step);
    DecideAsk(self, observed, memory, step);
  }
  DecideWrite(self, observed, memory, step);
  return step;
}

void OnStopping(DaemonMemory& memory, TimePoint now) {
  if (!memory.stopping_since) memory.stopping_since = now;
  memory.writes = {};
}

void OnLabelled(DaemonMemory& memory, MembershipWriter writer, TimePoint now,
                base::Random& random) {
  memory.membership_writer = writer;
  memory.writes = {};
  if (writer != MembershipWriter::kDaemon) return;
  const std::chrono::duration<double, std::milli> wait = kSpread * random.Fraction();
  memory.writes.next = now + std::chrono::duration_cast<std::chrono::nanoseconds>(wait);
}

void OnWritten(DaemonMemory& memory, Write write, const std::string& version, TimePoint now) {
  memory.writes = {};
  if (write == Write::kLeave) memory.left = true;
  if (version.empty()) return;
  memory.written_version = version;
  memory.written_at = now;
}

void OnReported(DaemonMemory& memory, const ImexReport& report, TimePoint now) {
  memory.writes = {};
  memory.reported = report;
  memory.reported_at = now;
}

void OnWriteFailed(DaemonMemory& memory, Write write, const base::Error& error, TimePoint now,
                   base::Random& random) {
  using base::ErrorCode;
  memory.writes.next = now + memory.writes.backoff.Next(kWrites, random);
  if (error.retry_after)
    memory.writes.next = std::max(memory.writes.next, now + *error.retry_after);
  // Only an administrator can fix that.
  if (error.code == ErrorCode::kForbidden) {
    memory.writes.next = std::max(memory.writes.next, now + kForbiddenFor);
  }
  if (write == Write::kEntry && error.code == ErrorCode::kInvalid) {
    memory.no_room_until = now + kNoRoomFor;
  }
  const bool is_hopeless = error.code == ErrorCode::kForbidden ||
                           error.code == ErrorCode::kInvalid || error.code == ErrorCode::kConflict;
  if (write == Write::kLabel && is_hopeless) memory.fatal = error.message;
}

void OnHostsWritten(DaemonMemory& memory, std::vector<imex::HostsEntry> hosts, bool imex_runs,
                    TimePoint now) {
  const bool has_new = std::ranges::any_of(hosts, [&memory](const imex::HostsEntry& host) {
    return !memory.hosts || !base::Contains(*memory.hosts, host);
  });
  if (!memory.hosts) memory.hosts_first = now;
  memory.hosts = std::move(hosts);
  memory.hosts_at = now;
  memory.hosts_retry = {};
  if (!imex_runs) return;
  // A peer that only left needs no signal, which would make IMEX ignore the one for its successor.
  if (has_new) memory.signals = AfterChange(memory.signals, now);
  memory.ask_next = std::min(memory.ask_next, now + kAskFirst);
  memory.ask_period = kAskFirst;
}

void OnHostsFailed(DaemonMemory& memory, const std::string& error, TimePoint now,
                   base::Random& random) {
  memory.hosts_retry.next = now + memory.hosts_retry.backoff.Next(kFiles, random);
  memory.fatal = error;
}

void OnStarted(DaemonMemory& memory, TimePoint now) {
  memory.peers_unanswered = 0;
  memory.signals = {};  // IMEX has just looked up all peers.
  memory.ask_next = now + kAskFirst;
  memory.ask_period = kAskFirst;
}

void OnStartFailed(DaemonMemory& memory, const std::string& error, TimePoint now,
                   base::Random& random) {
  memory.starts.next = now + memory.starts.backoff.Next(kStarts, random);
  memory.fatal = error;
}

void OnSignalled(DaemonMemory& memory, TimePoint now) { memory.signals = imex::AfterSignal(now); }

void OnEnded(DaemonMemory& memory, std::chrono::nanoseconds lived, TimePoint now,
             base::Random& random) {
  // A container gets devices and libraries of the driver only when it is created. So the next one
  // may have what IMEX lacks.
  memory.fatal =
      "IMEX ended before it was ready once in this container: its own lines above say why. The "
      "next container gets the devices and files that the node has then";
  if (lived >= kLivedLong) memory.starts = {};
  memory.starts.next = now + memory.starts.backoff.Next(kStarts, random);
}

void OnAnswered(DaemonMemory& memory, const ImexAnswers& answers, TimePoint now) {
  // Queries again soon, to learn whether IMEX hangs.
  const bool falls_silent = answers.asks_peers && !answers.own && memory.peers_unanswered == 0;
  if (falls_silent) memory.ask_period = kAskFirst;
  if (answers.state == imex::kReady) memory.was_ready = true;
  const bool knows_peers = answers.state == imex::kReady && answers.own && memory.hosts;
  const bool lacks_one = knows_peers && answers.own->connected.size() + 1 < memory.hosts->size();
  const milliseconds most = lacks_one ? kAskLost : kAskMost;
  const bool rests = knows_peers && !lacks_one;
  memory.ask_period = rests ? most : std::min(most, 2 * memory.ask_period);
  memory.ask_next = now + memory.ask_period;
  if (answers.own) {
    memory.peers_unanswered = 0;
  } else if (answers.asks_peers && memory.peers_unanswered <= kUnansweredMost) {
    ++memory.peers_unanswered;
  }
}

}  // namespace imex_daemon
