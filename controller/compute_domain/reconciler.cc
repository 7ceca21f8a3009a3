#include "controller/compute_domain/reconciler.h"

#include <algorithm>
#include <utility>

#include "controller/compute_domain/next_memory.h"
#include "controller/compute_domain/rules/scheduler_messages.h"
#include "controller/compute_domain/status/explanation/node_survey.h"

namespace compute_domain {

// Time for which a capacity count is reused. Each count visits all nodes.
constexpr auto kCapacityAge = std::chrono::seconds(1);
// GPUs are counted again after this time, if a pod waits for them. That costs a read of all slices
// of their driver: one for each node.
constexpr auto kGpusKept = std::chrono::minutes(5);
constexpr base::BackoffPolicy kConditions = {.first = std::chrono::minutes(1),
                                             .most = std::chrono::hours(1)};

Reconciler::Reconciler(const Cache& cache, const Facts& facts, const base::Clock& clock,
                       base::Logger& logger, const Rules& rules)
    : cache_(cache),
      clock_(clock),
      logger_(logger),
      rules_(rules),
      facts_(facts),
      replacing_max_(static_cast<std::size_t>(facts.rollout.cliques_max)) {}

Observed Reconciler::Gather(const std::string& uid) const {
  const base::Clock::TimePoint now = clock_.Now();
  Observed observed = cache_.Gather(uid);
  observed.facts = facts_.With([&](const Facts& facts) {
    Facts now_known = facts;
    now_known.gpus.is_old = !facts.gpus.by_node || now - gpus_counted_ >= kGpusKept;
    return now_known;
  });
  // A kind that is not served has no objects. The cache keeps those from before.
  if (!observed.facts.views.cliques_are_served) observed.children.cliques.clear();
  observed.facts.status_is_pruned =
      pruned_.With([&](const Pruned& pruned) { return now < pruned.until; });
  observed.facts.missing_permissions = missing_permissions_.With(
      [&](const MissingPermissions& missing) { return missing.InForce(now); });
  observed.memory = Recall(uid).memory;
  observed.facts.rollout_has_room =
      memories_.With([&](const auto& memories) { return memories.replacing < replacing_max_; });
  observed.memory = NextMemory(observed, Now());
  for (const auto& [action, retry] : observed.memory.retries) {
    if (!retry.taken || retry.until <= now) continue;
    // The name is read again only when the retry is due.
    observed.evidence.names[{retry.taken->kind, retry.taken->key}] = Found(retry.taken->holder);
  }
  AddSurveys(observed);
  return observed;
}

void Reconciler::AddSurveys(Observed& observed) const {
  if (!observed.domain) return;
  observed.others.surveys.clear();
  if (!FindPodsWithoutChannel(observed).empty()) {
    NodeSurveyor surveyor(observed, cache_.UnrelatedClaims(), [&](const std::string& uid) {
      std::string name = cache_.NameOf(uid);
      return name == uid ? "" : name;
    });
    cache_.VisitNodes(cache_.Placements(), [&](const api::Node& node, const NodeContext& context) {
      surveyor.Add(node, context);
    });
    observed.others.surveys = surveyor.Take();
  }
  if (NeedsCapacity(observed)) observed.others.capacity = CountCapacity();
}

void Reconciler::VisitNodes(const NodeVisitor& visit) const {
  VisitNodes(cache_.Placements(), visit);
}

void Reconciler::VisitNodes(const CliquePlacements& placements, const NodeVisitor& visit) const {
  const Facts facts = facts_.With([](const Facts& now) { return now; });
  cache_.VisitNodes(placements, [&](const api::Node& node, const NodeContext& context) {
    if (const auto availability = AvailabilityOf(node, context, facts)) visit(node, *availability);
  });
}

std::shared_ptr<const CliqueCapacities> Reconciler::CountCapacity() const {
  const base::Clock::TimePoint now = clock_.Now();
  Counted counted = counted_.With([](const Counted& last) { return last; });
  if (counted.capacity && now - counted.at < kCapacityAge) return counted.capacity;
  CliqueCapacities capacity;
  const CliquePlacements placements = cache_.Placements();
  VisitNodes(placements, [&](const api::Node& node, const NodeAvailability& availability) {
    Count(node.clique, availability, capacity);
  });
  for (const auto& [clique, placement] : placements) {
    const auto count = capacity.find(clique);
    if (count != capacity.end()) count->second.placement = placement;
  }
  counted = {.at = now, .capacity = std::make_shared<const CliqueCapacities>(std::move(capacity))};
  counted_.With([&](Counted& last) { last = counted; });
  return counted.capacity;
}

void Reconciler::Memories::Keep(const std::string& uid, Remembered remembered) {
  Remembered& kept = of[uid];
  replacing += remembered.memory.replacements.size();
  replacing -= kept.memory.replacements.size();
  kept = std::move(remembered);
}

void Reconciler::Memories::Forget(const std::string& uid) {
  Keep(uid, {});
  of.erase(uid);
}

std::string Reconciler::NextForRoom(const std::string& waits) {
  return memories_.With([&](Memories& memories) -> std::string {
    std::deque<std::string>& waiting = memories.waiting;
    const bool joins = !waits.empty() && std::ranges::find(waiting, waits) == waiting.end();
    if (joins) waiting.push_back(waits);
    if (waiting.empty() || memories.replacing >= replacing_max_) return {};
    std::string next = std::move(waiting.front());
    waiting.pop_front();
    return next;
  });
}

Reconciler::Remembered Reconciler::Recall(const std::string& uid) const {
  return memories_.With([&](const auto& memories) {
    const auto it = memories.of.find(uid);
    return it == memories.of.end() ? Remembered() : it->second;
  });
}

base::Clock::TimePoint Reconciler::OnForbidden(const kube::Permission& permission) {
  const auto refusal = missing_permissions_.With(
      [&](MissingPermissions& missing) { return missing.OnForbidden(permission, clock_.Now()); });
  if (refusal.is_first) {
    logger_.Warning(
        "Continuing without a permission",
        {{"right", permission.verb + " " + permission.resource}, {"cost", CostOf(permission)}});
  }
  return refusal.until;
}

void Reconciler::OnGranted(const kube::Permission& permission) {
  const bool is_news = missing_permissions_.With(
      [&](MissingPermissions& missing) { return missing.OnGranted(permission); });
  if (is_news)
    logger_.Info("Permission granted", {{"right", permission.verb + " " + permission.resource}});
}

void Reconciler::OnConditions(bool kept) {
  const base::Clock::TimePoint now = clock_.Now();
  const bool is_news = pruned_.With([&](Pruned& pruned) {
    const bool is_first = pruned.backoff.delay() == std::chrono::nanoseconds(0);
    if (kept) {
      pruned = {};
    } else if (pruned.until <= now) {  // Failures of concurrent requests count once.
      pruned.until = now + pruned.backoff.Next(kConditions);
    }
    return kept != is_first;
  });
  if (!is_news) return;
  if (kept) {
    logger_.Info("The installed CRD keeps the conditions of ComputeDomains");
  } else {
    logger_.Warning("The installed CRD drops the conditions of ComputeDomains. Apply crds/");
  }
}

bool Reconciler::TryConditionsAgain() {
  return pruned_.With([&](Pruned& pruned) {
    const bool is_pruned = clock_.Now() < pruned.until;
    if (is_pruned) pruned.until = clock_.Now();
    return is_pruned;
  });
}

std::chrono::milliseconds Reconciler::UntilConditionsAreTried() const {
  const auto rest = pruned_.With([&](const Pruned& pruned) { return pruned.until - clock_.Now(); });
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(rest), std::chrono::milliseconds(1));
}

