#include "test/simulation/cluster/daemon.h"

#include <algorithm>
#include <utility>

#include "controller/api/names.h"
#include "pkg/base/rfc3339.h"
#include "test/simulation/apiserver/contract.h"

namespace simulation {

namespace {

using imex_daemon::Write;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kOldFor = seconds(15);
// It asks IMEX every 30 s at most, and tells what it heard once in 10 s.
constexpr auto kCalm = seconds(45);
constexpr int kLagMaxMs = 400;

imex_daemon::DaemonIdentity SelfOf(const DaemonContainer& container) {
  return {.domain = container.domain,
          .clique = container.clique,
          .node = container.node,
          .ip = container.ip,
          .pod = container.pod,
          .pod_uid = container.uid};
}

// Plays a write of several requests one at a time: it is performed again with the replies so far,
// which lead it to the same requests, until it has asked for one more.
class Replay final : public http::Transport {
 public:
  explicit Replay(const std::vector<base::Result<http::Response>>& replies) : replies_(replies) {}

  std::vector<base::Result<http::Response>> SendAll(
      const std::vector<http::Request>& requests) override {
    if (next_ < replies_.size()) return {replies_[next_++]};
    asks_ = requests.front();
    return {base::Fail(base::ErrorCode::kUnavailable, "not answered yet")};
  }
  const std::optional<http::Request>& asks() const { return asks_; }

