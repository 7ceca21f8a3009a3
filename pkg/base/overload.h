// Helper for std::visit.
#pragma once

namespace base {

// Combines visitors into one, which calls the visitor for the type.
template <typename... Visitors>
struct Overload : Visitors... {
  using Visitors::operator()...;
};

}  // namespace base
