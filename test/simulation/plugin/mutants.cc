#include "test/simulation/plugin/mutants.h"

#include <optional>
#include <utility>

#include "node/plugin/rules/claim_devices.h"
#include "test/simulation/plugin/world.h"

namespace simulation {

namespace {

using plugin::Checkpoint;
using plugin::ClaimState;
using plugin::ClaimToPrepare;
using plugin::DeviceType;
using plugin::NodeIdentity;
using plugin::NodeObservation;
using plugin::NodeResidue;

// The product's rule over what `change` makes of what it is given.
template <typename Change>
plugin::Rules PreparingWith(Change change) {
  return {.prepare = [change](const NodeIdentity& self, const std::string& uid,
                              const ClaimToPrepare* read, Checkpoint checkpoint,
                              NodeObservation observed) {
    std::optional<ClaimToPrepare> claim;
    if (read != nullptr) claim = *read;
    if (claim) change(self, *claim, checkpoint, observed);
    return plugin::Prepare(self, uid, claim ? &*claim : nullptr, checkpoint, observed);
  }};
}

template <typename Change>
plugin::Rules UnpreparingWith(Change change) {
  return {.unprepare = [change](const NodeIdentity& self, const std::string& uid,
                                const Checkpoint& checkpoint, NodeObservation observed) {
    change(observed);
    return plugin::Unprepare(self, uid, checkpoint, observed);
  }};
}

template <typename Change>
plugin::Rules CollectingGarbageWith(Change change) {
  return {.find_garbage = [change](const NodeIdentity& self, const Checkpoint& checkpoint,
                                   NodeResidue residue) {
    change(residue);
    return plugin::FindGarbage(self, checkpoint, residue);
  }};
}

// An entry of a daemon in the checkpoint, without a device.
plugin::CheckpointClaim DaemonOf(const std::string& domain) {
  return {.state = ClaimState::kCompleted,
          .groups = {{.type = DeviceType::kDaemon, .domain = domain}}};
}

plugin::Rules NotWaitingForTheDaemon() {
  return PreparingWith([](const NodeIdentity&, ClaimToPrepare& claim, Checkpoint& checkpoint,
                          NodeObservation& observed) {
    observed.is_ready = true;
    if (claim.wanted) checkpoint.claims["daemon"] = DaemonOf(claim.wanted->config.domain);
  });
}

plugin::Rules OverlookingABoot() {
  return {.resume = [](const std::optional<std::string>& text, const std::string& boot_id) {
    const auto found = plugin::DecodeCheckpoint(text.value_or(""));
    plugin::Resumed resumed = plugin::Resume(text, found ? found->boot_id : boot_id);
    resumed.checkpoint.boot_id = boot_id;
    return resumed;
  }};
}

// To claims of any namespace.
plugin::Rules GivingAway(DeviceType type) {
  return PreparingWith([type](const NodeIdentity& self, ClaimToPrepare& claim, Checkpoint&,
                              NodeObservation& observed) {
    if (!claim.wanted || claim.wanted->name.type != type || !observed.domain) return;
    claim.ns = type == DeviceType::kDaemon ? self.driver_namespace : observed.domain->ns;
  });
}

plugin::Rules LeavingTheSpec() {
  return UnpreparingWith([](NodeObservation& observed) { observed.has_spec = false; });
}

plugin::Rules KeepingTheLabel() {
  return CollectingGarbageWith([](NodeResidue& residue) { residue.keeps_label = true; });
}

plugin::Rules LeavingALostLabel() {
  return CollectingGarbageWith([](NodeResidue& residue) { residue.domains_alive.clear(); });
}

plugin::Rules LeavingALabelThatNobodyNeeds() {
  return CollectingGarbageWith([](NodeResidue& residue) { residue.node_domain.clear(); });
}

// The claim of a pod that its kubelet has forgotten.
plugin::Rules NotLookingClaimsUp() {
  return {.find_garbage = [](const NodeIdentity& self, const Checkpoint& checkpoint,
                             const NodeResidue& residue) {
    plugin::GarbagePlan garbage = plugin::FindGarbage(self, checkpoint, residue);
    garbage.look_up.clear();
    return garbage;
  }};
}

plugin::Rules ForgettingAbortedClaimsAtOnce() {
  return CollectingGarbageWith([](NodeResidue& residue) { residue.now += plugin::kAbortedFor; });
}

plugin::Rules LeavingFolders() {
  return CollectingGarbageWith([](NodeResidue& residue) { residue.folders.clear(); });
}

plugin::Rules RemovingFoldersUnseen() {
  return CollectingGarbageWith([](NodeResidue& residue) {
    residue.domains_gone = {residue.folders.begin(), residue.folders.end()};
  });
}

// As if another claim had not got its channel yet.
plugin::Rules OverlookingTheHolder() {
  return PreparingWith(
      [](const NodeIdentity&, ClaimToPrepare& claim, Checkpoint& checkpoint, NodeObservation&) {
        for (auto& [uid, entry] : checkpoint.claims) {
          const auto use = plugin::UseOf(entry);
          const bool holds = use && use->type == DeviceType::kChannel && uid != claim.uid;
          if (holds) entry.state = ClaimState::kStarted;
        }
      });
}

plugin::Rules TakingATornCheckpointForNone() {
  return {.rebuild = [](const NodeIdentity&, const std::string& boot_id,
                        const std::vector<ClaimToPrepare>&,
                        const NodeResidue&) { return Checkpoint{.boot_id = boot_id}; }};
}

plugin::Rules RebuildingWith(void (*change)(NodeResidue& residue)) {
  return {.rebuild = [change](const NodeIdentity& self, const std::string& boot_id,
                              const std::vector<ClaimToPrepare>& claims, NodeResidue residue) {
    change(residue);
    return plugin::Rebuild(self, boot_id, claims, residue);
  }};
}

// Which some claims of a rebuilt checkpoint were prepared by.
plugin::Rules RebuildingWithoutSpecs() {
  return RebuildingWith([](NodeResidue& residue) { residue.specs.clear(); });
}

// Which tells of claims without a fabric, as those have no spec.
plugin::Rules RebuildingWithoutTheLabel() {
  return RebuildingWith([](NodeResidue& residue) { residue.node_domain.clear(); });
}

// The product's rule over what `change` makes of the observation of a prepared claim. `change`
// returns whether the call is answered at once.
template <typename Change>
plugin::Rules AnsweringPreparedClaims(Change change, const plugin::AnswerKubelet& answer = {}) {
  return {.prepare = [change, answer](const NodeIdentity& self, const std::string& uid,
                                      const ClaimToPrepare* claim, const Checkpoint& checkpoint,
                                      NodeObservation observed) -> plugin::ClaimStep {
    const auto entry = checkpoint.claims.find(uid);
    const bool is_prepared =
        entry != checkpoint.claims.end() && entry->second.state == ClaimState::kCompleted;
    if (is_prepared && change(observed, claim)) return answer;
    return plugin::Prepare(self, uid, claim, checkpoint, observed);
  }};
}

plugin::Rules NotRestoringSpecs() {
  return AnsweringPreparedClaims(
      [](NodeObservation& observed, const ClaimToPrepare*) { return observed.is_restore; });
}

plugin::Rules OverlookingALostFolder() {
  return AnsweringPreparedClaims([](NodeObservation& observed, const ClaimToPrepare*) {
    observed.has_folder = true;
    return false;
  });
}

// By an earlier call: this one has not read the claim.
plugin::Rules RefusingWhatIsPrepared() {
  return AnsweringPreparedClaims(
      [](NodeObservation& observed, const ClaimToPrepare* claim) {
        return claim == nullptr && !observed.is_restore;
      },
      {.error = "it is prepared already"});
}

plugin::Rules NotLeavingAMarkForTheElder() {
  return UnpreparingWith([](NodeObservation& observed) { observed.has_elder = false; });
}

plugin::Rules WritingNumbersOfTheOldDriver() {
  return PreparingWith([](const NodeIdentity&, ClaimToPrepare&, Checkpoint&,
                          NodeObservation& observed) { observed.other_driver.clear(); });
}

plugin::Rules PreparingWhatWasAborted() {
  return PreparingWith(
      [](const NodeIdentity&, ClaimToPrepare& claim, Checkpoint& checkpoint, NodeObservation&) {
        const auto it = checkpoint.claims.find(claim.uid);
        const bool is_aborted =
            it != checkpoint.claims.end() && it->second.state == ClaimState::kAborted;
        if (is_aborted) checkpoint.claims.erase(it);
      });
}

plugin::Rules RefusingWhatWasEverAborted() {
  return PreparingWith(
      [](const NodeIdentity&, ClaimToPrepare& claim, Checkpoint& checkpoint, NodeObservation&) {
        const auto it = checkpoint.claims.find(claim.uid);
        if (it == checkpoint.claims.end() || it->second.state != ClaimState::kAborted) return;
        it->second.status = claim.status;
      });
}

// As if another process still prepared it.
plugin::Rules LeavingALabelledNodeToOthers() {
  return {.prepare = [](const NodeIdentity& self, const std::string& uid,
                        const ClaimToPrepare* claim, const Checkpoint& checkpoint,
                        const NodeObservation& observed) {
    plugin::ClaimStep step = plugin::Prepare(self, uid, claim, checkpoint, observed);
    const bool is_first = std::holds_alternative<plugin::CheckpointStarted>(step);
    if (is_first && !observed.node_domain.empty()) {
      step = plugin::AnswerKubelet{.error = "somebody prepares it"};
    }
    return step;
  }};
}

plugin::Rules GoingOnAfterTheKubelet() {
  return PreparingWith([](const NodeIdentity&, ClaimToPrepare&, Checkpoint&,
                          NodeObservation& observed) { observed.is_withdrawn = false; });
}

// Before it can be resolved.
plugin::Rules AnsweringBeforeTheSpecIsWritten() {
  return {.prepare = [](const NodeIdentity& self, const std::string& uid,
                        const ClaimToPrepare* claim, const Checkpoint& checkpoint,
                        const NodeObservation& observed) {
    plugin::ClaimStep step = plugin::Prepare(self, uid, claim, checkpoint, observed);
    const bool writes = std::holds_alternative<plugin::WriteSpec>(step);
    if (!writes || !claim->wanted || !observed.domain) return step;
    step = plugin::AnswerKubelet{{plugin::GroupOf(self, uid, *claim->wanted)}};
    return step;
  }};
}

}  // namespace

const std::vector<PluginMutant>& PluginMutants() {
  static const auto told_by = [](const char* scenario, PluginFault fault = PluginFault::kNone) {
    return PluginRunSpec{.program = &DomainPlugins(), .scenario = scenario, .fault = fault};
  };
  static const std::vector<PluginMutant> mutants = {
      {"channel-does-not-wait-for-the-daemon", "N-1", NotWaitingForTheDaemon(),
       told_by("one-domain")},
      {"boot-is-overlooked", "N-1", OverlookingABoot(),
       told_by("two-domains-one-channel", PluginFault::kReboot)},
      {"channel-is-given-to-any-namespace", "N-2", GivingAway(DeviceType::kChannel),
       told_by("wrong-claims")},
      {"daemon-is-given-to-any-namespace", "N-2", GivingAway(DeviceType::kDaemon),
       told_by("wrong-claims")},
      {"spec-is-left", "N-3", LeavingTheSpec(), told_by("one-domain")},
      {"label-is-kept-for-ever", "N-3", KeepingTheLabel(), told_by("one-domain")},
      {"lost-label-is-left", "N-5", LeavingALostLabel(), told_by("label-lost-under-a-pod")},
      {"label-that-nobody-needs-is-left", "N-3", LeavingALabelThatNobodyNeeds(),
       told_by("one-domain", PluginFault::kReboot)},
      {"folder-is-left", "N-3", LeavingFolders(), told_by("one-domain")},
      {"folder-goes-without-a-look", "N-3", RemovingFoldersUnseen(), told_by("one-domain")},
      {"holder-is-overlooked", "N-4", OverlookingTheHolder(), told_by("two-domains-one-channel")},
      {"torn-checkpoint-is-taken-for-none", "N-5", TakingATornCheckpointForNone(),
       told_by("one-domain", PluginFault::kTorn)},
      {"aborted-claim-is-refused-for-ever", "N-5", RefusingWhatWasEverAborted(),
       told_by("claim-used-again")},
      {"labelled-node-is-left-to-others", "N-5", LeavingALabelledNodeToOthers(),
       told_by("two-domains-one-channel")},
      {"answer-comes-before-the-spec", "N-5", AnsweringBeforeTheSpecIsWritten(),
       told_by("one-domain")},
      {"forgotten-claim-is-not-looked-up", "N-3", NotLookingClaimsUp(),
       told_by("one-domain", PluginFault::kKubeletForgets)},
      {"aborted-claim-is-forgotten-at-once", "N-6", ForgettingAbortedClaimsAtOnce(),
       told_by("claim-used-again", PluginFault::kCallComesAgain)},
      {"aborted-claim-is-prepared", "N-6", PreparingWhatWasAborted(),
       told_by("claim-used-again", PluginFault::kCallComesAgain)},
      {"checkpoint-is-rebuilt-without-specs", "N-5", RebuildingWithoutSpecs(),
       told_by("one-domain", PluginFault::kTorn)},
      {"checkpoint-is-rebuilt-without-the-label", "N-5", RebuildingWithoutTheLabel(),
       told_by("no-fabric", PluginFault::kTorn)},
      {"lost-spec-is-not-restored", "N-5", NotRestoringSpecs(),
       told_by("one-domain", PluginFault::kFilesLost)},
      {"lost-folder-is-overlooked", "N-5", OverlookingALostFolder(),
       told_by("one-domain", PluginFault::kFilesLost)},
      {"prepared-claim-is-refused", "N-5", RefusingWhatIsPrepared(),
       told_by("one-domain", PluginFault::kKubeletRestarts)},
      {"elder-gets-no-mark", "N-6", NotLeavingAMarkForTheElder(),
       told_by("pod-given-up-while-waiting", PluginFault::kPluginRolls)},
      {"numbers-of-the-old-driver-are-written", "N-5", WritingNumbersOfTheOldDriver(),
       told_by("one-domain", PluginFault::kDriverReloads)},
      {"withdrawn-prepare-goes-on", "N-6", GoingOnAfterTheKubelet(),
       told_by("pod-given-up-while-waiting")},
  };
  return mutants;
}

}  // namespace simulation
