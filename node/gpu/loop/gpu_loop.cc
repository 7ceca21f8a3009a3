#include "node/gpu/loop/gpu_loop.h"

#include <algorithm>
#include <utility>

#include "node/dra/loop/start.h"

namespace gpu {

using base::Result;

// The longest time between two turns.
constexpr std::chrono::seconds kLongestTurn{5};

GpuLoop::GpuLoop(LoopParts parts)
    : additions_(parts.additions),
      // Until the host is read, claims are told by the node's name.
      host_{.node = {.node = parts.node}},
      state_{.node = std::move(parts.node),
             .ns = std::move(parts.ns),
             .clock = parts.clock,
             .logger = parts.logger,
             .metrics = parts.metrics,
             .boot_id = std::move(parts.boot_id),
             .claim_disk = parts.claim_disk,
             .rules = std::move(parts.rules),
             .instances = std::move(parts.instances),
             .host = host_},
      claim_works_(state_),
      claim_queue_(parts.clock, parts.logger, parts.metrics, state_.checkpoint_file, claim_works_,
                   [&tasks = parts.tasks] { tasks.Wake(); }),
      garbage_collector_(state_, [this](const auto& claim) { TakeBack(claim); }),
      slice_publisher_(parts.clock, parts.logger, state_.instances.is_superseded),
      host_watcher_(state_, host_, parts.host, parts.executor, parts.tasks) {}

Result<bool> GpuLoop::Start() {
  const bool is_taken_up = TRY(dra::TakeUp(state_.checkpoint_file, state_.logger));
  if (is_taken_up) state_.CountPrepared();
  return is_taken_up;
}

TimePoint GpuLoop::Turn() {
  claim_queue_.RestoreLost();
  host_watcher_.Turn(claim_queue_.Prepares());
  const TimePoint until = claim_queue_.Turn();
  return std::min({until, garbage_collector_.Turn(), Publish(), host_watcher_.next(),
                   state_.clock.Now() + kLongestTurn});
}

// A driver that was never read publishes nothing, and takes back what an earlier process has
// published. One that is replaced is away for a moment.
std::optional<dra::ResourceSlice> GpuLoop::WantedSlice() {
  const std::string node_uid = state_.api->node_uid();
  const auto found = state_.api->slices();
  const bool takes_back = host_.is_lost && found && !found->empty();
  if (node_uid.empty() || (!host_.is_read && !takes_back)) return {};
  dra::ResourceSlice slice = {
      .driver = std::string(kDriver), .node = state_.node, .node_uid = node_uid};
  if (!host_.is_lost) slice.devices = SliceDevicesOf(host_.node.inventory, additions_);
  const auto checked = dra::CheckLimits(slice);
  const std::string wrong = checked ? "" : checked.error().message;
  if (std::exchange(said_, wrong) != wrong && !wrong.empty()) {
    state_.logger.Error("The node's devices cannot be published", {{"err", wrong}});
  }
  return checked ? std::optional(std::move(slice)) : std::nullopt;
}

TimePoint GpuLoop::Publish() {
  if (state_.api == nullptr) return TimePoint::max();
  const auto wanted = WantedSlice();
  if (!wanted) return TimePoint::max();
  return slice_publisher_.Turn(*state_.api, *wanted, host_.trouble);
}

void GpuLoop::TakeBack(const kubelet::ClaimName& claim) {
  claim_queue_.Add(dra::Metrics::Operation::kUnprepare, {claim}, {},
                   [](const kubelet::Answers& /*answers*/) {});
}

}  // namespace gpu
