#include "test/simulation/gpu/mutants.h"

#include <optional>
#include <utility>
#include <variant>

#include "node/gpu/rules/claim_devices.h"
#include "test/simulation/gpu/world.h"

namespace simulation {

namespace {

using gpu::Checkpoint;
using gpu::CheckpointClaim;
using gpu::ClaimState;
using gpu::ClaimStep;
using gpu::ClaimToPrepare;
using gpu::GpuNode;
using gpu::NodeObservation;

// The product's rule over what `change` makes of what it is given.
template <typename Change>
gpu::Rules GpuPreparingWith(Change change) {
  return {.prepare = [change](const GpuNode& node, const std::string& uid,
                              const ClaimToPrepare* claim, Checkpoint checkpoint,
                              NodeObservation observed) {
    change(uid, checkpoint, observed);
    return gpu::Prepare(node, uid, claim, checkpoint, observed);
  }};
}

// What the product's rule returns, as `change` makes it.
template <typename Change>
gpu::Rules GpuStepping(Change change) {
  return {.prepare = [change](const GpuNode& node, const std::string& uid,
                              const ClaimToPrepare* claim, const Checkpoint& checkpoint,
                              const NodeObservation& observed) {
    ClaimStep step = gpu::Prepare(node, uid, claim, checkpoint, observed);
    change(node, uid, claim, checkpoint, observed, step);
    return step;
  }};
}

bool IsPrepared(const Checkpoint& checkpoint, const std::string& uid) {
  const auto entry = checkpoint.claims.find(uid);
  return entry != checkpoint.claims.end() && entry->second.state == ClaimState::kCompleted;
}

// As if other claims were not prepared yet.
gpu::Rules OverlookingHolders() {
  return GpuPreparingWith([](const std::string& uid, Checkpoint& checkpoint, NodeObservation&) {
    for (auto& [other, entry] : checkpoint.claims) {
      if (other != uid) entry.state = ClaimState::kStarted;
    }
  });
}

gpu::Rules LeavingSpecs() {
  return {.unprepare = [](const std::string& uid, const Checkpoint& checkpoint,
                          NodeObservation observed) {
    observed.has_spec = false;
    return gpu::Unprepare(uid, checkpoint, observed);
  }};
}

gpu::Rules LeavingEntries() {
  return {.unprepare = [](const std::string& uid, const Checkpoint& checkpoint,
                          const NodeObservation& observed) -> ClaimStep {
    ClaimStep step = gpu::Unprepare(uid, checkpoint, observed);
    if (std::holds_alternative<gpu::RemoveFromCheckpoint>(step)) return gpu::AnswerKubelet();
    return step;
  }};
}

gpu::Rules AnsweringBeforeTheSpec() {
  return GpuStepping([](const GpuNode& node, const std::string& uid, const ClaimToPrepare* claim,
                        const Checkpoint&, const NodeObservation&, ClaimStep& step) {
    if (!std::holds_alternative<dra::WriteSpec>(step)) return;
    step = gpu::AnswerKubelet{.groups = {gpu::GroupOf(node, uid, claim->wanted.value())}};
  });
}

gpu::Rules GivingOneDeviceOnly() {
  return GpuStepping(
      [](const auto&, const auto&, const auto*, const auto&, const auto&, ClaimStep& step) {
        auto* answer = std::get_if<gpu::AnswerKubelet>(&step);
        if (answer != nullptr && !answer->groups.empty()) answer->groups[0].devices.resize(1);
      });
}

gpu::Rules LeavingFilesOfTheOldDriver() {
  return {.is_outdated = [](const GpuNode&, const cdi::Spec&) { return false; }};
}

// A driver that is loaded again may have other numbers for the same libraries.
gpu::Rules ComparingVersionsAlone() {
  return {.is_outdated = [](const GpuNode& node, const cdi::Spec& spec) {
    GpuNode as_before = node;
    as_before.numbers = {};
    as_before.further_nodes.clear();
    const std::string library = "libcuda.so." + node.driver_version;
    return spec.edits.mounts.empty() || !spec.edits.mounts[0].host_path.ends_with(library);
  }};
}

gpu::Rules NotRestoringLostSpecs() {
  return GpuStepping([](const auto&, const std::string& uid, const auto*,
                        const Checkpoint& checkpoint, const NodeObservation& observed,
                        ClaimStep& step) {
    if (observed.is_restore && IsPrepared(checkpoint, uid)) step = gpu::AnswerKubelet();
  });
}

gpu::Rules RefusingPreparedClaims() {
  return GpuStepping([](const auto&, const std::string& uid, const ClaimToPrepare* claim,
                        const Checkpoint& checkpoint, const NodeObservation& observed,
                        ClaimStep& step) {
    // By an earlier call: this one has not read the claim.
    const bool is_again = claim == nullptr && !observed.is_restore && IsPrepared(checkpoint, uid);
    if (is_again) step = gpu::AnswerKubelet{.error = "it is prepared already"};
  });
}

gpu::Rules NeedingTheDriverForPreparedClaims() {
  return GpuStepping([](const auto&, const auto&, const auto*, const auto&,
                        const NodeObservation& observed, ClaimStep& step) {
    if (!observed.no_host.empty()) step = gpu::WaitFor(observed, observed.no_host);
  });
}

gpu::Rules OverlookingABootOfGpus() {
  return {.resume = [](const std::optional<std::string>& text, const std::string& boot_id) {
    const auto found = dra::DecodeCheckpoint<CheckpointClaim>(text.value_or(""));
    auto resumed = dra::Resume<CheckpointClaim>(text, found ? found->boot_id : boot_id);
    resumed.checkpoint.boot_id = boot_id;
    return resumed;
  }};
}

gpu::Rules StartingAfreshAfterDamage() {
  return {
      .rebuild = [](const GpuNode&, const std::string& boot_id, const std::vector<ClaimToPrepare>&,
                    const std::vector<std::string>&) { return Checkpoint{.boot_id = boot_id}; }};
}

// All that are allocated, whether they were prepared or not.
gpu::Rules RebuildingWhatWasNotPrepared() {
  return {.rebuild = [](const GpuNode& node, const std::string& boot_id,
                        const std::vector<ClaimToPrepare>& claims,
                        const std::vector<std::string>&) {
    std::vector<std::string> all;
    all.reserve(claims.size());
    for (const ClaimToPrepare& claim : claims) all.push_back(claim.uid);
    return gpu::Rebuild(node, boot_id, claims, all);
  }};
}

gpu::Rules NotLookingGpuClaimsUp() {
  return {.find_garbage = [](const Checkpoint& checkpoint, const std::vector<std::string>& specs) {
    gpu::GarbagePlan garbage = gpu::FindGarbage(checkpoint, specs);
    garbage.look_up.clear();
    return garbage;
  }};
}

gpu::Rules GoingOnWithoutTheKubelet() {
  return GpuPreparingWith([](const std::string&, Checkpoint&, NodeObservation& observed) {
    observed.is_withdrawn = false;
  });
}

gpu::Rules GoingOnInTheOlderInstance() {
  return GpuPreparingWith([](const std::string&, Checkpoint&, NodeObservation& observed) {
    observed.has_younger = false;
  });
}

}  // namespace

const std::vector<GpuMutant>& GpuMutants() {
  static const auto told_by = [](const char* scenario, PluginFault fault = PluginFault::kNone) {
    return PluginRunSpec{.program = &GpuPlugins(), .scenario = scenario, .fault = fault};
  };
  static const std::vector<GpuMutant> mutants = {
      {"holder-is-overlooked", "G-1", OverlookingHolders(), told_by("claims-of-one-gpu")},
      {"damaged-checkpoint-is-taken-for-none", "G-2", StartingAfreshAfterDamage(),
       told_by("several-gpus", PluginFault::kTorn)},
      {"answer-comes-before-the-spec", "G-2", AnsweringBeforeTheSpec(), told_by("one-gpu")},
      {"files-of-the-old-driver-are-left", "G-2", LeavingFilesOfTheOldDriver(),
       told_by("driver-replaced-under-a-pod")},
      {"numbers-of-the-old-driver-are-left", "G-2", ComparingVersionsAlone(),
       told_by("one-gpu", PluginFault::kDriverReloads)},
      {"lost-spec-is-not-restored", "G-2", NotRestoringLostSpecs(),
       told_by("several-gpus", PluginFault::kFilesLost)},
      {"spec-is-left", "G-3", LeavingSpecs(), told_by("one-gpu")},
      {"entry-is-left", "G-3", LeavingEntries(), told_by("one-gpu")},
      {"forgotten-claim-is-not-looked-up", "G-3", NotLookingGpuClaimsUp(),
       told_by("one-gpu", PluginFault::kKubeletForgets)},
      {"prepared-claim-is-refused", "G-5", RefusingPreparedClaims(),
       told_by("several-gpus", PluginFault::kKubeletRestarts)},
      {"prepared-claim-needs-the-driver", "G-5", NeedingTheDriverForPreparedClaims(),
       told_by("driver-unreadable")},
      {"one-device-is-given-of-several", "G-6", GivingOneDeviceOnly(), told_by("several-gpus")},
      {"boot-is-overlooked", "G-3", OverlookingABootOfGpus(), told_by("reboot-between")},
      {"checkpoint-is-rebuilt-without-specs", "G-1", RebuildingWhatWasNotPrepared(),
       told_by("claims-of-one-gpu", PluginFault::kTorn)},
      {"withdrawn-prepare-goes-on", "N-6", GoingOnWithoutTheKubelet(), told_by("gpu-pod-given-up")},
      {"older-instance-goes-on", "N-6", GoingOnInTheOlderInstance(),
       told_by("gpu-pod-given-up", PluginFault::kPluginRolls)},
  };
  return mutants;
}

}  // namespace simulation
