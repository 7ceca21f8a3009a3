// For std::visit.
#pragma once

namespace base {

// One visitor out of several, by the type that each takes.
template <typename... Visitors>
struct Overload : Visitors... {
  using Visitors::operator()...;
};

}  // namespace base
