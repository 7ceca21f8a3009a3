#include "test/simulation/scenarios/replica.h"

#include <algorithm>
#include <array>
#include <utility>

#include "controller/api/names.h"
#include "test/simulation/apiserver/contract.h"

namespace simulation {

namespace {

constexpr int kWorkers = 8;

compute_domain::Facts FactsOf(const ReplicaOptions& options) {
  compute_domain::Facts facts;
  facts.settings.Edit().driver_namespaces = {std::string(kDriverNamespace)};
  facts.settings.Edit().daemons = {.ns = std::string(kDriverNamespace),
                                   .image = options.image,
                                   .controller_writes = options.controller_writes};
  return facts;
}

}  // namespace

Replica::Replica(ApiServer& server, ReplicaOptions options, Serve serve, const OpenWatch& open)
    : options_(std::move(options)),
      serve_(std::move(serve)),
      clock_(server.store(), options_.skew),
      random_(options_.seed),
      queue_(compute_domain::LargestShare(kWorkers)),
      elector_({.ns = std::string(kDriverNamespace), .name = std::string(kLeaseName)},
               options_.client, {}, clock_, random_, logger_),
      fitness_(options_.fitness),
      controller_(FactsOf(options_),
                  {.enqueue =
                       [this](const std::string& uid, const kube::WorkQueue::AddOptions& how) {
                         queue_.Add(uid, clock_.Now(), how);
                       },
                   .record = [this](const auto& events) { Record(events); }},
                  clock_, random_, logger_, options_.rules),
      events_(std::string(api::kReportingController), options_.client, clock_, random_, logger_),
      workers_(options_.mixed ? kWorkers : 1),
      order_(options_.seed),
      lags_(options_.seed) {
  for (kube::Reflector& reflector : controller_.reflectors()) {
    watches_.emplace_back(reflector, server, options_.client, serve_, clock_, DrawLag(), open);
  }
  for (const std::string& kind : options_.silent) Silence(kind);
  if (!options_.believes_silence) return;
  for (Watcher& watch : watches_) watch.BelieveSilence();
}

Revision Replica::ViewOf(const kube::Reflector& reflector) const {
  const auto it = options_.stale.find(reflector.options().resource.plural);
  return it == options_.stale.end() ? kNewest : it->second;
}

// Each kind is as slow as it is drawn, so they are behind one another; and at every other moment it
// is late, and what comes meanwhile arrives with the frame that is.
Watcher::Lag Replica::DrawLag() {
  using std::chrono::milliseconds;
  if (!options_.mixed) return {};
  constexpr std::array<std::uint64_t, 4> kMost = {1, 20, 400,
                                                  kLagMax / std::chrono::milliseconds(1)};
  const std::uint64_t most = kMost[lags_() % kMost.size()];
  return [this, most, until = clock_.StoreTime()]() mutable {
    const Time now = clock_.StoreTime();
    if (now <= until || lags_() % 2 == 0) return milliseconds(0);
    const milliseconds lag(lags_() % most);
    until = now + lag;
    return lag;
  };
}

bool Replica::Step() {
  if (IsFrozen()) return false;
  // Each part in turn, or from any on, so that none starves another; the first that moves ends the
  // step.
  const std::size_t parts = watches_.size() + 2 + workers_.size();
  if (options_.mixed) turn_ = order_() % parts;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t part = turn_++ % parts;
    const std::size_t rest = part - std::min(part, watches_.size());
    const bool moved = part < watches_.size()    ? StepWatch(watches_[part])
                       : rest == 0               ? StepElector()
                       : rest <= workers_.size() ? StepWorker(workers_[rest - 1])
                                                 : StepEvents();
    if (moved) return true;
  }
  return false;
}

void Replica::ExpireWatches() {
  for (Watcher& watch : watches_) watch.Expire();
}

void Replica::BreakWatches(std::chrono::seconds lived) {
  for (Watcher& watch : watches_) watch.Break(lived);
}

void Replica::Silence(const std::string& kind) {
  for (Watcher& watch : watches_) {
    if (watch.reflector().options().resource.plural == kind) watch.Silence();
  }
}

void Replica::GoBack(const std::map<std::string, Revision>& kinds) {
  for (Watcher& watch : watches_) {
    const auto it = kinds.find(watch.reflector().options().resource.plural);
    if (it == kinds.end() || !watch.IsOpen()) {
      watch.SilenceUntilListed();
    } else {
      watch.GoBack(it->second);
    }
  }
}

bool Replica::StepWatch(Watcher& watch) {
  if (!watch.Step(ViewOf(watch.reflector()))) return false;
  controller_.Observe();
  return true;
}

// The loop of watches does each second.
void Replica::ObserveOnceAtATime() {
  if (std::exchange(observed_at_, clock_.Now()) != clock_.Now()) controller_.Observe();
}

// As the lease thread of the process. A leader that gives up sends nothing more.
bool Replica::IsFit() {
  const base::Clock::TimePoint now = clock_.Now();
  fitness_.Observe(now, controller_.CanServe());
  if (!elector_.term_began()) return fitness_.MayAsk(now);
  if (!gives_up_ && fitness_.MustGiveUp(now)) {
    fitness_.OnGivenUp();
    gate_.Close({});
    gives_up_ = true;
  }
  return !gives_up_;
}

