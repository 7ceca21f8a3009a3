#include "test/simulation/plugin/mutants.h"

#include <algorithm>
#include <utility>

namespace simulation {

namespace {

using plugin::Checkpoint;
using plugin::Claim;
using plugin::ClaimState;
using plugin::DeviceType;
using plugin::Litter;
using plugin::Observed;
using plugin::Self;

// The product's rule over what `change` makes of what it is given.
template <typename Change>
PluginRules PreparingWith(Change change) {
  return {
      .prepare = [change](const Self& self, Claim claim, Checkpoint checkpoint, Observed observed) {
        change(self, claim, checkpoint, observed);
        return plugin::Prepare(self, claim, checkpoint, observed);
      }};
}

template <typename Change>
PluginRules UnpreparingWith(Change change) {
  return {.unprepare = [change](const Self& self, const std::string& uid,
                                const Checkpoint& checkpoint, Observed observed) {
    change(observed);
    return plugin::Unprepare(self, uid, checkpoint, observed);
  }};
}

template <typename Change>
PluginRules TidyingWith(Change change) {
  return {.upkeep = [change](const Self& self, const Checkpoint& checkpoint, Litter litter) {
    change(litter);
    return plugin::FindUpkeep(self, checkpoint, litter);
  }};
}

PluginRules NotWaitingForTheDaemon() {
  return PreparingWith(
      [](const Self&, Claim&, Checkpoint&, Observed& observed) { observed.is_ready = true; });
}

PluginRules OverlookingABoot() {
  return {.resume = [](const std::optional<std::string>& text, const std::string& boot_id) {
    const auto found = plugin::DecodeCheckpoint(text.value_or(""));
    plugin::Resumed resumed = plugin::Resume(text, found ? found->boot_id : boot_id);
    resumed.checkpoint.boot_id = boot_id;
    return resumed;
  }};
}

// Whoever asks for it.
PluginRules GivingAway(DeviceType type) {
  return PreparingWith([type](const Self& self, Claim& claim, Checkpoint&, Observed& observed) {
    if (!claim.wanted || claim.wanted->name.type != type || !observed.domain) return;
    claim.ns = type == DeviceType::kDaemon ? self.driver_namespace : observed.domain->ns;
  });
}

PluginRules LeavingTheSpec() {
  return UnpreparingWith([](Observed& observed) { observed.has_spec = false; });
}

PluginRules LeavingTheLabel() {
  return UnpreparingWith([](Observed& observed) { observed.node_domain.clear(); });
}

PluginRules LeavingALabelThatNobodyNeeds() {
  return TidyingWith([](Litter& litter) { litter.node_domain.clear(); });
}

PluginRules LeavingFolders() {
  return TidyingWith([](Litter& litter) { litter.folders.clear(); });
}

PluginRules TidyingWithoutALook() {
  return TidyingWith(
      [](Litter& litter) { litter.domains_gone = {litter.folders.begin(), litter.folders.end()}; });
}

PluginRules OverlookingTheHolder() {
  return PreparingWith([](const Self&, Claim& claim, Checkpoint& checkpoint, Observed&) {
    std::erase_if(checkpoint.claims, [&](const auto& item) { return item.first != claim.uid; });
  });
}

PluginRules TakingATornCheckpointForNone() {
  return {.rebuild = [](const Self&, const std::string& boot_id, const std::vector<Claim>&,
                        const Litter&) { return Checkpoint{.boot_id = boot_id}; }};
}

PluginRules RefusingWhatWasEverAborted() {
  return PreparingWith([](const Self&, Claim& claim, Checkpoint& checkpoint, Observed&) {
    const auto it = checkpoint.claims.find(claim.uid);
    if (it == checkpoint.claims.end() || it->second.state != ClaimState::kAborted) return;
    it->second.status = claim.status;
  });
}

// As if the process that noted it were still at it.
PluginRules LeavingALabelledNodeToOthers() {
  return {.prepare = [](const Self& self, const Claim& claim, const Checkpoint& checkpoint,
                        const Observed& observed) {
    plugin::Step step = plugin::Prepare(self, claim, checkpoint, observed);
    const bool is_first = step.what == plugin::Do::kNoteStarted;
    if (is_first && !observed.node_domain.empty())
      return plugin::Step{.what = plugin::Do::kAnswer, .error = "somebody prepares it"};
    return step;
  }};
}

// Before it can be resolved.
PluginRules AnsweringBeforeTheSpecIsWritten() {
  return {.prepare = [](const Self& self, const Claim& claim, const Checkpoint& checkpoint,
                        const Observed& observed) {
    plugin::Step step = plugin::Prepare(self, claim, checkpoint, observed);
    if (step.what != plugin::Do::kWriteSpec || !claim.wanted || !observed.domain) return step;
    return plugin::Step{
        .what = plugin::Do::kAnswer,
        .groups = {plugin::PlanOf(self, claim.uid, *claim.wanted, *observed.domain).group}};
  }};
}

}  // namespace

const std::vector<PluginMutant>& PluginMutants() {
  static const auto told_by = [](const char* workload, PluginStrike strike = PluginStrike::kNone) {
    return PluginPlan{.workload = workload, .fault = strike};
  };
  static const std::vector<PluginMutant> mutants = {
      {"channel-does-not-wait-for-the-daemon", "N-1", NotWaitingForTheDaemon(), told_by("P1")},
      {"boot-is-overlooked", "N-1", OverlookingABoot(), told_by("P3", PluginStrike::kReboot)},
      {"channel-is-given-to-any-namespace", "N-2", GivingAway(DeviceType::kChannel), told_by("P3")},
      {"daemon-is-given-to-any-namespace", "N-2", GivingAway(DeviceType::kDaemon), told_by("P3")},
      {"spec-is-left", "N-3", LeavingTheSpec(), told_by("P1")},
      {"label-is-left", "N-3", LeavingTheLabel(), told_by("P1")},
      {"label-that-nobody-needs-is-left", "N-3", LeavingALabelThatNobodyNeeds(),
       told_by("P1", PluginStrike::kReboot)},
      {"folder-is-left", "N-3", LeavingFolders(), told_by("P1")},
      {"folder-goes-without-a-look", "N-3", TidyingWithoutALook(), told_by("P1")},
      {"holder-is-overlooked", "N-4", OverlookingTheHolder(), told_by("P2")},
      {"torn-checkpoint-is-taken-for-none", "N-5", TakingATornCheckpointForNone(),
       told_by("P1", PluginStrike::kTorn)},
      {"aborted-claim-is-refused-for-ever", "N-5", RefusingWhatWasEverAborted(), told_by("P7")},
      {"labelled-node-is-left-to-others", "N-5", LeavingALabelledNodeToOthers(),
       told_by("P2", PluginStrike::kNone)},
      {"answer-comes-before-the-spec", "N-5", AnsweringBeforeTheSpecIsWritten(), told_by("P1")},
  };
  return mutants;
}

const PluginMutant* FindPluginMutant(const std::string& name) {
  const auto it = std::ranges::find(PluginMutants(), name, &PluginMutant::name);
  return it == PluginMutants().end() ? nullptr : &*it;
}

}  // namespace simulation
