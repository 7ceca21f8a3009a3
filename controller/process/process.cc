#include "controller/process/process.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "controller/api/names.h"
#include "controller/compute_domain/controller.h"
#include "controller/compute_domain/rules/children.h"
#include "controller/compute_domain/status/debug_page.h"
#include "controller/compute_domain/status/events.h"
#include "controller/compute_domain/status/explanation/usage.h"
#include "controller/process/announcer.h"
#include "controller/process/metrics.h"
#include "controller/process/nvidia_controller.h"
#include "controller/process/other_leaders.h"
#include "controller/process/placement_policy.h"
#include "controller/process/start_checks.h"
#include "pkg/base/heap.h"
#include "pkg/base/system_random.h"
#include "pkg/base/uuid.h"
#include "pkg/base/version.h"
#include "pkg/http/curl_transport.h"
#include "pkg/http/exchange_log.h"
#include "pkg/http/gate.h"
#include "pkg/json/value.h"
#include "pkg/kube/client/request.h"
#include "pkg/kube/lease/leader_elector.h"
#include "pkg/kube/runtime/api_session.h"
#include "pkg/kube/runtime/blocking_queue.h"
#include "pkg/kube/runtime/event_loop.h"
#include "pkg/kube/runtime/health_server.h"
#include "pkg/kube/runtime/metrics_server.h"
#include "pkg/kube/runtime/process_metrics.h"
#include "pkg/kube/runtime/wait.h"
#include "pkg/kube/runtime/watch_loop.h"
#include "pkg/kube/runtime/worker_transport.h"
#include "pkg/systemd/notify.h"

namespace process {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using TimePoint = base::Clock::TimePoint;

// Intervals of the main thread: before the workers start, and while they run.
constexpr auto kTurn = milliseconds(200);
constexpr auto kTurnAtWork = seconds(1);
constexpr auto kBeat = seconds(1);
constexpr auto kTrim = seconds(10);
constexpr auto kCapacityAge = seconds(5);  // Scrapes share a count of all nodes for this long.
constexpr auto kSilenceMax = seconds(30);  // A thread without progress for this long hangs.
constexpr int kInFlightMax = 16;           // Requests of all workers.
constexpr int kKeptBack = 4;               // Of these, kept for workers that have few.
// A shutdown gives up requests in flight after these times. A pod has 30 s to end, and must release
// the Lease in that time even if the API server hangs.
constexpr auto kDrain = seconds(5);
constexpr auto kLeaseDrain = seconds(3);
constexpr auto kLookAround = milliseconds(10);  // Between looks whether the last Events are sent.
// A worker without a reply for this long hangs. Each reads up to twelve collections at once. All
// workers together have `kInFlightMax` requests, and a slow server takes a minute for each.
constexpr std::chrono::minutes ReplyMax(int workers) {
  return std::chrono::minutes(1 + workers * 12 / kInFlightMax);
}

// Time of the last progress of a thread.
class Heartbeat {
 public:
  void Beat(TimePoint now) { last_ = now.time_since_epoch().count(); }
  void Rest() { last_ = 0; }  // The thread has nothing to do until it beats again.
  bool IsAlive(TimePoint now, std::chrono::nanoseconds silence_max) const {
    const std::int64_t last = last_;
    return last == 0 || now.time_since_epoch().count() - last < silence_max.count();
  }

