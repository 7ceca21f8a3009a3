#include "controller/compute_domain/pass/capacity_cache.h"

#include <utility>

#include "pkg/base/find.h"

namespace compute_domain {

void CapacityCache::VisitNodes(const Facts& facts, const AvailabilityVisitor& visit) const {
  cache_.VisitNodes(cache_.Placements(), [&](const api::Node& node, const NodeContext& context) {
    if (const auto availability = AvailabilityOf(node, context, facts)) visit(node, *availability);
  });
}

std::shared_ptr<const CliqueCapacities> CapacityCache::Count(const Facts& facts,
                                                             std::chrono::seconds age_max) const {
  const base::Clock::TimePoint now = clock_.Now();
  Counted counted = counted_.With([](const Counted& last) { return last; });
  if (counted.capacity && now - counted.at < age_max) return counted.capacity;
  CliqueCapacities capacity;
  const CliquePlacements placements = cache_.Placements();
  cache_.VisitNodes(placements, [&](const api::Node& node, const NodeContext& context) {
    const auto availability = AvailabilityOf(node, context, facts);
    if (availability) compute_domain::Count(node.clique, *availability, capacity);
  });
  for (const auto& [clique, placement] : placements) {
    if (CliqueCapacity* const count = base::Find(capacity, clique)) count->placement = placement;
  }
  counted = {.at = now, .capacity = std::make_shared<const CliqueCapacities>(std::move(capacity))};
  counted_.With([&](Counted& last) { last = counted; });
  return counted.capacity;
}

}  // namespace compute_domain
