#include "node/dra/process/driver_process.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "node/cdi/files.h"
#include "node/dra/host/file_claim_disk.h"
#include "pkg/base/file.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/runtime/health_server.h"
#include "pkg/kube/runtime/process_metrics.h"

namespace dra {

namespace {

using base::Result;

constexpr std::size_t kBootIdMax = 128;
constexpr std::chrono::milliseconds kLockPause{50};
// Without work a turn takes 5 s. After a much longer silence the loop hangs.
constexpr std::chrono::seconds kSilenceMost{90};
constexpr std::chrono::seconds kLeaveTime{5};
constexpr std::chrono::milliseconds kLastAnswers{10};
// A call that waits is answered after 40 s at the latest.
constexpr std::chrono::seconds kServeOutMost{42};

// Passes the kubelet's calls as tasks to the thread that decides.
class KubeletRequestHandler final : public kubelet::Claims {
 public:
  KubeletRequestHandler(base::TaskQueue& tasks, const base::Clock& clock, base::Logger& logger)
      : tasks_(tasks), clock_(clock), logger_(logger), alive_(clock.Now()) {}

  void Serve(DriverLoop& loop) { loop_ = &loop; }  // Must precede any call.
  void SayAlive() { alive_ = clock_.Now(); }
  void SetHealth(std::vector<kubelet::DeviceHealth> health) {
    health_.With([&](auto& known) { known = std::move(health); });
  }

  void Prepare(const std::vector<kubelet::ClaimName>& claims, std::stop_token cancelled,
               kubelet::Done done) override {
    Post(Metrics::Operation::kPrepare, claims, std::move(cancelled), std::move(done));
  }
  void Unprepare(const std::vector<kubelet::ClaimName>& claims, std::stop_token cancelled,
                 kubelet::Done done) override {
    Post(Metrics::Operation::kUnprepare, claims, std::move(cancelled), std::move(done));
  }
  void Registered(const std::string& error) override {
    if (error.empty()) return logger_.Info("The kubelet registered the plugin");
    logger_.Error("The kubelet did not register the plugin", {{"err", error}});
  }
  std::vector<kubelet::DeviceHealth> Health() override {
    return health_.With([](const auto& known) { return known; });
  }
  std::string Trouble() override {
    return clock_.Now() - alive_.load() > kSilenceMost ? "it hangs" : "";
  }

 private:
  void Post(Metrics::Operation operation, std::vector<kubelet::ClaimName> claims,
            std::stop_token cancelled, kubelet::Done done) {
    tasks_.Post([this, operation, claims = std::move(claims), cancelled = std::move(cancelled),
                 done = std::move(done)] { loop_->Add(operation, claims, cancelled, done); });
  }

  base::TaskQueue& tasks_;
  const base::Clock& clock_;
  base::Logger& logger_;
  DriverLoop* loop_ = nullptr;
  std::atomic<TimePoint> alive_;
  base::Guarded<std::vector<kubelet::DeviceHealth>> health_;
};

// Answers probes on the HTTP server's thread. The service starts later and ends earlier.
class Probes {
 public:
  // Null if no service runs.
  void SetService(const kubelet::Service* service) {
    service_.With([&](const auto*& current) { current = service; });
  }
  Result<void> Live() const {
    return CheckService(&kubelet::Service::IsWell,
                        "another process replaced its sockets, or it hangs");
  }
  Result<void> Registered() const {
    return CheckService(&kubelet::Service::IsRegistered, "the kubelet has not registered it");
  }

 private:
  Result<void> CheckService(bool (kubelet::Service::*is_so)() const, const char* wrong) const {
    return service_.With([&](const kubelet::Service* service) -> Result<void> {
      if (service == nullptr) return base::Unavailable("the kubelet is not served");
      if (!(service->*is_so)()) return base::Unavailable(wrong);
      return {};
    });
  }

