#include "node/plugin/loop/plugin_loop.h"

#include <algorithm>
#include <utility>

#include "node/dra/loop/start.h"

namespace plugin {

using base::Result;

// The longest time between two turns.
constexpr std::chrono::seconds kTurnMost{5};

PluginLoop::PluginLoop(LoopParts parts)
    : host_{.self = {.node = parts.settings.node,
                     .driver_namespace = parts.settings.ns,
                     .host_managed = parts.settings.host_managed,
                     .folder = parts.settings.Folder()}},
      state_{.settings = parts.settings,
             .clock = parts.clock,
             .logger = parts.logger,
             .metrics = parts.metrics,
             .boot_id = std::move(parts.boot_id),
             .claim_disk = parts.claim_disk,
             .disk = parts.disk,
             .rules = std::move(parts.rules),
             .instances = std::move(parts.instances),
             .host = host_},
      readiness_(state_, parts.host, parts.tasks, std::move(parts.start_poller)),
      claim_works_(state_, readiness_),
      claim_queue_(parts.clock, parts.logger, parts.metrics, state_.checkpoint_file, claim_works_,
                   [&tasks = parts.tasks] { tasks.Wake(); }),
      garbage_collector_(state_,
                         [this](const kubelet::ClaimName& claim) {
                           claim_queue_.Add(Metrics::Operation::kUnprepare, {claim}, {},
                                            [this, claim](const kubelet::Answers& answers) {
                                              LogTakenBack(claim, answers);
                                            });
                         }),
      slice_publisher_(parts.clock, parts.logger, state_.instances.is_superseded),
      clique_label_(state_),
      host_watcher_(state_, host_, parts.host, parts.executor, parts.tasks) {}

void PluginLoop::LogTakenBack(const kubelet::ClaimName& claim, const kubelet::Answers& answers) {
  const auto answer = answers.find(claim.uid);
  if (answer == answers.end() || !answer->second.error.empty()) return;
  state_.logger.Info("Checkpointed RC cleanup: unprepared stale claim: " + claim.ns + "/" +
                     claim.name);
}

Result<bool> PluginLoop::Start() {
  const bool is_taken_up = TRY(dra::TakeUp(state_.checkpoint_file, state_.logger));
  if (is_taken_up) state_.CountPrepared();
  return is_taken_up;
}

TimePoint PluginLoop::Turn() {
  if (state_.api != nullptr) state_.node.Update(*state_.api);
  claim_queue_.RestoreLost();
  host_watcher_.Turn(claim_queue_.Prepares());
  if (std::exchange(has_news_, false) || claim_queue_.HasUnprepared()) {
    garbage_collector_.CheckForGarbage();
  }
  const TimePoint until = claim_queue_.Turn();
  return std::min({until, garbage_collector_.Turn(), Publish(), host_watcher_.next(),
                   state_.clock.Now() + kTurnMost});
}

std::optional<dra::ResourceSlice> PluginLoop::WantedSlice() const {
  if (!state_.node.node() || (!host_.host && !host_.device_error)) return {};
  return SliceOf({.node = state_.settings.node,
                  .node_uid = state_.node.node()->meta.uid,
                  .clique = host_.self.clique,
                  .has_daemon = !host_.self.host_managed,
                  .error = host_.device_error});
}

TimePoint PluginLoop::Publish() {
  if (state_.api == nullptr) return TimePoint::max();
  clique_label_.Turn();
  const auto wanted = WantedSlice();
  if (!wanted) return TimePoint::max();
  return slice_publisher_.Turn(*state_.api, *wanted, host_.trouble);
}

bool PluginLoop::CleanUp(std::function<void()> done) {
  if (!state_.settings.labels_clique || !state_.MayLabel()) return false;
  const std::string& clique = state_.node.node()->clique;
  if (clique.empty()) return false;
  state_.node.ChangeLabel(*state_.api, {.which = LabelChange::Which::kClique, .from = clique},
                          [done = std::move(done)](const Result<void>& /*changed*/) { done(); });
  return true;
}

}  // namespace plugin
