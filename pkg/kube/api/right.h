// What an identity may do, as RBAC names it.
#pragma once

#include <compare>
#include <string>

namespace kube {

struct Right {
  std::string verb = {};      // get, create, update, patch, delete.
  std::string resource = {};  // With its subresource, such as "nodes/status".
  friend auto operator<=>(const Right&, const Right&) = default;
};

}  // namespace kube
