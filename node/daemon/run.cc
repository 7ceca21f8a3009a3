#include "node/daemon/run.h"

#include <csignal>
#include <memory>
#include <utility>

#include "node/daemon/api_client.h"
#include "node/daemon/files.h"
#include "node/daemon/imex_process.h"
#include "node/daemon/step.h"
#include "node/imex/answers.h"
#include "node/imex/names.h"
#include "pkg/base/file.h"
#include "pkg/base/rfc3339.h"
#include "pkg/base/serial_executor.h"
#include "pkg/base/subprocess.h"
#include "pkg/base/system_random.h"

namespace imex_daemon {

namespace {

using base::Result;

constexpr std::size_t kHostsMax = 4U << 20;
constexpr std::chrono::seconds kAskTime{5};
constexpr std::size_t kAnswerMax = 32U << 20;  // Its own part, for 10,000 nodes.
constexpr std::chrono::seconds kConfigLook{60};

// Returns what the program prints. Fails if the program does, or takes too long.
Result<std::string> RunCtl(base::Program ctl, std::initializer_list<std::string> question,
                           const base::Clock& clock, const std::stop_token& stop) {
  ctl.arguments.insert(ctl.arguments.end(), question);
  const auto end =
      TRY(base::RunProgram(ctl, {.time = kAskTime, .output_bytes_max = kAnswerMax}, clock, stop));
  if (end.Succeeded()) return end.output;
  return base::Unavailable("no answer");
}

// Queries peers separately, because that may hang when readiness does not. `index`: -1 if unknown.
ImexAnswers QueryImex(const base::Program& ctl, int index, const base::Clock& clock,
                      const std::stop_token& stop) {
  ImexAnswers answers;
  if (const auto printed = RunCtl(ctl, {"-q"}, clock, stop)) {
    answers.state = imex::StateIn(*printed);
  }
  if (index < 0) return answers;
  answers.asks_peers = true;
  if (const auto printed = RunCtl(ctl, {"-N", "-j"}, clock, stop)) {
    if (auto own = imex::ParseOwnView(*printed, index)) answers.own = *std::move(own);
  }
  return answers;
}

class DaemonProcess {
 public:
  DaemonProcess(const Settings& settings, const Programs& programs, command_line::Frame& frame)
      : settings_(settings),
        programs_(programs),
        environment_(frame.environment()),
        self_(settings.self),
        clock_(frame.clock()),
        logger_(frame.logger()),
        tasks_(frame.tasks()),
        config_([&frame] { return frame.LoadConfig(); }, clock_, logger_) {}

  Result<void> Run(const std::stop_token& stop);

 private:
  void Connect();
  const DaemonObservation& Observe();
  void SeeWhetherImexEnded();

  void Execute(const DaemonStep& step);
  void WriteHosts(std::vector<imex::HostsEntry> hosts);
  // Returns one of the programs, with IMEX's configuration.
  base::Program ProgramAt(const std::string& path) const {
    return {.path = path,
            .arguments = {"-c", settings_.PathOf(imex::kConfigFile)},
            .environment = environment_};
  }
  void StartImex();
  void TakeLine(int instance, std::string_view line);
  void StartQuery(int runs_as);
  void WriteToApi(const DaemonStep& step);
  void TakeWritten(const WriteOrder& order, const Result<Written>& written);
  void LogState(const DaemonStep& step);

  const Settings& settings_;
  const Programs& programs_;
  const std::vector<std::string>& environment_;  // For IMEX and its control program.
  const DaemonIdentity& self_;
  const base::Clock& clock_;
  base::Logger& logger_;
  base::TaskQueue& tasks_;
  kube::ConfigLoader config_;
  base::SystemRandom random_;

  DaemonObservation observed_;
  DaemonMemory memory_;
  std::string said_;
  std::string error_said_;
  bool told_to_stop_ = false;
  int instance_ = 0;  // Of IMEX. Lines of an earlier one are ignored.

