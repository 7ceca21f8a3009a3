// The object or collection that a request names. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/http/transport.h"
#include "pkg/kube/api/meta.h"
#include "test/simulation/apiserver/kinds.h"

namespace simulation {

struct Target {
  // The decoded segments of the path.
  std::vector<std::string> segments = {};
  std::vector<std::pair<std::string, std::string>> query = {};
  // Null unless the path names a resource that the simulation knows.
  const KindInfo* kind = nullptr;
  kube::ObjectKey key = {};  // No name: the collection. No ns: all namespaces.
  std::string subresource = {};
  // In RBAC's words: get, list, watch, create, update, patch, delete, deletecollection.
  std::string verb = {};

  const std::string& Query(std::string_view name) const;  // Empty if absent.
};

Target ParseTarget(http::Method method, std::string_view path_and_query);

inline bool IsWatch(const http::Request& request) {
  return ParseTarget(request.method, request.path).verb == "watch";
}

}  // namespace simulation