bool Replica::StepElector() {
  if (!options_.elects) return false;
  if (!has_begun_) ObserveOnceAtATime();
  if (!IsFit()) {
    elector_until_ = clock_.Now() + std::chrono::seconds(1);
    if (!gives_up_ || Works() || !elector_.IsLeader()) return false;
    const std::optional<http::Request> release = elector_.Release();
    if (release) (void)serve_(*release);
    return release.has_value();
  }
  const kube::LeaderElector::Next next = elector_.Poll();
  elector_until_ = next.until;
  if (!next.request) return false;
  elector_.OnReply(serve_(*next.request));
  return true;
}

bool Replica::StepEvents() {
  const kube::EventRecorder::Next next = events_.Poll();
  events_until_ = next.until;
  if (!next.request) return false;
  events_.OnReply(SendAsLeader(*next.request));
  return true;
}

// Each request of a step asks the gate again as it starts, and so does an Event, as in the process.
base::Result<http::Response> Replica::SendAsLeader(const http::Request& request) {
  if (const auto admitted = gate_.Admit(request); !admitted) {
    return tl::unexpected(admitted.error());
  }
  return serve_(request);
}

bool Replica::StepWorker(Worker& worker) {
  const auto go_on = [&] {
    worker.requests = worker.pass->Next();
    worker.missing = worker.requests.size();
    worker.replies.assign(worker.missing, std::nullopt);
  };
  if (!worker.pass) {
    if (!has_begun_ && !controller_.CanServe()) return false;
    if (!Leads() || gives_up_) return false;
    if (!std::exchange(has_begun_, true)) controller_.Start();
    ObserveOnceAtATime();
    const std::optional<std::string> uid = queue_.Get(clock_.Now());
    if (!uid) return false;
    worker.uid = *uid;
    worker.pass.emplace(controller_.shared(), worker.uid);
    const auto under_way =
        std::ranges::count_if(workers_, [](const Worker& one) { return one.pass.has_value(); });
    passes_at_once_ = std::max(passes_at_once_, static_cast<int>(under_way));
    go_on();
  }
  if (worker.missing > 0) {
    // They travel side by side: any of them may be the first.
    std::size_t which = options_.mixed ? order_() % worker.missing : 0;
    std::size_t place = 0;
    while (worker.replies[place] || which-- > 0) ++place;
    worker.replies[place] = SendAsLeader(worker.requests[place]);
    --worker.missing;
  }
  if (worker.missing > 0) return true;
  if (!worker.requests.empty()) {
    std::vector<base::Result<http::Response>> replies;
    for (auto& reply : worker.replies) replies.push_back(*std::move(reply));
    worker.pass->HandleReplies(std::move(replies));
    go_on();
  }
  if (worker.requests.empty()) {
    const compute_domain::Outcome outcome = worker.pass->outcome();
    worker.pass.reset();
    queue_.Done(worker.uid, clock_.Now(), controller_.Finish(worker.uid, outcome));
  }
  return true;
}

void Replica::Record(const std::vector<kube::Event>& events) {
  for (const kube::Event& event : events) {
    events_.Record(event);
    events_until_ = clock_.Now();
  }
}

std::optional<Time> Replica::NextDue() const {
  if (IsFrozen()) return frozen_until_;
  std::optional<base::Clock::TimePoint> next = queue_.NextDue();
  if (options_.elects && elector_until_)
    next = std::min(next.value_or(*elector_until_), *elector_until_);
  // When nothing is to be told it is never due.
  if (events_until_ != base::Clock::TimePoint::max()) {
    next = std::min(next.value_or(events_until_), events_until_);
  }
  std::optional<Time> due;
  if (next) due = clock_.ToWall(*next);
  for (const Watcher& watch : watches_) {
    if (const auto time = watch.NextDue()) due = std::min(due.value_or(*time), *time);
  }
  return due;
}

bool Replica::Works() const {
  return std::ranges::any_of(workers_,
                             [](const Worker& worker) { return worker.pass.has_value(); });
}

bool Replica::HasEnded() const { return options_.elects && elector_.TermEnded() && !Works(); }

bool Replica::IsAtRest(Time horizon) const {
  const std::optional<base::Clock::TimePoint> due = queue_.NextDue();
  const bool waits_long = !due || clock_.ToWall(*due) > horizon;
  const bool has_work = Leads() && (queue_.depth() > 0 || !waits_long);
  const bool told = events_until_ > clock_.Now();
  const bool idle = !IsFrozen() && told && !Works() && !has_work;
  return idle && controller_.HasSynced() &&
         std::ranges::all_of(watches_, [&](const Watcher& watch) {
           // A kind that is not served is looked for again and again.
           return watch.IsAtRest() || !watch.reflector().IsServed() ||
                  (watch.IsDoneWithout() && watch.NextDue() > horizon);
         });
}

}  // namespace simulation
