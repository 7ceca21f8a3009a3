// What an oracle over the history has to say.
#pragma once

#include <string>
#include <utility>

#include "test/simulation/history.h"
#include "test/simulation/oracles.h"

namespace simulation {

// Collects sentences, each with the revision at which it came true and who did it.
class Report {
 public:
  explicit Report(const char* oracle) : oracle_(oracle) {}
  void Say(const Change& change, const std::string& sentence) {
    violations_.push_back(std::string(oracle_) + " at revision " +
                          std::to_string(change.revision()) + ": " + change.actor + " " + sentence);
  }
  Violations Take() { return std::move(violations_); }

 private:
  const char* oracle_;
  Violations violations_;
};

}  // namespace simulation
