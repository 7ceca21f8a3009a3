// Collects the violations that an oracle reports.
#pragma once

#include <chrono>
#include <string>

#include "test/simulation/apiserver/history.h"
#include "test/simulation/oracles/oracles.h"

namespace simulation {

inline std::string InMilliseconds(std::chrono::microseconds time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) +
         " ms";
}

// Collects sentences, each with the revision at which it became true and the writer.
class Report {
 public:
  // `violations` must outlive it.
  Report(const char* oracle, Violations& violations) : oracle_(oracle), violations_(violations) {}
  void Say(const Change& change, const std::string& sentence) const {
    violations_.push_back(std::string(oracle_) + " at revision " +
                          std::to_string(change.revision()) + ": " + change.actor + " " + sentence);
  }

 private:
  const char* oracle_;
  Violations& violations_;
};

}  // namespace simulation
