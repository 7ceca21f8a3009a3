#include "node/gpu/loop/claim_work.h"

#include <optional>
#include <utility>

#include "node/cdi/files.h"
#include "node/dra/loop/read_claim_for.h"
#include "node/gpu/rules/prepare.h"
#include "pkg/base/overload.h"

namespace gpu {

using base::Result;

class ClaimWorks::Work final : public dra::ClaimWork {
 public:
  Work(GpuState& state, dra::ClaimCall& call) : state_(state), call_(call) {}

  Result<dra::StepResult> Step() override;

 private:
  const std::string& uid() const { return call_.name.uid; }
  NodeObservation Observe() const;
  ClaimStep Decide(const NodeObservation& observed) const;
  Result<void> Execute(const ClaimStep& step);
  // Of an entry that is removed, says what only a person can remove.
  void TellOfMps() const;

  GpuState& state_;
  dra::ClaimCall& call_;
  std::optional<ClaimToPrepare> claim_ = {};  // Empty until it is read.
};

std::unique_ptr<dra::ClaimWork> ClaimWorks::Begin(dra::ClaimCall& call) {
  return std::make_unique<Work>(state_, call);
}

std::vector<kubelet::ClaimName> ClaimWorks::FindLost() {
  if (state_.instances.is_superseded() || state_.checkpoint_file.is_unreadable()) return {};
  std::vector<kubelet::ClaimName> lost;
  for (const auto& [uid, entry] : state_.checkpoint_file.checkpoint().claims) {
    const bool is_known = cdi::IsFileSafe(uid) && !entry.name.empty() && !entry.ns.empty();
    if (entry.state != ClaimState::kCompleted || !is_known || state_.claim_disk.HasSpec(uid)) {
      continue;
    }
    lost.push_back({.ns = entry.ns, .uid = uid, .name = entry.name});
  }
  return lost;
}

Result<dra::StepResult> ClaimWorks::Work::Step() {
  const NodeObservation observed = Observe();
  ClaimStep step = Decide(observed);
  TRY(Execute(step));
  if (std::holds_alternative<dra::FetchClaim>(step)) {
    const std::string why = call_.failed.empty() ? "" : ": " + call_.failed;
    step = WaitFor(observed, "the claim cannot be read" + why);
  }
  if (auto* answer = std::get_if<AnswerKubelet>(&step)) {
    return dra::AnswerCall{.devices = dra::DevicesOf(answer->groups),
                           .error = std::move(answer->error),
                           .is_permanent = answer->is_permanent};
  }
  const auto* wait = std::get_if<dra::WaitForChange>(&step);
  if (wait == nullptr) return dra::GoOn();
  return dra::WaitUntil{.reason = wait->reason, .until = wait->until};
}

NodeObservation ClaimWorks::Work::Observe() const {
  NodeObservation observed = {.no_host = state_.host.trouble,
                              .is_restore = call_.restores,
                              .is_withdrawn = call_.is_withdrawn(),
                              .has_younger = call_.prepares() && state_.instances.has_younger(),
                              .since = call_.since,
                              .now = state_.clock.Now()};
  if (state_.checkpoint_file.is_unreadable()) {
    observed.rebuilding =
        "the checkpoint is rebuilt from claims: " + state_.checkpoint_file.resumed().why;
    return observed;
  }
  const auto spec = state_.claim_disk.ReadSpec(uid());
  // An unreadable file exists. NVIDIA's driver may have written what a Spec cannot hold.
  observed.has_spec = !spec || *spec;
  if (spec) observed.spec = *spec;
  return observed;
}

ClaimStep ClaimWorks::Work::Decide(const NodeObservation& observed) const {
  const Checkpoint& checkpoint = state_.checkpoint_file.checkpoint();
  if (!call_.prepares()) return state_.rules.unprepare(uid(), checkpoint, observed);
  return state_.rules.prepare(state_.host.node, uid(), claim_ ? &*claim_ : nullptr, checkpoint,
                              observed);
}

Result<void> ClaimWorks::Work::Execute(const ClaimStep& step) {
  const auto save = [&](const auto& change) {
    Checkpoint next = state_.checkpoint_file.checkpoint();
    change(next.claims);
    return state_.Save(std::move(next));
  };
  return std::visit(base::Overload{
                        [&](const dra::WriteSpec& write) {
                          return state_.claim_disk.WriteSpec(uid(), write.spec);
                        },
                        [&](const dra::RemoveSpec&) { return state_.claim_disk.RemoveSpec(uid()); },
                        [&](const dra::FetchClaim&) {
                          if (state_.api != nullptr) dra::ReadClaimFor(*state_.api, call_, claim_);
                          return Result<void>();
                        },
                        [&](const dra::CheckpointStarted&) {
                          return save([&](auto& claims) { claims[uid()] = StartedClaim(*claim_); });
                        },
                        [&](const CheckpointCompleted& completed) {
                          return save([&](auto& claims) {
                            claims[uid()].state = ClaimState::kCompleted;
                            claims[uid()].groups = {completed.group};
                          });
                        },
                        [&](const RemoveFromCheckpoint&) {
                          TellOfMps();
                          return save([&](auto& claims) { claims.erase(uid()); });
                        },
                        [](const auto&) { return Result<void>(); },
                    },
                    step);
}

void ClaimWorks::Work::TellOfMps() const {
  const auto& claims = state_.checkpoint_file.checkpoint().claims;
  const auto entry = claims.find(uid());
  const std::string daemon = entry == claims.end() ? "" : MpsDaemonOf(entry->second);
  if (daemon.empty()) return;
  state_.logger.Warning(
      "NVIDIA's plugin started an MPS daemon for a claim that ends here: delete its Deployment, "
      "and set the compute mode of its GPUs to DEFAULT",
      {{"claim", call_.name.ns + "/" + call_.name.name},
       {"deployment", "mps-control-daemon-" + daemon}});
}

}  // namespace gpu