 private:
  const std::vector<base::Result<http::Response>>& replies_;
  std::size_t next_ = 0;
  std::optional<http::Request> asks_;
};

}  // namespace

Daemon::Daemon(ApiServer& server, Fabric& fabric, DaemonOptions options, Serve serve,
               OpenWatch open)
    : server_(server),
      fabric_(fabric),
      options_(std::move(options)),
      serve_(std::move(serve)),
      open_(std::move(open)),
      clock_(server.store()),
      born_(clock_.Wall()),
      random_(options_.seed),
      self_(SelfOf(options_.container)),
      cliques_(&api::DecodeClique, kube::kNoKeys, {}, logger_),
      pods_(&api::DecodeDaemonPod, kube::kNoKeys, {}, logger_),
      clique_reflector_(kube::OneNamed(api::kComputeDomainCliques, self_.CliqueKey()), cliques_,
                        random_, logger_),
      last_action_(born_) {}

Revision Daemon::ViewOf(const Watcher& watch) const {
  const StaleView& old = options_.stale_view;
  const bool is_old =
      watch.reflector().options().resource.plural == old.kind && clock_.Wall() < born_ + kOldFor;
  return is_old ? old.revision : kNewest;
}

// As DaemonApiClient::Watch.
void Daemon::Watch() {
  const auto lag = [this] {
    return microseconds(milliseconds(static_cast<int>(random_.Fraction() * kLagMaxMs)));
  };
  watches_.emplace_back(clique_reflector_, server_, options_.client, serve_, clock_, lag, open_);
  if (memory_.membership_writer != imex_daemon::MembershipWriter::kDaemon) return;
  pod_reflector_.emplace(kube::OneNamed(kube::kPods, self_.pod), pods_, random_, logger_);
  watches_.emplace_back(*pod_reflector_, server_, options_.client, serve_, clock_, lag, open_);
}

void Daemon::ExpireWatches() {
  for (Watcher& watch : watches_) watch.Expire();
}

void Daemon::BreakWatches() {
  for (Watcher& watch : watches_) watch.Break(seconds(0));
}

bool Daemon::Step() {
  if (over_ || !fatal_.empty()) return false;
  if (!StepWatches() && !StepWrite() && !StepQuery()) return StepDecision();
  is_decided_ = false;
  return true;
}

bool Daemon::StepWatches() {
  return std::ranges::any_of(watches_,
                             [this](Watcher& watch) { return watch.Step(ViewOf(watch)); });
}

bool Daemon::StepWrite() {
  if (!order_) return false;
  Replay replay(replies_);
  const auto written = imex_daemon::Perform(self_, *order_, replay);
  if (replay.asks()) {
    replies_.push_back(serve_(*replay.asks()));
  } else {
    TakeWritten(written);
  }
  NoteAction();
  return true;
}

// As DaemonProcess::TakeWritten.
void Daemon::TakeWritten(const base::Result<imex_daemon::Written>& written) {
  const auto now = clock_.Now();
  const imex_daemon::WriteOrder order = *std::exchange(order_, {});
  observed_.writing = false;
  if (!written) {
    if (order.write == Write::kLeave) why_it_stays_ = written.error().message;
    return imex_daemon::OnWriteFailed(memory_, order.write, written.error(), now, random_);
  }
  if (order.write == Write::kReport) return imex_daemon::OnReported(memory_, order.report, now);
  if (order.write != Write::kLabel) {
    why_it_stays_.clear();
    return imex_daemon::OnWritten(memory_, order.write, written->version, now);
  }
  imex_daemon::OnLabelled(memory_, written->membership_writer, now, random_);
  if (!self_.clique.empty()) Watch();
}

// What nvidia-imex-ctl says.
bool Daemon::StepQuery() {
  if (!observed_.asking) return false;
  observed_.asking = false;
  const RunningImex* imex = fabric_.Find(self_.pod_uid);
  if (imex == nullptr || !observed_.imex.runs) return true;
  imex_daemon::ImexAnswers answers = {
      .state = "READY",
      .own = imex::OwnView{.version = "580.1", .connected = fabric_.ConnectedWith(*imex)}};
  const bool is_news = !observed_.answers || observed_.answers->own != answers.own;
  if (is_news) NoteAction();
  observed_.imex.index = imex->index;
  observed_.answers = std::move(answers);
  imex_daemon::OnAnswered(memory_, *observed_.answers, clock_.Now());
  return true;
}

void Daemon::Observe() {
  observed_.now = clock_.Now();
  observed_.clique_read = !watches_.empty() && clique_reflector_.HasSynced();
  observed_.clique = cliques_.Get(self_.CliqueKey());
  const auto pod = pods_.Get(self_.pod);
  observed_.pod_ready = pod != nullptr && pod->meta.uid == self_.pod_uid && pod->ready;
  if (!observed_.imex.runs || fabric_.Find(self_.pod_uid) != nullptr) return;
  // As DaemonProcess::SeeWhetherImexEnded.
  const auto lived = observed_.now - observed_.imex.since;
  EndImex();
  imex_daemon::OnEnded(memory_, lived, observed_.now, random_);
}

void Daemon::EndImex() {
  observed_.imex.runs = false;
  ++observed_.imex.ends;
  observed_.answers.reset();
  NoteAction();
}

bool Daemon::StepDecision() {
  const bool has_ended = observed_.imex.runs && fabric_.Find(self_.pod_uid) == nullptr;
  if (is_decided_ && !has_ended && clock_.Now() < requeue_at_) return false;
  Observe();
  const imex_daemon::DaemonStep step = options_.rules.decide(self_, observed_, memory_);
  is_decided_ = true;
  requeue_at_ = step.requeue_at;
  fatal_ = step.fatal;
  over_ = step.over;
  if (over_ || !fatal_.empty()) return true;
  if (!Execute(step)) return has_ended;
  is_decided_ = false;
  return true;
}

// Whether there was anything to do.
bool Daemon::Execute(const imex_daemon::DaemonStep& step) {
  const auto now = clock_.Now();
  const bool signals = step.signal && observed_.imex.runs;
  const bool stops = step.stop && observed_.imex.runs;
  if (step.hosts) imex_daemon::OnHostsWritten(memory_, *step.hosts, observed_.imex.runs, now);
  if (step.start) StartImex();
  if (signals) {
    fabric_.Signal(options_.container, *memory_.hosts, clock_.Wall());
    imex_daemon::OnSignalled(memory_, now);
  }
  if (stops) {
    fabric_.TellToEnd(options_.container, clock_.Wall());
    EndImex();
  }
  if (step.ask) observed_.asking = true;
  if (step.write) {
    order_ = {.write = *step.write, .ready = observed_.pod_ready, .report = step.report};
    observed_.writing = true;
    replies_.clear();
  }
  const bool is_action = step.hosts || step.start || signals || stops || step.write;
  if (is_action) NoteAction();
  return is_action || step.ask;
}

void Daemon::StartImex() {
  fabric_.Start(options_.container, memory_.hosts.value_or(std::vector<imex::HostsEntry>()),
                clock_.Wall());
  observed_.imex = {.runs = true,
                    .since = clock_.Now(),
                    .started = base::FormatSeconds(clock_.Wall()),
                    .ends = observed_.imex.ends};
  observed_.answers.reset();
  imex_daemon::OnStarted(memory_, clock_.Now());
}

void Daemon::TellToStop() {
  if (observed_.stopping) return;
  observed_.stopping = true;
  is_decided_ = false;
  imex_daemon::OnStopping(memory_, clock_.Now());
}

bool Daemon::IsReady() const {
  if (self_.clique.empty())
    return memory_.membership_writer != imex_daemon::MembershipWriter::kUnknown;
  return fabric_.Find(self_.pod_uid) != nullptr;
}

std::optional<Time> Daemon::NextDue() const {
  if (over_ || !fatal_.empty()) return {};
  // One that was just told to stop has not looked at that yet.
  Time due = is_decided_ ? clock_.ToWall(requeue_at_) : clock_.Wall();
  for (const Watcher& watch : watches_) due = std::min(due, watch.NextDue().value_or(due));
  const Time new_view = born_ + kOldFor;
  if (!options_.stale_view.kind.empty() && clock_.Wall() < new_view) due = std::min(due, new_view);
  return due;
}

bool Daemon::IsAtRest() const {
  if (over_) return true;
  const Time last = std::max({last_action_, born_, fabric_.silenced_at()});
  const bool is_calm = clock_.Wall() >= last + kCalm;
  return is_calm && fatal_.empty() && !order_ && memory_.writes.next <= clock_.Now() &&
         std::ranges::all_of(watches_, &Watcher::IsAtRest);
}

}  // namespace simulation
