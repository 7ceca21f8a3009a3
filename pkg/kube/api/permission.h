// A permission, as RBAC names it.
#pragma once

#include <string>

namespace kube {

struct Permission {
  std::string verb = {};      // get, create, update, patch, delete.
  std::string resource = {};  // With its subresource, such as "nodes/status".
  friend auto operator<=>(const Permission&, const Permission&) = default;
};

}  // namespace kube
