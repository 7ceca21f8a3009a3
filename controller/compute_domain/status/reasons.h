// Reasons of conditions, and the type of Event for each. Pure.
#pragma once

#include <string_view>

namespace compute_domain {

// Type of the Event when a condition first has the reason.
enum class Telling {
  kNormal,
  kWarning,
  kSilent,  // No Event: the reason is normal, and the condition suffices.
};
struct Reason {
  std::string_view name = {};
  Telling telling = Telling::kSilent;
  bool before_children = false;  // It means that some children were not created yet.
};

// Returns the reason. Null if it belongs to another component.
const Reason* FindReason(std::string_view name);

}  // namespace compute_domain
