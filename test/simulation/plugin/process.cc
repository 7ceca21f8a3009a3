#include "test/simulation/plugin/process.h"

#include <algorithm>
#include <utility>

#include "test/simulation/apiserver/contract.h"

namespace simulation {

namespace {

using base::Result;

constexpr auto kOldViewFor = std::chrono::seconds(15);
constexpr int kFrameLagMaxMs = 400;

plugin::Settings SettingsOf(const std::string& node) {
  plugin::Settings settings;
  settings.node = node;
  settings.ns = kDriverNamespace;
  settings.plugins_folder = "/plugin";
  return settings;
}

}  // namespace

class Plugin::Host final : public plugin::HostReader {
 public:
  explicit Host(const PluginOptions& options) : options_(options) {}
  std::string DriverMark() const override { return options_.driver_mark(); }
  Result<std::string> InstallHook() override { return std::string(); }
  bool HasHook(const std::string& /*path*/) const override { return true; }
  Result<plugin::DriverRead> Read(const std::string& /*hook*/) override {
    return options_.read_driver();
  }
  bool IsImexReady(const std::stop_token& /*stop*/) override { return false; }

 private:
  const PluginOptions& options_;
};

Plugin::Plugin(ApiServer& server, DiskContent& disk, PluginOptions options, Serve serve,
               EditDisk edit)
    : options_(std::move(options)),
      serve_(std::move(serve)),
      clock_(server.store()),
      born_(clock_.Wall()),
      random_(options_.seed),
      settings_(SettingsOf(options_.node)),
      metrics_(plugin::MetricsOf(options_.node)),
      disk_(disk, std::move(edit)),
      host_(std::make_unique<Host>(options_)) {
  auto session = std::make_unique<StepSession>(server, options_.client, serve_, clock_, [this] {
    return std::chrono::milliseconds(static_cast<int>(random_.Fraction() * kFrameLagMaxMs));
  });
  session_ = session.get();
  loop_ = std::make_unique<plugin::PluginLoop>(
      plugin::LoopParts{.settings = settings_,
                        .clock = clock_,
                        .logger = logger_,
                        .tasks = tasks_,
                        .metrics = metrics_,
                        .claim_disk = disk_,
                        .disk = disk_,
                        .host = *host_,
                        .executor = executor_,
                        .start_poller = [] { return std::make_unique<StepExecutor>(); },
                        .boot_id = disk.boot_id,
                        .rules = options_.rules,
                        .instances = options_.instances});
  api_ = std::make_unique<plugin::PluginApi>(
      std::move(session), options_.node, clock_,
      [this] { return std::make_unique<SeededRandom>(random_.Next()); }, logger_, tasks_,
      [this] {
        loop_->NoteChange();
        is_due_ = true;
      });
  loop_->Connect(api_.get());
}

Plugin::~Plugin() = default;

void Plugin::Call(Verb verb, const kube::ObjectKey& key, const kube::Uid& uid, int ticket) {
  const std::stop_token cancelled = open_[ticket].get_token();
  is_due_ = true;
  loop_->Add(
      verb, {{.ns = key.ns, .uid = uid, .name = key.name}}, cancelled,
      [this, verb, uid, ticket](const kubelet::Answers& answers) {
        open_.erase(ticket);
        const kubelet::Answer& from = answers.at(uid);
        PluginAnswer answer = {.verb = verb, .ticket = ticket, .uid = uid, .error = from.error};
        for (const kubelet::Device& device : from.devices) {
          answer.cdi_ids.insert(answer.cdi_ids.end(), device.cdi_ids.begin(), device.cdi_ids.end());
        }
        answers_.push_back(std::move(answer));
      });
}

void Plugin::Cancel(int ticket) {
  const auto call = open_.find(ticket);
  if (call != open_.end()) call->second.request_stop();
}

Revision Plugin::View() const {
  return clock_.Wall() < born_ + kOldViewFor ? options_.old_view : kNewest;
}

bool Plugin::Step() {
  if (session_->Step(View()) || executor_.Step()) return true;
  if (const auto tasks = tasks_.Poll()) {
    for (const auto& task : *tasks) task();
    is_due_ = true;
  }
  if (!is_due_ && clock_.Now() < next_turn_) return false;
  TakeTurn();
  return true;
}

// The product's process ends if the checkpoint cannot be saved at its start.
void Plugin::TakeTurn() {
  is_due_ = false;
  if (!is_serving_) {
    const auto started = loop_->Start();
    if (!started) throw ProcessDied();
    is_serving_ = *started;
  }
  next_turn_ = loop_->Turn();
}

Time Plugin::NextDue() const {
  const Time turn = clock_.ToWall(next_turn_);
  return std::min(session_->NextDue().value_or(turn), turn);
}

}  // namespace simulation
