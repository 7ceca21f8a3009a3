#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

#include "pkg/base/clock.h"

namespace kube {

// Metrics that dashboards expect of every process: process_cpu_seconds_total,
// process_resident_memory_bytes, process_open_fds, process_max_fds, process_start_time_seconds.
// Collect() reads them, and omits values that it cannot read. Thread-safe. Construct it when the
// process starts.
class ProcessMetrics final : public prometheus::Collectable {
 public:
  explicit ProcessMetrics(const base::Clock& clock) : started_(clock.Wall()) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const base::Clock::WallTime started_;
};

}  // namespace kube
