// Totals of the metrics of all domains, without names.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <memory>
#include <vector>

namespace process {

// Who may read the metrics: anyone with access to the port, or users that the API server allows.
enum class Readers { kAnyone, kAllowed };

// As thread-safe as `domains`.
class DomainTotals final : public prometheus::Collectable {
 public:
  // `domains` has the metrics with names.
  DomainTotals(std::shared_ptr<const prometheus::Collectable> domains, Readers readers);

  // Returns the totals; for kAllowed, after the metrics with names. Empty if `domains` has none.
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::shared_ptr<const prometheus::Collectable> domains_;
  const Readers readers_;
};

}  // namespace process
