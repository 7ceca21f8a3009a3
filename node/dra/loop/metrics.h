// A plugin's Prometheus metrics, under the names of NVIDIA's plugins. Thread-safe.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dra {

class Metrics {
 public:
  struct Of {
    std::string driver = {};
    std::string node = {};
    std::vector<std::string> device_types = {};
    // Labels of each feature gate that has no effect.
    std::vector<std::map<std::string, std::string>> ignored_gates = {};
  };
  explicit Metrics(const Of& of);

  std::shared_ptr<const prometheus::Collectable> collectable() const { return registry_; }

  enum class Operation { kPrepare, kUnprepare };
  // An operation for a claim begins or ends.
  void Began(Operation operation);
  void Ended(Operation operation, bool done, std::chrono::nanoseconds took);
  // Sets the number of prepared devices of each type. A type that is absent has none.
  void CountPrepared(const std::map<std::string, int>& devices);

 private:
  struct OfOperation {
    prometheus::Counter& done;
    prometheus::Counter& errors;
    prometheus::Gauge& inflight;
    prometheus::Histogram& seconds;
  };
  // `errors` names the counter of errors, and `help` describes it.
  OfOperation MakeOf(const std::string& name, const char* errors, const char* help);
  const OfOperation& For(Operation operation) const {
    return operation == Operation::kPrepare ? prepare_ : unprepare_;
  }

  const std::shared_ptr<prometheus::Registry> registry_;
  const std::string driver_;
  const std::map<std::string, prometheus::Gauge*> prepared_devices_;  // By type.
  const OfOperation prepare_;
  const OfOperation unprepare_;
};

}  // namespace dra