 private:
  std::atomic<std::int64_t> last_ = 0;  // Nanoseconds of the monotonic clock. 0 while it rests.
};

constexpr std::string_view kProgram = "compute-domain-controller";

// Returns "host:port" of the URL.
std::string HostOf(const http::Endpoint& endpoint) {
  const std::size_t scheme = endpoint.url.find("://");
  const std::size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  return endpoint.url.substr(begin, endpoint.url.find('/', begin) - begin);
}

class ControllerProcess {
 public:
  ControllerProcess(const Context& context, kube::ClientConfig config)
      : context_(context),
        settings_(context.settings),
        clock_(context.clock),
        logger_(context.logger),
        config_(std::move(config)),
        queue_(clock_, compute_domain::LargestShare(settings_.workers)),
        // NVIDIA's controller also names itself <pod>-<uuid> in the Lease.
        elector_({.ns = settings_.lease_namespace, .name = settings_.lease_name},
                 settings_.pod_name + "-" + base::RandomUuid(lease_random_), settings_.lease,
                 clock_, lease_random_, logger_),
        controller_({.settings = settings::RuleSettingsOf(settings_)},
                    {.enqueue =
                         [this](const kube::Uid& uid, const kube::WorkQueue::AddOptions& options) {
                           queue_.Add(uid, options);
                         },
                     .record = [this](const auto& events) { events_.Record(events); }},
                    clock_, watch_random_, logger_),
        events_(std::string(api::kReportingController), settings_.pod_name, clock_, event_random_,
                logger_),
        metrics_({.cache = controller_.cache(),
                  .queue = queue_,
                  .events = events_,
                  .clock = clock_,
                  .leaving_taints = settings_.rules.leaving_taints,
                  .capacity = [this] { return controller_.shared().CountCapacity(kCapacityAge); },
                  .memory_shared =
                      [this](const api::ComputeDomain& domain) {
                        return controller_.shared().MemorySharedOf(domain);
                      },
                  .ignored_gates = settings_.IgnoredGates()},
                 HostOf(config_.endpoint), settings_.workers),
        workers_alive_(static_cast<std::size_t>(settings_.workers)),
        reviews_(MakeTransport(nullptr, &reviews_gate_)),
        metrics_server_(MetricsOptions(), *reviews_, clock_, logger_) {
    controller_.cache().OnAllocated(
        [this](const api::ResourceClaim& before) { metrics_.Waited(before); });
    controller_.cache().OnProgress(
        [this](const kube::Uid& uid, auto progress) { metrics_.Progressed(uid, progress); });
    if (settings_.dry_run) controller_.shared().SetDryRun();
  }

  ExitReason Run(const std::stop_token& stop);

 private:
  bool MayWrite() const { return !settings_.dry_run && (!settings_.elects || elector_.IsLeader()); }
  // Returns objects of the other IMEX mode, because of which the process must not start.
  std::vector<std::string> FindOfOtherMode();
  void StartPasses();
  // A dry run plans beside the leader.
  bool MayWork() const { return controller_.CanServe() && (settings_.dry_run || MayWrite()); }

  // For one thread. If `in_flight` is null, its requests count by themselves. `gate` may be null.
  std::unique_ptr<http::Transport> MakeTransport(http::InFlight* in_flight = nullptr,
                                                 const http::Gate* gate = nullptr) {
    return std::make_unique<http::CurlTransport>(
        config_.endpoint, *config_.credentials, base::UserAgent(kProgram),
        [this](const http::ExchangeReport& report) { Exchanged(report); }, in_flight, gate);
  }
  void Exchanged(const http::ExchangeReport& report) {
    metrics_.Exchanged(report);
    http::LogExchange(report, logger_);
  }
  void Watch(const std::stop_token& stop);
  void KeepLease(const std::stop_token& stop);
  // Returns whether the elector may ask for the Lease, or renew it.
  bool IsFit();
  void SendEvents(const std::stop_token& stop);
  void Work(const std::stop_token& stop, Heartbeat& alive);
  kube::WorkQueue::Ended Reconcile(const kube::Uid& uid, Heartbeat& alive);
  void FlushEvents(std::jthread events);
  void ReleaseLease();
  kube::HealthOptions HealthOptions();
  kube::MetricsServerOptions MetricsOptions() const;
  kube::Collectables MetricsFor(Readers readers) const;
  // Render the debug pages.
  std::string DescribeDomains();
  std::string DescribeCliques();
  // `what` is a plural. A server that cannot start does not stop the process.
  void Serve(kube::HealthServer& server, const std::string& endpoint, const std::string& what,
             const std::string& flag);
  std::string Stuck(TimePoint now) const;
  bool ConfigChanged(TimePoint now);
  std::optional<ExitReason> EndReason(TimePoint now);
  void Announce(TimePoint now);
  void GiveMemoryBack(TimePoint now);

