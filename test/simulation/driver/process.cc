#include "test/simulation/driver/process.h"

#include <algorithm>
#include <utility>

namespace simulation {

namespace {

constexpr auto kOldViewFor = std::chrono::seconds(15);
constexpr int kFrameLagMaxMs = 400;

}  // namespace

Plugin::Plugin(ApiServer& server, PluginOptions options, const dra::Metrics::Of& of, Serve serve)
    : server_(server),
      options_(std::move(options)),
      serve_(std::move(serve)),
      clock_(server.store()),
      born_(clock_.Wall()),
      random_(options_.seed),
      metrics_(of) {}

Plugin::~Plugin() = default;

std::unique_ptr<StepSession> Plugin::NewSession() {
  auto session = std::make_unique<StepSession>(server_, options_.client, serve_, clock_, [this] {
    return std::chrono::milliseconds(static_cast<int>(random_.Fraction() * kFrameLagMaxMs));
  });
  session_ = session.get();
  return session;
}

void Plugin::NoteChange() {
  if (loop_ != nullptr) loop_->NoteChange();
  is_due_ = true;
}

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