  base::Guarded<const kubelet::Service*> service_{nullptr};
};

}  // namespace

Result<std::string> ReadBootId(const std::string& path) {
  std::string text = TRY(base::ReadFile(path, kBootIdMax).map_error([](base::Error error) {
    error.message += "; --boot-id says where the ID of this boot is";
    return error;
  }));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

ServeOptions OptionsOf(const DriverSettings& settings, std::string_view driver,
                       std::vector<std::string> ready_notes) {
  ServeOptions options = {.service = {.driver = std::string(driver),
                                      .registry_folder = settings.registry_folder,
                                      .plugin_folder = settings.FolderOf(driver),
                                      .daemon_namespace = settings.ns,
                                      .pod_uid = settings.pod_uid},
                          .cdi_folder = settings.cdi_folder,
                          .metrics_address = settings.metrics_address,
                          .metrics_path = settings.metrics_path,
                          .ready_notes = std::move(ready_notes)};
  if (settings.health_port >= 0) options.service.health_port = settings.health_port;
  return options;
}

struct DriverProcess::Parts {
  Parts(command_line::Frame& frame, ServeOptions serve)
      : options(std::move(serve)),
        clock(frame.clock()),
        logger(frame.logger()),
        tasks(frame.tasks()),
        handler(tasks, clock, logger) {}

  const ServeOptions options;
  const base::Clock& clock;
  base::Logger& logger;
  base::TaskQueue& tasks;
  KubeletRequestHandler handler;
  Probes probes;
  std::optional<kube::HealthServer> server;
  std::unique_ptr<kubelet::Service> service;
  bool is_leaving = false;
  std::atomic<bool> has_news = false;  // Of watches, since the last turn.
};

DriverProcess::DriverProcess(command_line::Frame& frame, ServeOptions options)
    : parts_(std::make_unique<Parts>(frame, std::move(options))) {}
DriverProcess::~DriverProcess() = default;

Instances DriverProcess::instances() {
  return {
      .is_superseded = [this] { return parts_->is_leaving || IsSuperseded(); },
      .has_younger = [this] { return parts_->service != nullptr && parts_->service->HasYounger(); },
      .has_elder = [this] { return parts_->service != nullptr && parts_->service->HasElder(); }};
}

void DriverProcess::NoteChange() {
  parts_->has_news = true;
  parts_->tasks.Wake();
}

bool DriverProcess::IsSuperseded() const {
  return parts_->service != nullptr && parts_->service->IsSuperseded();
}

Result<void> DriverProcess::StartServer(const Metrics& metrics) {
  const ServeOptions& options = parts_->options;
  if (options.metrics_address.empty()) return {};
  const Probes& probes = parts_->probes;
  parts_->server.emplace(
      kube::HealthOptions{.live = {{"service", [&probes] { return probes.Live(); }}},
                          .ready = {{"registration", [&probes] { return probes.Registered(); }}},
                          .ready_notes = options.ready_notes,
                          .metrics_path = options.metrics_path,
                          .metrics = {metrics.collectable(),
                                      std::make_shared<kube::ProcessMetrics>(parts_->clock)}},
      parts_->clock);
  TRY(parts_->server->Start(options.metrics_address)
          .map_error(base::While("--http-endpoint " + options.metrics_address)));
  return {};
}

Result<void> DriverProcess::Serve(DriverLoop& loop) {
  if (parts_->service != nullptr || !TRY(loop.Start())) return {};
  parts_->service = TRY(kubelet::Service::Start(parts_->options.service, parts_->handler));
  parts_->probes.SetService(parts_->service.get());
  parts_->logger.Info("Serving the kubelet",
                      {{"endpoint", parts_->service->endpoint()},
                       {"healthPort", std::to_string(parts_->service->health_port())}});
  return {};
}

TimePoint DriverProcess::Turn(DriverLoop& loop) {
  parts_->handler.SayAlive();
  if (parts_->has_news.exchange(false)) loop.NoteChange();
  const TimePoint until = loop.Turn();
  parts_->handler.SetHealth(loop.Health());
  return until;
}

Result<void> DriverProcess::Run(DriverLoop& loop, const std::function<TimePoint()>& connect,
                                const std::stop_token& stop) {
  parts_->handler.Serve(loop);
  const std::string& folder = parts_->options.service.plugin_folder;
  TRY(MakeFolders(folder));
  TRY(MakeFolders(parts_->options.cdi_folder));
  TRY(cdi::RemoveHalves(parts_->options.cdi_folder));
  TRY(cdi::RemoveHalves(folder));
  while (!stop.stop_requested()) {
    const TimePoint connect_next = connect();
    TRY(Serve(loop));
    const TimePoint until = std::min(Turn(loop), connect_next);
    const auto most = parts_->service == nullptr ? std::chrono::nanoseconds(kLockPause)
                                                 : until - parts_->clock.Now();
    for (const auto& task : parts_->tasks.Wait(most)) task();
  }
  Shutdown(loop);
  return {};
}

void DriverProcess::ServeOut(DriverLoop& loop) {
  const TimePoint deadline = parts_->clock.Now() + kServeOutMost;
  while (parts_->service->open_calls() > 0 && parts_->clock.Now() < deadline) {
    const TimePoint until = std::min(Turn(loop), deadline);
    for (const auto& task : parts_->tasks.Wait(until - parts_->clock.Now())) task();
  }
}

void DriverProcess::Shutdown(DriverLoop& loop) {
  parts_->is_leaving = true;
  // Another instance needs what this one has set.
  const bool has_successor = IsSuperseded();
  if (parts_->service != nullptr) {
    if (!parts_->options.service.pod_uid.empty()) ServeOut(loop);
    parts_->service->Leave();
    do {
      loop.AnswerAll("the plugin is ending; the kubelet asks again when it is back");
      for (const auto& task : parts_->tasks.Wait(kLastAnswers)) task();
    } while (parts_->service->open_calls() > 0);
  }
  Close();
  bool over = false;
  if (has_successor || !loop.CleanUp([&over] { over = true; })) return;
  const TimePoint deadline = parts_->clock.Now() + kLeaveTime;
  while (!over && parts_->clock.Now() < deadline) {
    for (const auto& task : parts_->tasks.Wait(deadline - parts_->clock.Now())) task();
  }
}

void DriverProcess::Close() {
  parts_->probes.SetService(nullptr);
  parts_->service.reset();
}

}  // namespace dra
