// Totals over the series of all domains, cliques and nodes, which name none of them.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <memory>
#include <vector>

namespace process {

// Who may read the series: anyone who reaches the port, or users that the API server allows.
enum class Readers { kAnyone, kAllowed };

// Thread-safe, as `domains` is.
class DomainTotals final : public prometheus::Collectable {
 public:
  // `domains` has the series with names.
  DomainTotals(std::shared_ptr<const prometheus::Collectable> domains, Readers readers);

  // The totals, and for kAllowed what they are made of in front of them. Empty if that is empty.
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::shared_ptr<const prometheus::Collectable> domains_;
  const Readers readers_;
};

}  // namespace process
