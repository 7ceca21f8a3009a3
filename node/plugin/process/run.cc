#include "node/plugin/process/run.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "controller/api/names.h"
#include "node/cdi/files.h"
#include "node/kubelet/service.h"
#include "node/plugin/host/file_disk.h"
#include "node/plugin/loop/device_health.h"
#include "node/plugin/loop/plugin_loop.h"
#include "node/plugin/process/api_connection.h"
#include "node/plugin/process/file_host_reader.h"
#include "pkg/base/file.h"
#include "pkg/kube/runtime/health_server.h"
#include "pkg/kube/runtime/process_metrics.h"

namespace plugin {

namespace {

using base::Result;

constexpr std::size_t kBootIdMax = 128;
constexpr std::chrono::milliseconds kLockPause{50};
// Without work a turn takes 5 s. After a much longer silence the loop hangs.
constexpr std::chrono::seconds kSilenceMost{90};
constexpr std::chrono::seconds kUnlabelTime{5};
constexpr std::chrono::milliseconds kLastAnswers{10};
// A call that waits is answered after 40 s at the latest.
constexpr std::chrono::seconds kServeOutMost{42};

Result<std::string> ReadBootId(const std::string& path) {
  std::string text = TRY(base::ReadFile(path, kBootIdMax).map_error([](base::Error error) {
    error.message += "; --boot-id says where the ID of this boot is";
    return error;
  }));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

// Passes the kubelet's calls as tasks to the thread that decides.
class KubeletRequestHandler final : public kubelet::Claims {
 public:
  KubeletRequestHandler(base::TaskQueue& tasks, const base::Clock& clock, base::Logger& logger)
      : tasks_(tasks), clock_(clock), logger_(logger), alive_(clock.Now()) {}

  void Serve(PluginLoop& loop) { loop_ = &loop; }  // Must precede any call.
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
  PluginLoop* loop_ = nullptr;
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

class PluginProcess {
 public:
  PluginProcess(const Settings& settings, command_line::Frame& frame, Metrics& metrics,
                Probes& probes, std::string boot_id, std::unique_ptr<base::SerialExecutor> reader)
      : settings_(settings),
        probes_(probes),
        clock_(frame.clock()),
        logger_(frame.logger()),
        tasks_(frame.tasks()),
        disk_({.folder = settings.Folder(),
               .cdi_folder = settings.cdi_folder,
               .config_template = settings.config_template}),
        host_(settings, clock_, logger_),
        reader_(std::move(reader)),
        loop_({.settings = settings,
               .clock = clock_,
               .logger = logger_,
               .tasks = tasks_,
               .metrics = metrics,
               .claim_disk = disk_,
               .disk = disk_,
               .host = host_,
               .executor = *reader_,
               .start_poller = [] { return std::make_unique<base::SerialExecutor>(); },
               .boot_id = std::move(boot_id),
               .instances = {
                   .is_superseded = [this] { return is_leaving_ || IsSuperseded(); },
                   .has_elder = [this] { return service_ != nullptr && service_->HasElder(); }}}),
        request_handler_(tasks_, clock_, logger_),
        connection_(
            settings, clock_, logger_, tasks_, [&frame] { return frame.LoadConfig(); },
            [this] {
              changed_ = true;
              tasks_.Wake();
            }) {
    request_handler_.Serve(loop_);
  }
  ~PluginProcess() {
    loop_.Connect(nullptr);
    connection_.Close();  // Its threads use the other members.
    reader_.reset();
    probes_.SetService(nullptr);
    service_.reset();
  }

  Result<void> Run(const std::stop_token& stop);

 private:
  Result<void> Prepare() const;
  bool IsSuperseded() const { return service_ != nullptr && service_->IsSuperseded(); }
  Result<void> Serve();
  TimePoint Turn();
  // Answers the calls that wait, while the next instance takes new ones. If told to retry, the
  // kubelet would do so only after a minute.
  void ServeOut();
  void Shutdown();

  const Settings& settings_;
  Probes& probes_;
  const base::Clock& clock_;
  base::Logger& logger_;
  base::TaskQueue& tasks_;
  FileDisk disk_;
  FileHostReader host_;
  std::unique_ptr<base::SerialExecutor> reader_;
  PluginLoop loop_;
  KubeletRequestHandler request_handler_;
  std::unique_ptr<kubelet::Service> service_;
  bool is_leaving_ = false;
  std::atomic<bool> changed_ = false;  // By watches, since the last turn.
  ApiConnection connection_;
};

Result<void> PluginProcess::Prepare() const {
  TRY(dra::MakeFolders(settings_.Folder() + "/domains"));
  TRY(dra::MakeFolders(settings_.cdi_folder));
  TRY(cdi::RemoveHalves(settings_.cdi_folder));
  return cdi::RemoveHalves(settings_.Folder());
}

Result<void> PluginProcess::Serve() {
  if (service_ != nullptr || !TRY(loop_.Start())) return {};
  kubelet::ServiceOptions options = {.driver = std::string(api::kDriver),
                                     .registry_folder = settings_.registry_folder,
                                     .plugin_folder = settings_.Folder(),
                                     .daemon_namespace = settings_.ns,
                                     .pod_uid = settings_.pod_uid};
  if (settings_.health_port >= 0) options.health_port = settings_.health_port;
  service_ = TRY(kubelet::Service::Start(options, request_handler_));
  probes_.SetService(service_.get());
  logger_.Info("Serving the kubelet", {{"endpoint", service_->endpoint()},
                                       {"healthPort", std::to_string(service_->health_port())}});
  return {};
}

TimePoint PluginProcess::Turn() {
  request_handler_.SayAlive();
  if (changed_.exchange(false)) loop_.NoteChange();
  const TimePoint until = loop_.Turn();
  request_handler_.SetHealth(HealthOf(loop_.host()));
  return until;
}

Result<void> PluginProcess::Run(const std::stop_token& stop) {
  TRY(Prepare());
  while (!stop.stop_requested()) {
    connection_.Turn();
    loop_.Connect(connection_.api());
    TRY(Serve());
    const TimePoint until = std::min(Turn(), connection_.next());
    const auto most =
        service_ == nullptr ? std::chrono::nanoseconds(kLockPause) : until - clock_.Now();
    for (const auto& task : tasks_.Wait(most)) task();
  }
  Shutdown();
  return {};
}

void PluginProcess::ServeOut() {
  const TimePoint deadline = clock_.Now() + kServeOutMost;
  while (service_->open_calls() > 0 && clock_.Now() < deadline) {
    const TimePoint until = std::min(Turn(), deadline);
    for (const auto& task : tasks_.Wait(until - clock_.Now())) task();
  }
}

void PluginProcess::Shutdown() {
  is_leaving_ = true;
  // Another instance needs the clique's label.
  const bool has_successor = IsSuperseded();
  if (service_ != nullptr) {
    if (!settings_.pod_uid.empty()) ServeOut();
    service_->Leave();
    do {
      loop_.AnswerAll("the plugin is ending; the kubelet asks again when it is back");
      for (const auto& task : tasks_.Wait(kLastAnswers)) task();
    } while (service_->open_calls() > 0);
  }
  probes_.SetService(nullptr);
  service_.reset();
  bool over = false;
  if (has_successor || !loop_.RemoveCliqueLabel([&over] { over = true; })) return;
  const TimePoint deadline = clock_.Now() + kUnlabelTime;
  while (!over && clock_.Now() < deadline) {
    for (const auto& task : tasks_.Wait(deadline - clock_.Now())) task();
  }
}

}  // namespace

Result<void> Run(const Settings& settings, command_line::Frame& frame,
                 std::unique_ptr<base::SerialExecutor> reader) {
  Metrics metrics(MetricsOf(settings.node, settings.IgnoredGates()));
  Probes probes;
  std::optional<kube::HealthServer> server;
  if (!settings.metrics_address.empty()) {
    server.emplace(
        kube::HealthOptions{.live = {{"service", [&probes] { return probes.Live(); }}},
                            .ready = {{"registration", [&probes] { return probes.Registered(); }}},
                            .ready_notes = api::TextsOf(settings.IgnoredGates()),
                            .metrics_path = settings.metrics_path,
                            .metrics = {metrics.collectable(),
                                        std::make_shared<kube::ProcessMetrics>(frame.clock())}},
        frame.clock());
    TRY(server->Start(settings.metrics_address)
            .map_error(base::While("--http-endpoint " + settings.metrics_address)));
  }
  PluginProcess runner(settings, frame, metrics, probes, TRY(ReadBootId(settings.boot_id)),
                       std::move(reader));
  return runner.Run(frame.stop());
}

}  // namespace plugin
