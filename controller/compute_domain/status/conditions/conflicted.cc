#include <algorithm>

#include "controller/api/names.h"
#include "controller/compute_domain/status/conditions/condition.h"

namespace compute_domain {

namespace {

// Two controllers that undo each other's writes do so every few seconds. NVIDIA's also writes when
// a node joins or leaves.
constexpr std::chrono::minutes kShownFor{10};

// Returns whether another client undoes a write, other than that of the status. Status cannot tell
// who undoes it: two leaders would go on to differ in this condition.
bool IsTold(const Retry& retry) {
  return !retry.undone.empty() && retry.concern != Concern::kStatus;
}

// The write is repeated ever more rarely, and forgotten if it is not undone for two minutes.
Verdict JudgeUndone(const Memory& memory) {
  for (const auto& [action, retry] : memory.retries) {
    if (IsTold(retry)) return {"True", api::kReasonWritesUndone, retry.undone};
  }
  return {};
}

}  // namespace

// The message names no time, so that further writes do not change it.
Verdict JudgeConflicted(const StatusInput& input) {
  const auto& writes = input.observed.memory.foreign_writes;
  if (!writes || !writes->seen || input.now.monotonic >= *writes->seen + kShownFor) {
    return JudgeUndone(input.observed.memory);
  }
  return {"True", api::kReasonOtherControllerWrites,
          "NVIDIA's controller also writes the status of this domain, although cdom's leads. Each "
          "undoes what the other wrote. For administrators: stop one of them, or let both elect "
          "on one Lease, as the page \"Switch from NVIDIA's controller, and back\" describes."};
}

RequeueAfter UntilConflictEnds(const Memory& memory, base::Clock::TimePoint now) {
  RequeueAfter requeue_after;
  const auto& writes = memory.foreign_writes;
  if (writes && writes->seen) {
    requeue_after.RequeueUnlessDue(*writes->seen + kShownFor - now);
  }
  const auto is_undone = [](const auto& one) { return IsTold(one.second); };
  if (std::ranges::any_of(memory.retries, is_undone)) {
    requeue_after.AtMost(UntilForgotten(memory, now));
  }
  return requeue_after;
}

}  // namespace compute_domain