  std::unique_ptr<DaemonApiClient> api_client_;
  std::unique_ptr<ImexProcess> imex_;
  base::SerialExecutor asker_;
};

// Connects to the API server once its address is known, and again if that changes.
void DaemonProcess::Connect() {
  auto config = config_.Poll(kConfigLook);
  if (!config) return;
  const bool is_same = api_client_ != nullptr && kube::IsSameConfig(api_client_->config(), *config);
  if (is_same || observed_.writing) return;
  logger_.Info("Talking to the API server",
               {{"server", config->endpoint.url}, {"from", config->source}});
  api_client_.reset();
  api_client_ = std::make_unique<DaemonApiClient>(*std::move(config), self_, clock_, logger_,
                                                  [this] { tasks_.Wake(); });
  if (memory_.membership_writer != MembershipWriter::kUnknown && !self_.clique.empty()) {
    api_client_->Watch(memory_.membership_writer == MembershipWriter::kDaemon);
  }
}

const DaemonObservation& DaemonProcess::Observe() {
  observed_.now = clock_.Now();
  if (api_client_ != nullptr) {
    // In this order: an object is in the store before it counts as read.
    observed_.clique_read = api_client_->clique_read();
    observed_.clique = api_client_->clique();
    observed_.pod_ready = api_client_->pod_ready();
  }
  return observed_;
}

void DaemonProcess::SeeWhetherImexEnded() {
  if (imex_ == nullptr) return;
  const auto ended = imex_->Ended();
  if (!ended) return;
  const TimePoint now = clock_.Now();
  imex_.reset();
  observed_.imex.runs = false;
  ++observed_.imex.ends;
  ++instance_;
  observed_.answers.reset();
  const bool exited = ended->how == base::ProgramEnd::How::kExited;
  const std::string how = (exited ? "status " : "signal ") + std::to_string(ended->status);
  if (told_to_stop_) {
    logger_.Info("IMEX ended", {{"with", how}});
    return;
  }
  OnEnded(memory_, now - observed_.imex.since, now, random_);
  const char* what =
      memory_.was_ready
          ? "IMEX ended by itself and is started again; jobs that used it may have failed"
          : "IMEX ended before it was ready";
  logger_.Error(what, {{"with", how}, {"ends", std::to_string(observed_.imex.ends)}});
}

void DaemonProcess::WriteHosts(std::vector<imex::HostsEntry> hosts) {
  const std::string& path = settings_.hosts_file;
  const TimePoint now = clock_.Now();
  Result<void> written = {};
  if (const auto before = base::ReadFile(path, kHostsMax)) {
    const std::string after = imex::WithHosts(*before, hosts, self_.Names());
    if (after != *before) written = WriteInPlace(path, after);
  } else {
    written = tl::unexpected(before.error());
  }
  if (!written) {
    const std::string& error = written.error().message;
    OnHostsFailed(memory_, error + "; " + kHostsAdvice, now, random_);
    logger_.Error("Writing the names of peers failed, will retry", {{"err", error}});
    return;
  }
  logger_.Info("Wrote the names of peers", {{"peers", std::to_string(hosts.size())}});
  OnHostsWritten(memory_, std::move(hosts), observed_.imex.runs, now);
}

void DaemonProcess::StartImex() {
  const TimePoint now = clock_.Now();
  base::Program program = ProgramAt(programs_.imex);
  const auto& more = settings_.program_arguments;
  program.arguments.insert(program.arguments.end(), more.begin(), more.end());
  const int instance = ++instance_;
  auto started = ImexProcess::Start(program, [this, instance](std::string_view line) {
    // Only relevant lines become tasks.
    if (imex::IndexInLine(line) || imex::SaysInUse(line)) {
      tasks_.Post([this, instance, text = std::string(line)] { TakeLine(instance, text); });
    }
  });
  if (!started) {
    const std::string error =
        "start " + program.path + ": " + started.error().message +
        "; it comes with the node's driver: check that it is built for this machine's architecture";
    OnStartFailed(memory_, error, now, random_);
    logger_.Error("IMEX could not be started", {{"err", error}});
    return;
  }
  imex_ = *std::move(started);
  observed_.imex.runs = true;
  observed_.imex.since = now;
  observed_.imex.started = base::FormatSeconds(clock_.Wall());
  observed_.imex.index.reset();
  observed_.imex.in_use = false;
  observed_.answers.reset();
  OnStarted(memory_, now);
  logger_.Info("Started IMEX", {{"program", program.path}});
}

void DaemonProcess::TakeLine(int instance, std::string_view line) {
  if (instance != instance_) return;
  if (const auto index = imex::IndexInLine(line)) observed_.imex.index = index;
  if (imex::SaysInUse(line)) observed_.imex.in_use = true;
}

void DaemonProcess::StartQuery(int runs_as) {
  observed_.asking = true;
  asker_.Post([this, index = runs_as, instance = instance_](const std::stop_token& stop) {
    ImexAnswers answers = QueryImex(ProgramAt(programs_.ctl), index, clock_, stop);
    tasks_.Post([this, instance, answers = std::move(answers)] {
      observed_.asking = false;
      if (instance != instance_) return;
      observed_.answers = answers;
      OnAnswered(memory_, answers, clock_.Now());
    });
  });
}

void DaemonProcess::WriteToApi(const DaemonStep& step) {
  if (api_client_ == nullptr) return;
  observed_.writing = true;
  const WriteOrder order = {
      .write = *step.write, .ready = observed_.pod_ready, .report = step.report};
  api_client_->SendWrite(order, [this, order](Result<Written> written) {
    tasks_.Post([this, order, written = std::move(written)] { TakeWritten(order, written); });
  });
}

void DaemonProcess::TakeWritten(const WriteOrder& order, const Result<Written>& written) {
  const TimePoint now = clock_.Now();
  observed_.writing = false;
  if (!written) {
    const base::Error& error = written.error();
    OnWriteFailed(memory_, order.write, error, now, random_);
    const bool expected =
        error.code == base::ErrorCode::kConflict || error.code == base::ErrorCode::kAlreadyExists;
    if (expected || error.message == error_said_) {
      logger_.Log(base::LogLevel::kObjects, "Write failed, will retry", {{"err", error.message}});
    } else {
      error_said_ = error.message;
      logger_.Error("Write failed, will retry", {{"err", error.message}});
    }
    return;
  }
  error_said_.clear();
  if (order.write == Write::kReport) return OnReported(memory_, order.report, now);
  if (order.write == Write::kLeave) {
    // In the words of NVIDIA's daemon, by which tools look for it.
    logger_.Info("Successfully removed daemon from clique " + self_.CliqueKey().name +
                 " (from ComputeDomain " + settings_.domain_namespace + "/" +
                 settings_.domain_name + ")");
  }
  if (order.write != Write::kLabel) return OnWritten(memory_, order.write, written->version, now);
  OnLabelled(memory_, written->membership_writer, now, random_);
  logger_.Info(
      "Labelled the pod with its clique",
      {{"clique", self_.clique},
       {"writer",
        written->membership_writer == MembershipWriter::kController ? "controller" : "daemon"}});
  if (!self_.clique.empty())
    api_client_->Watch(written->membership_writer == MembershipWriter::kDaemon);
}

void DaemonProcess::Execute(const DaemonStep& step) {
  if (step.hosts) WriteHosts(*step.hosts);
  if (step.start) StartImex();
  if (step.signal && imex_ != nullptr) {
    imex_->Signal(SIGUSR1);
    OnSignalled(memory_, clock_.Now());
    logger_.Info("Told IMEX to look up its peers again");
  }
  if (step.stop && imex_ != nullptr && !std::exchange(told_to_stop_, true)) imex_->Signal(SIGTERM);
  if (step.ask) StartQuery(step.runs_as);
  if (step.write) WriteToApi(step);
}

void DaemonProcess::LogState(const DaemonStep& step) {
  if (step.state == said_ || step.state.empty()) return;
  said_ = step.state;
  logger_.Info(said_);
}

Result<void> DaemonProcess::Run(const std::stop_token& stop) {
  while (true) {
    if (!observed_.stopping && stop.stop_requested()) {
      observed_.stopping = true;
      OnStopping(memory_, clock_.Now());
    }
    SeeWhetherImexEnded();
    Connect();
    const DaemonStep step = Decide(self_, Observe(), memory_);
    if (!step.fatal.empty()) return base::Invalid(step.fatal);
    LogState(step);
    if (step.over) return {};
    Execute(step);
    // These actions may cause further ones.
    const bool did = step.hosts || step.start || step.signal;
    const TimePoint until = did ? clock_.Now() : std::min(step.requeue_at, config_.next());
    for (const auto& task : tasks_.Wait(until - clock_.Now())) task();
  }
}

}  // namespace

Result<void> Run(const Settings& settings, const Programs& programs, command_line::Frame& frame) {
  return DaemonProcess(settings, programs, frame).Run(frame.stop());
}

}  // namespace imex_daemon