  const Context& context_;  // Its `fitness` is for the lease thread.
  const settings::Settings& settings_;
  const base::Clock& clock_;
  base::Logger& logger_;
  kube::ClientConfig config_;
  base::SystemRandom lease_random_;
  base::SystemRandom watch_random_;
  base::SystemRandom event_random_;
  kube::BlockingQueue queue_;
  kube::LeaderElector elector_;
  compute_domain::Controller controller_;
  kube::EventLoop events_;
  Metrics metrics_;
  http::InFlight in_flight_{kInFlightMax,
                            kKeptBack};  // For all workers. The Lease and Events have their own.
  http::Gate gate_{[this] { return MayWrite(); }, clock_};  // For all workers.
  kube::WorkerTransport worker_transport_{[this] { return MakeTransport(&in_flight_, &gate_); },
                                          kInFlightMax, clock_};
  http::Gate lease_gate_{[] { return true; }, clock_};
  http::Gate events_gate_{[this] { return MayWrite(); }, clock_};
  Heartbeat watch_alive_;
  Heartbeat lease_alive_;
  std::deque<Heartbeat> workers_alive_;  // Beat with each reply.
  std::atomic<bool> ends_ = false;
  std::atomic<bool> events_ended_ = false;
  std::atomic<bool> stands_down_ = false;  // It leads, and must end its term.
  std::atomic<bool> gives_up_ = false;     // The same, because it cannot serve.
  bool waits_ = false;  // It can serve, and does not ask for the Lease yet. For the lease thread.
  Announcer announcer_{logger_};
  TimePoint next_reload_ = {};
  std::optional<kube::ClientConfig> next_config_;  // As read last. Empty if it equals `config_`.
  TimePoint next_watchdog_ = {};
  TimePoint next_trim_ = {};
  // A review stores nothing, so each replica may send one.
  http::Gate reviews_gate_{[] { return true; }, clock_};
  std::unique_ptr<http::Transport> reviews_;  // For the server's thread.
  kube::MetricsServer metrics_server_;
};

void ControllerProcess::Watch(const std::stop_token& stop) {
  kube::WatchLoop loop(config_.endpoint, *config_.credentials, base::UserAgent(kProgram), clock_,
                       [this](const auto& report) { Exchanged(report); });
  for (kube::Reflector& reflector : controller_.reflectors()) loop.Add(reflector);
  loop.Run(stop, [this] {
    controller_.Observe();
    metrics_.Watched(controller_.reflectors());
    watch_alive_.Beat(clock_.Now());
  });
}

void ControllerProcess::KeepLease(const std::stop_token& stop) {
  const auto transport = MakeTransport(nullptr, &lease_gate_);
  std::vector<kube::ObjectKey> others = settings_.KnownLeases();
  others.erase(others.begin());
  const OtherLeadersContext context = {
      .clock = clock_, .logger = logger_, .period = settings_.lease.retry_period, .beat = [this] {
        lease_alive_.Beat(clock_.Now());
      }};
  // A controller whose namespace nobody set, as when a person starts it by hand, may be beside the
  // one in the cluster.
  if (settings_.ns == settings::Settings().ns) {
    std::ranges::move(FindLeasesElsewhere(settings_.lease_namespace, *transport, context, stop),
                      std::back_inserter(others));
  }
  WaitForOtherLeaders(others, *transport, context, stop);
  std::optional<BesideNvidia> beside;
  if (settings_.beside_nvidia) {
    beside.emplace(BesideNvidiaOptions{.ns = settings_.ns,
                                       .lease = settings_.KnownLeases().front(),
                                       .lease_duration = settings_.lease.lease_duration,
                                       .period = settings_.lease.retry_period},
                   clock_, logger_);
  }
  while (!stop.stop_requested()) {
    lease_alive_.Beat(clock_.Now());
    const bool is_fit = IsFit();  // Also looks while another controller leads.
    if (beside) beside->Look(*transport);
    const bool may_elect = !beside || beside->MayElect();
    if (!may_elect) stands_down_ = elector_.term_began();
    if (!may_elect || !is_fit) {
      kube::WaitUntil(clock_, clock_.Now() + kTurn, stop);
      continue;
    }
    const kube::LeaderElector::Next next = elector_.Poll();
    if (next.request) {
      elector_.OnReply(transport->Send(*next.request));
      continue;
    }
    // The server may ask for a wait of minutes. The thread must beat during that time.
    kube::WaitUntil(clock_, std::min(next.until, clock_.Now() + kBeat), stop);
  }
}

bool ControllerProcess::IsFit() {
  const TimePoint now = clock_.Now();
  const std::string why = controller_.WhyItCannotServe();
  context_.fitness.Observe(now, why.empty());
  if (!elector_.term_began()) {
    const bool may_ask = context_.fitness.MayAsk(now);
    if (!std::exchange(waits_, why.empty() && !may_ask) && waits_) {
      logger_.Info("Not asking for the Lease yet, because serving failed a short time ago");
    }
    return may_ask;
  }
  if (gives_up_ || !context_.fitness.MustGiveUp(now)) return !gives_up_;
  logger_.Error("Giving up the Lease, because no domain can be served for a minute",
                {{"why", why}});
  context_.fitness.OnGivenUp();
  gives_up_ = true;
  return false;
}

void ControllerProcess::SendEvents(const std::stop_token& stop) {
  // What it asks changes nothing, so it needs no Lease.
  const auto reads = MakeTransport();
  // Runs here because no thread waits for this one, and only after the API server has answered.
  while (!controller_.CanServe() && !stop.stop_requested()) {
    kube::WaitUntil(clock_, clock_.Now() + kTurn, stop);
  }
  controller_.shared().SetUser(CheckIdentity(*reads, logger_, stop));
  WarnOfUnlabelled(settings_.DriverNamespaces(), *reads, logger_, stop);
  events_.Run(stop, *MakeTransport(nullptr, &events_gate_));
  events_ended_ = true;
}

void ControllerProcess::Work(const std::stop_token& stop, Heartbeat& alive) {
  while (const std::optional<std::string> uid = queue_.Get(stop)) {
    alive.Beat(clock_.Now());
    metrics_.Began(queue_.Waited(*uid));
    queue_.Done(*uid, Reconcile(*uid, alive));
    alive.Rest();
  }
}

kube::WorkQueue::Ended ControllerProcess::Reconcile(const kube::Uid& uid, Heartbeat& alive) {
  const TimePoint start = clock_.Now();
  compute_domain::ReconcilePass pass(controller_.shared(), uid);
  for (auto requests = pass.Next(); !requests.empty(); requests = pass.Next()) {
    kube::WorkerTransport::Answers answers = worker_transport_.SendAll(requests);
    pass.HandleReplies(std::move(answers.replies));
    alive.Beat(clock_.Now());
  }
  metrics_.Reconciled(pass.outcome(), clock_.Now() - start);
  return controller_.Finish(uid, pass.outcome());
}

// Ends the thread of Events. The last ones are sent under the Lease, and a server that hangs does
// not delay its release.
void ControllerProcess::FlushEvents(std::jthread events) {
  events.request_stop();
  const TimePoint flushed = clock_.Now() + kLeaseDrain;
  while (!events_ended_ && clock_.Now() < flushed) {
    kube::WaitUntil(clock_, clock_.Now() + kLookAround, {});
  }
  events_gate_.Close({});
}

void ControllerProcess::ReleaseLease() {
  const std::optional<http::Request> release = elector_.Release();
  if (!release) return;
  const base::Result<http::Response> reply =
      kube::CheckStatus(MakeTransport()->Send(*release), release->method);
  if (!reply) {
    logger_.Info("The Lease was not released and will expire", {{"err", reply.error().message}});
  }
}

// Returns what hangs. Empty if nothing does.
std::string ControllerProcess::Stuck(TimePoint now) const {
  if (!watch_alive_.IsAlive(now, kSilenceMax)) return "the watch thread";
  if (settings_.Elects() && !lease_alive_.IsAlive(now, kSilenceMax)) return "the lease thread";
  const bool all_alive = std::ranges::all_of(workers_alive_, [&](const Heartbeat& worker) {
    return worker.IsAlive(now, ReplyMax(settings_.workers));
  });
  return all_alive ? "" : "a worker";
}

kube::HealthOptions ControllerProcess::HealthOptions() {
  const auto check = [](bool good, const std::string& wrong) -> base::Result<void> {
    if (good) return {};
    return base::Unavailable(wrong);
  };
  return {.live = {{"progress",
                    [this, check] {
                      const std::string stuck = Stuck(clock_.Now());
                      return check(stuck.empty(), stuck + " hangs");
                    }}},
          .ready = {{"caches",
                     [this, check] {
                       const std::string why = controller_.WhyItCannotServe();
                       return check(why.empty(), why);
                     }},
                    {"watches",
                     [this, check] {
                       return check(!controller_.IsDisconnected(),
                                    "nothing could be read for a minute, the log says why");
                     }},
                    {"shutdown", [this, check] { return check(!ends_, "the process is ending"); }}},
          .ready_notes = api::TextsOf(settings_.IgnoredGates()),
          .metrics_path = settings_.metrics_path,
          .metrics = MetricsFor(Readers::kAnyone)};
}

kube::Collectables ControllerProcess::MetricsFor(Readers readers) const {
  kube::Collectables metrics = metrics_.For(readers);
  metrics.push_back(std::make_shared<kube::ProcessMetrics>(clock_));
  return metrics;
}

kube::MetricsServerOptions ControllerProcess::MetricsOptions() const {
  const int port = settings_.metrics_path.empty() ? 0 : settings_.metrics_secure_port;
  return {.address = port == 0 ? "" : ":" + std::to_string(port),
          .path = settings_.metrics_path,
          .metrics = MetricsFor(Readers::kAllowed),
          .certificate_file = settings_.metrics_cert_file,
          .key_file = settings_.metrics_key_file,
          .dns_name = std::string(kProgram)};
}

std::string ControllerProcess::DescribeDomains() {
  json::Value domains = json::Value::Array();
  const compute_domain::Instant now = {.monotonic = clock_.Now(), .wall = clock_.Wall()};
  controller_.cache().VisitVersions([&](const kube::ObjectMeta& domain) {
    const auto observed = controller_.shared().Gather(domain.uid);
    if (observed.domain) domains.Append(compute_domain::DescribeDomain(observed, now));
  });
  return json::Serialize(domains);
}

std::vector<std::string> ControllerProcess::FindOfOtherMode() {
  std::vector<std::string> names;
  controller_.cache().VisitVersions([&](const kube::ObjectMeta& domain) {
    const auto observed = controller_.shared().Gather(domain.uid);
    std::ranges::move(compute_domain::FindOfOtherMode(observed), std::back_inserter(names));
  });
  return names;
}

std::string ControllerProcess::DescribeCliques() {
  compute_domain::CliqueDescription cliques;
  const compute_domain::Cache& cache = controller_.cache();
  controller_.shared().VisitNodes([&](const auto& node, const auto& room) {
    cliques.Add(node, room, node.domain.empty() ? "" : cache.NameOf(node.domain));
  });
  return json::Serialize(cliques.Take());
}

// Returns whether the files differ from `config_` twice in a row. Related files, such as a
// certificate and its key, may be written one after the other. A connection that works is no reason
// to wait, because the next connection needs the new files.
bool ControllerProcess::ConfigChanged(TimePoint now) {
  if (now < next_reload_) return false;
  next_reload_ = now + context_.reload_period;
  auto latest = context_.load_config();
  if (!latest || kube::IsSameConfig(*latest, config_)) {
    next_config_.reset();
    return false;
  }
  if (next_config_ && kube::IsSameConfig(*latest, *next_config_)) return true;
  next_config_ = *std::move(latest);
  return false;
}

// Returns why the run must end now. Empty if it may go on.
std::optional<ExitReason> ControllerProcess::EndReason(TimePoint now) {
  if (settings_.Elects() && elector_.TermEnded()) return ExitReason::kLeaseLost;
  if (stands_down_) return ExitReason::kStoodDown;
  if (gives_up_) return ExitReason::kCannotServe;
  if (ConfigChanged(now)) return ExitReason::kConfigChanged;
  return {};
}

// Reports what the process does. Feeds the watchdog while no thread hangs.
void ControllerProcess::Announce(TimePoint now) {
  const char* const leads = MayWrite() ? "Reconciling" : "Standing by";
  announcer_.Report(now, settings_.dry_run ? "Dry run: writes are only logged" : leads,
                    controller_.WhyItCannotServe());
  const auto interval = systemd::WatchdogInterval();
  if (!interval || now < next_watchdog_) return;
  next_watchdog_ = now + *interval / 3;
  const std::string stuck = Stuck(now);
  if (stuck.empty()) {
    systemd::Watchdog();
  } else {
    logger_.Error("No heartbeat is sent to the watchdog", {{"hangs", stuck}});
  }
}

// A busy minute leaves idle connections, and heaps with holes.
void ControllerProcess::GiveMemoryBack(TimePoint now) {
  if (now < next_trim_) return;
  next_trim_ = now + kTrim;
  worker_transport_.CloseIdle();
  base::ReturnFreePages();
}

void ControllerProcess::Serve(kube::HealthServer& server, const std::string& endpoint,
                              const std::string& what, const std::string& flag) {
  if (endpoint.empty()) return;
  const base::Result<int> port = server.Start(endpoint);
  if (port) {
    logger_.Info("Serving " + what, {{"port", std::to_string(*port)}});
  } else {
    logger_.Error("No " + what + " are served; see " + flag, {{"err", port.error().message}});
  }
}

void ControllerProcess::StartPasses() {
  // The first pass would take back what status says of a policy that is missing.
  const auto policies = FindPlacementPolicy(*MakeTransport());
  if (policies) controller_.SetPlacement(*policies);
  controller_.Start();
  events_.Record(compute_domain::EventsOf(settings_.IgnoredGates(), settings_.Pod()));
}

ExitReason ControllerProcess::Run(const std::stop_token& stop) {
  const TimePoint start = clock_.Now();
  watch_alive_.Beat(start);
  lease_alive_.Beat(start);
  next_reload_ = start + context_.reload_period;

  kube::HealthServer health(HealthOptions(), clock_);
  Serve(health, settings_.http_endpoint, "health and metrics", "--http-endpoint");
  kube::HealthServer debug({.pages = {{"/debug/domains", [this] { return DescribeDomains(); }},
                                      {"/debug/cliques", [this] { return DescribeCliques(); }}}},
                           clock_);
  Serve(debug, settings_.debug_endpoint, "debug pages", "--debug-endpoint");
  std::jthread watch([this](const std::stop_token& token) { Watch(token); });
  std::jthread lease;
  if (settings_.Elects()) {
    lease = std::jthread([this](const std::stop_token& token) { KeepLease(token); });
  }
  std::jthread events([this](const std::stop_token& token) { SendEvents(token); });
  const std::jthread placement([this](const std::stop_token& token) {
    LookForPlacement(controller_, [this] { return MakeTransport(); }, clock_, logger_, token);
  });
  std::vector<std::jthread> workers;

  ExitReason end = ExitReason::kStopped;
  while (!stop.stop_requested()) {
    const TimePoint now = clock_.Now();
    if (const std::optional<ExitReason> reason = EndReason(now)) {
      end = *reason;
      break;
    }
    if (workers.empty() && MayWork()) {
      if (const std::vector<std::string> others = FindOfOtherMode(); !others.empty()) {
        logger_.Error(
            "Domains are served in the other --imex-mode: delete them first, or keep that mode",
            {{"children", compute_domain::Names(others)}});
        end = ExitReason::kOtherMode;
        break;
      }
      StartPasses();
      for (Heartbeat& alive : workers_alive_) {
        workers.emplace_back([this, &alive](const std::stop_token& token) { Work(token, alive); });
      }
    }
    metrics_.Refresh(MayWrite());
    metrics_.SetCanServe(controller_.CanServe());
    metrics_server_.Poll();
    Announce(now);
    GiveMemoryBack(now);
    kube::WaitUntil(clock_, now + (workers.empty() ? kTurn : kTurnAtWork), stop);
  }

  ends_ = true;
  gate_.Close(kDrain);
  reviews_gate_.Close({});
  logger_.Info("No more writes are sent");
  if (end == ExitReason::kStopped || end == ExitReason::kOtherMode) systemd::Stopping();
  // Workers come first: the Lease may be released only after the last write has returned.
  for (std::jthread& worker : workers) worker.request_stop();
  queue_.ShutDown();
  workers.clear();
  FlushEvents(std::move(events));
  if (settings_.Elects()) {
    lease.request_stop();
    lease_gate_.Close(kLeaseDrain);
    lease = std::jthread();
    if (end != ExitReason::kLeaseLost) ReleaseLease();
  }
  watch.request_stop();
  return end;
}

}  // namespace

ExitReason Run(const Context& context, kube::ClientConfig config, const std::stop_token& stop) {
  ControllerProcess runner(context, std::move(config));
  return runner.Run(stop);
}

}  // namespace process
