#include "controller/compute_domain/status/explanation/explanation.h"

#include "controller/compute_domain/status/explanation/clique_capacity.h"

namespace compute_domain {

Explanation Explain(const Observed& observed, const Instant& now) {
  return {.usage = FindUsage(observed),
          .shortage = FindShortage(observed),
          .capacity = DescribeCapacity(observed),
          .occupied = FindOccupiedNodes(observed),
          .plugins = FindMissingPlugins(observed, now)};
}

}  // namespace compute_domain
