#include "controller/compute_domain/pass/capacity_cache.h"

#include <utility>

#include "pkg/base/find.h"

namespace compute_domain {

// Time for which a count is reused. Each count visits all nodes.
constexpr auto kCapacityAge = std::chrono::seconds(1);

void VisitNodes(const Cache& cache, const CliquePlacements& placements, const Facts& facts,
                const AvailabilityVisitor& visit) {
  cache.VisitNodes(placements, [&](const api::Node& node, const NodeContext& context) {
    if (const auto availability = AvailabilityOf(node, context, facts)) visit(node, *availability);
  });
}

std::shared_ptr<const CliqueCapacities> CapacityCache::Count(const Facts& facts) const {
  const base::Clock::TimePoint now = clock_.Now();
  Counted counted = counted_.With([](const Counted& last) { return last; });
  if (counted.capacity && now - counted.at < kCapacityAge) return counted.capacity;
  CliqueCapacities capacity;
  const CliquePlacements placements = cache_.Placements();
  VisitNodes(cache_, placements, facts,
             [&](const api::Node& node, const NodeAvailability& availability) {
               compute_domain::Count(node.clique, availability, capacity);
             });
  for (const auto& [clique, placement] : placements) {
    if (CliqueCapacity* const count = base::Find(capacity, clique)) count->placement = placement;
  }
  counted = {.at = now, .capacity = std::make_shared<const CliqueCapacities>(std::move(capacity))};
  counted_.With([&](Counted& last) { last = counted; });
  return counted.capacity;
}

}  // namespace compute_domain
