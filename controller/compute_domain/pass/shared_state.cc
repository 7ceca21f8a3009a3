#include "controller/compute_domain/pass/shared_state.h"

#include <utility>

#include "controller/compute_domain/plan/next_memory.h"
#include "controller/compute_domain/rules/scheduler_messages.h"
#include "controller/compute_domain/status/explanation/node_survey.h"

namespace compute_domain {

// GPUs are counted again after this time, if a pod waits for them. That costs a read of all slices
// of their driver: one for each node.
constexpr auto kGpusKept = std::chrono::minutes(5);
// Time for which passes share a count of free nodes.
constexpr auto kCapacityAge = std::chrono::seconds(1);

SharedState::SharedState(const Cache& cache, const Facts& facts, const base::Clock& clock,
                         base::Logger& logger, const Rules& rules)
    : cache_(cache),
      clock_(clock),
      logger_(logger),
      rules_(rules),
      known_(Known{.facts = facts}),
      rollout_(facts.settings->rollout.cliques_max, logger),
      crd_(clock, logger),
      permissions_(clock, logger),
      capacity_(cache, clock) {}

Facts SharedState::CurrentFacts() const {
  const base::Clock::TimePoint now = clock_.Now();
  Facts facts = known_.With([&](const Known& known) {
    Facts copy = known.facts;
    copy.cluster.gpus.is_old = !copy.cluster.gpus.by_node || now - known.gpus_counted >= kGpusKept;
    return copy;
  });
  facts.cluster.status_is_pruned = crd_.DropsConditions();
  facts.cluster.missing_permissions = permissions_.InForce();
  facts.cluster.rollout_has_room = rollout_.HasRoom();
  facts.cluster.rollout_stopped = rollout_.WhyStopped();
  return facts;
}

Observed SharedState::Gather(const kube::Uid& uid) const {
  Observed observed = cache_.Read(uid);
  observed.facts = CurrentFacts();
  // A kind that is not served has no objects. The cache keeps those from before.
  if (!observed.facts.views.cliques_are_served) observed.children.cliques.clear();
  observed.memory = memories_.Recall(uid)->memory;
  const Instant now = Now();
  UpdateMemory(observed, now);
  for (const auto& [action, retry] : observed.memory.retries) {
    if (!retry.taken || retry.until <= now.monotonic) continue;
    // The name is read again only when the retry is due.
    observed.evidence.names[{retry.taken->kind, retry.taken->key}] = Found(retry.taken->holder);
  }
  AddSurveys(observed);
  return observed;
}

void SharedState::AddSurveys(Observed& observed) const {
  if (!observed.domain) return;
  observed.others.surveys.clear();
  if (!FindPodsWithoutChannel(observed).empty()) {
    NodeSurveyor surveyor(observed, cache_.UnrelatedClaims(), [&](const kube::Uid& uid) {
      std::string name = cache_.NameOf(uid);
      return name == uid ? "" : name;
    });
    cache_.VisitNodes(cache_.Placements(), [&](const api::Node& node, const NodeContext& context) {
      surveyor.Add(node, context);
    });
    observed.others.surveys = surveyor.Take();
  }
  if (NeedsCapacity(observed)) {
    observed.others.capacity = capacity_.Count(observed.facts, kCapacityAge);
  }
}

std::shared_ptr<const CliqueCapacities> SharedState::CountCapacity(
    std::chrono::seconds age_max) const {
  return capacity_.Count(CurrentFacts(), age_max);
}

void SharedState::VisitNodes(const AvailabilityVisitor& visit) const {
  capacity_.VisitNodes(CurrentFacts(), visit);
}

std::string SharedState::MemorySharedOf(const api::ComputeDomain& domain) const {
  const kube::Condition* written = domain.status.Find(api::kConditionMemoryShared);
  if (written != nullptr) return written->status;
  return memories_.Recall(domain.meta.uid)->memory.memory_shared;
}

void SharedState::SetUser(const std::string& user) {
  known_.With([&](Known& known) { known.facts.cluster.user = user; });
}

bool SharedState::SetPlacement(PlacementPolicy placement) {
  return known_.With([&](Known& known) {
    return std::exchange(known.facts.cluster.placement, placement) != placement;
  });
}

void SharedState::SetGpus(std::shared_ptr<const api::GpusByNode> by_node) {
  known_.With([&](Known& known) {
    known.facts.cluster.gpus = {.by_node = std::move(by_node), .is_old = false};
    known.gpus_counted = clock_.Now();
  });
}

void SharedState::SetViews(const Views& views) {
  known_.With([&](Known& known) { known.facts.views = views; });
}

}  // namespace compute_domain