void Reconciler::StopOrResumeRollout(const std::string& uid, const std::string& failed) {
  const bool is_news = facts_.With([&](Facts& facts) {
    const bool is_its = rollout_stopped_by_ == uid;
    if (failed.empty() && !is_its) return false;
    if (!failed.empty() && !is_its && !facts.rollout_stopped.empty()) return false;
    const bool changes = facts.rollout_stopped.empty() != failed.empty();
    facts.rollout_stopped = failed;
    rollout_stopped_by_ = failed.empty() ? "" : uid;
    return changes;
  });
  if (!is_news) return;
  if (failed.empty()) {
    logger_.Info("Rollout of daemons continues");
  } else {
    logger_.Error("Rollout of daemons stopped in all domains",
                  {{"domain", cache_.NameOf(uid)}, {"uid", uid}, {"why", failed}});
  }
}

std::string Reconciler::MemorySharedOf(const api::ComputeDomain& domain) const {
  const kube::Condition* written = domain.status.Find(api::kConditionMemoryShared);
  if (written != nullptr) return written->status;
  return memories_.With([&](const Memories& memories) {
    const auto known = memories.of.find(domain.meta.uid);
    return known == memories.of.end() ? std::string() : known->second.memory.memory_shared;
  });
}

std::string Reconciler::RolloutStopped() const {
  return facts_.With([](const Facts& facts) { return facts.rollout_stopped; });
}

void Reconciler::SetGpus(std::shared_ptr<const api::GpusByNode> by_node) {
  facts_.With([&](Facts& facts) {
    facts.gpus = {.by_node = std::move(by_node), .is_old = false};
    gpus_counted_ = clock_.Now();
  });
}

bool Reconciler::SetPlacement(PlacementPolicy placement) {
  return facts_.With(
      [&](Facts& facts) { return std::exchange(facts.placement, placement) != placement; });
}

void Reconciler::SetUser(const std::string& user) {
  facts_.With([&](Facts& facts) { facts.user = user; });
}

void Reconciler::SetViews(const Views& views) {
  facts_.With([&](Facts& facts) { facts.views = views; });
}

}  // namespace compute_domain
