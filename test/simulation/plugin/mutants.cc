#include "test/simulation/plugin/mutants.h"

#include <algorithm>
#include <utility>

#include "node/plugin/rules/claim_devices.h"

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
PluginRules PreparingWith(Change change) {
  return {.prepare = [change](const NodeIdentity& self, const std::string& uid,
                              const ClaimToPrepare* read, Checkpoint checkpoint,
                              NodeObservation observed) {
    ClaimToPrepare claim = *read;
    change(self, claim, checkpoint, observed);
    return plugin::Prepare(self, uid, &claim, checkpoint, observed);
  }};
}

template <typename Change>
PluginRules UnpreparingWith(Change change) {
  return {.unprepare = [change](const NodeIdentity& self, const std::string& uid,
                                const Checkpoint& checkpoint, NodeObservation observed) {
    change(observed);
    return plugin::Unprepare(self, uid, checkpoint, observed);
  }};
}

template <typename Change>
PluginRules CollectingGarbageWith(Change change) {
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

PluginRules NotWaitingForTheDaemon() {
  return PreparingWith([](const NodeIdentity&, ClaimToPrepare& claim, Checkpoint& checkpoint,
                          NodeObservation& observed) {
    observed.is_ready = true;
    if (claim.wanted) checkpoint.claims["daemon"] = DaemonOf(claim.wanted->config.domain);
  });
}

PluginRules OverlookingABoot() {
  return {.resume = [](const std::optional<std::string>& text, const std::string& boot_id) {
    const auto found = plugin::DecodeCheckpoint(text.value_or(""));
    plugin::Resumed resumed = plugin::Resume(text, found ? found->boot_id : boot_id);
    resumed.checkpoint.boot_id = boot_id;
    return resumed;
  }};
}

// To claims of any namespace.
PluginRules GivingAway(DeviceType type) {
  return PreparingWith([type](const NodeIdentity& self, ClaimToPrepare& claim, Checkpoint&,
                              NodeObservation& observed) {
    if (!claim.wanted || claim.wanted->name.type != type || !observed.domain) return;
    claim.ns = type == DeviceType::kDaemon ? self.driver_namespace : observed.domain->ns;
  });
}

PluginRules LeavingTheSpec() {
  return UnpreparingWith([](NodeObservation& observed) { observed.has_spec = false; });
}

PluginRules KeepingTheLabel() {
  return CollectingGarbageWith([](NodeResidue& residue) { residue.keeps_label = true; });
}

PluginRules LeavingALostLabel() {
  return CollectingGarbageWith([](NodeResidue& residue) { residue.domains_alive.clear(); });
}

PluginRules LeavingALabelThatNobodyNeeds() {
  return CollectingGarbageWith([](NodeResidue& residue) { residue.node_domain.clear(); });
}

PluginRules LeavingFolders() {
  return CollectingGarbageWith([](NodeResidue& residue) { residue.folders.clear(); });
}

PluginRules RemovingFoldersUnseen() {
  return CollectingGarbageWith([](NodeResidue& residue) {
    residue.domains_gone = {residue.folders.begin(), residue.folders.end()};
  });
}

PluginRules OverlookingTheHolder() {
  return PreparingWith(
      [](const NodeIdentity&, ClaimToPrepare& claim, Checkpoint& checkpoint, NodeObservation&) {
        std::erase_if(checkpoint.claims, [&](const auto& item) { return item.first != claim.uid; });
        if (claim.wanted) checkpoint.claims["daemon"] = DaemonOf(claim.wanted->config.domain);
      });
}

PluginRules TakingATornCheckpointForNone() {
  return {.rebuild = [](const NodeIdentity&, const std::string& boot_id,
                        const std::vector<ClaimToPrepare>&,
                        const NodeResidue&) { return Checkpoint{.boot_id = boot_id}; }};
}

PluginRules RefusingWhatWasEverAborted() {
  return PreparingWith(
      [](const NodeIdentity&, ClaimToPrepare& claim, Checkpoint& checkpoint, NodeObservation&) {
        const auto it = checkpoint.claims.find(claim.uid);
        if (it == checkpoint.claims.end() || it->second.state != ClaimState::kAborted) return;
        it->second.status = claim.status;
      });
}

// As if another process still prepared it.
PluginRules LeavingALabelledNodeToOthers() {
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

PluginRules GoingOnAfterTheKubelet() {
  return PreparingWith([](const NodeIdentity&, ClaimToPrepare&, Checkpoint&,
                          NodeObservation& observed) { observed.is_withdrawn = false; });
}

// Before it can be resolved.
PluginRules AnsweringBeforeTheSpecIsWritten() {
  return {.prepare = [](const NodeIdentity& self, const std::string& uid,
                        const ClaimToPrepare* claim, const Checkpoint& checkpoint,
                        const NodeObservation& observed) {
    plugin::ClaimStep step = plugin::Prepare(self, uid, claim, checkpoint, observed);
    const bool writes = std::holds_alternative<plugin::WriteSpec>(step);
    if (!writes || !claim->wanted || !observed.domain) return step;
    step = plugin::AnswerKubelet{
        {plugin::ClaimDevicesOf(self, uid, *claim->wanted, *observed.domain).group}};
    return step;
  }};
}

}  // namespace

const std::vector<PluginMutant>& PluginMutants() {
  static const auto told_by = [](const char* scenario, PluginFault fault = PluginFault::kNone) {
    return PluginRunSpec{.scenario = scenario, .fault = fault};
  };
  static const std::vector<PluginMutant> mutants = {
      {"channel-does-not-wait-for-the-daemon", "N-1", NotWaitingForTheDaemon(),
       told_by("one-domain")},
      {"boot-is-overlooked", "N-1", OverlookingABoot(),
       told_by("wrong-claims", PluginFault::kReboot)},
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
      {"withdrawn-prepare-goes-on", "N-6", GoingOnAfterTheKubelet(),
       told_by("pod-given-up-while-waiting")},
      {"cancelled-prepare-goes-on", "N-5", GoingOnAfterTheKubelet(),
       told_by("one-domain", PluginFault::kKubeletCancels)},
  };
  return mutants;
}

const PluginMutant* FindPluginMutant(const std::string& name) {
  const auto it = std::ranges::find(PluginMutants(), name, &PluginMutant::name);
  return it == PluginMutants().end() ? nullptr : &*it;
}

}  // namespace simulation
