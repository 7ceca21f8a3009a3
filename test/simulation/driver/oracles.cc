#include "test/simulation/driver/oracles.h"

#include <set>
#include <utility>

namespace simulation {

using What = PluginEvent::What;

std::string At(const char* oracle, const PluginEvent& event) {
  return std::string(oracle) + " at revision " + std::to_string(event.revision) + ": on " +
         event.node + " ";
}

Violations UnpreparedStays(const PluginEvents& events) {
  Violations violations;
  std::set<std::pair<std::string, std::string>> unprepared;  // Node and claim.
  for (const PluginEvent& event : events) {
    const std::pair key(event.node, event.name);
    if (event.what == What::kUnprepared) unprepared.insert(key);
    if (event.what == What::kCalled) unprepared.erase(key);
    const bool returns = event.what == What::kCheckpointed || event.what == What::kSpecWritten ||
                         event.what == What::kPrepared;
    if (!returns || !unprepared.contains(key)) continue;
    violations.push_back(At("N-6", event) + "claim " + event.name +
                         " was unprepared, and comes back without a prepare");
  }
  return violations;
}

Violations CallsAreAnswered(const PluginEvents& events) {
  Violations violations;
  for (const PluginEvent& event : events) {
    if (event.what != What::kNotAnswered) continue;
    violations.push_back(At("N-7", event) + "the kubelet gave up a call for claim " + event.name);
  }
  return violations;
}

Violations CheckCalls(const PluginEvents& events) {
  Violations all = UnpreparedStays(events);
  for (std::string& violation : CallsAreAnswered(events)) all.push_back(std::move(violation));
  return all;
}

}  // namespace simulation
