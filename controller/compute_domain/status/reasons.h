// The reasons of conditions, and how each is told as an Event. Pure.
#pragma once

#include <string_view>

namespace compute_domain {

// How a reason is told when a condition has it first.
enum class Telling {
  kNormal,
  kWarning,
  kSilent,  // The usual course, which conditions tell well enough.
};
struct Reason {
  std::string_view name = {};
  Telling telling = Telling::kSilent;
  bool before_children = false;  // Not all children were made yet.
};

// Null for a reason of another component.
[[nodiscard]] const Reason* FindReason(std::string_view name);

}  // namespace compute_domain
