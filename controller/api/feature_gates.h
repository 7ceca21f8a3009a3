// NVIDIA's feature gates, which its chart hands to all programs, and what cdom makes of each.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/log.h"
#include "pkg/base/result.h"

namespace api {

// A gate that is set and has no effect. A process that has one starts and serves nevertheless.
struct IgnoredGate {
  std::string name = {};
  bool value = false;
  // What cdom does not do because of this value, and a remedy. Both empty if the gate is unknown.
  std::string cost = {};
  std::string remedy = {};

  bool IsUnknown() const { return cost.empty(); }
  std::string Setting() const { return name + (value ? "=true" : "=false"); }
  friend bool operator==(const IgnoredGate&, const IgnoredGate&) = default;
};
using IgnoredGates = std::vector<IgnoredGate>;

class FeatureGates {
 public:
  // Reads text such as "A=true,B=false,". The last value of a repeated gate counts. Fails with
  // kInvalid, and the correct form, if a gate has no name, or a value that is not a Boolean of Go.
  static base::Result<FeatureGates> Read(const std::string& text);

  // Returns whether a gate of domains is on. If it is not set, AllAlpha or AllBeta counts, or else
  // its default. REQUIRES: `name` is in the list of these gates.
  bool IsOn(std::string_view name) const;

  // Returns all known gates, and the unknown ones that are set, with their values as one JSON
  // object. Gates that change nothing of domains are false if they are not set.
  std::string ToJson() const;

  // Returns the unknown gates, and those of domains with a value that cdom does not support.
  // If IMEX runs on the hosts, gates of daemons have no effect in NVIDIA's driver either.
  IgnoredGates Ignored(bool imex_on_hosts) const;
  // Returns the unknown gates, and those of GPUs that are on: cdom's driver of GPUs supports none.
  IgnoredGates IgnoredOfGpus() const;

 private:
  IgnoredGates Unknown() const;

  std::map<std::string, bool, std::less<>> set_ = {};
};

// Logs the unknown gates in one line, and each other gate in a line of its own.
void LogIgnored(const IgnoredGates& gates, base::Logger& logger);

// Returns a sentence for each gate that is not unknown: the gate, its value, the cost, the remedy.
std::vector<std::string> TextsOf(const IgnoredGates& gates);

// Labels of the metric cdom_feature_gates_ignored, for each gate.
std::vector<std::map<std::string, std::string>> LabelsOf(const IgnoredGates& gates);

}  // namespace api
