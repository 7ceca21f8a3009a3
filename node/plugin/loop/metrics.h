// The plugin's Prometheus metrics, under the names of NVIDIA's plugin. Thread-safe.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <memory>
#include <string>

#include "controller/api/feature_gates.h"
#include "node/plugin/rules/checkpoint.h"

namespace plugin {

class Metrics {
 public:
  explicit Metrics(const std::string& node, const api::IgnoredGates& ignored_gates = {});

  std::shared_ptr<const prometheus::Collectable> collectable() const { return registry_; }

  enum class Operation { kPrepare, kUnprepare };
  // An operation for a claim begins or ends.
  void Began(Operation operation);
  void Ended(Operation operation, bool done, std::chrono::nanoseconds took);
  void CountPrepared(const Checkpoint& checkpoint);

 private:
  struct OfOperation {
    prometheus::Counter& done;
    prometheus::Counter& errors;
    prometheus::Gauge& inflight;
    prometheus::Histogram& seconds;
  };
  // `errors` names the counter of errors, and `help` describes it.
  OfOperation MakeOf(const std::string& name, const char* errors, const char* help);
  const OfOperation& Of(Operation operation) const {
    return operation == Operation::kPrepare ? prepare_ : unprepare_;
  }

  const std::shared_ptr<prometheus::Registry> registry_;
  prometheus::Gauge& channels_;
  prometheus::Gauge& daemons_;
  const OfOperation prepare_;
  const OfOperation unprepare_;
};

}  // namespace plugin
