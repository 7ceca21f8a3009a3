// What a request's path and query name. Pure.
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
  // Of the path, decoded: what stands between its slashes.
  std::vector<std::string> segments = {};
  std::vector<std::pair<std::string, std::string>> query = {};
  // nullptr unless the path has the shape of a resource that the simulation knows.
  const KindInfo* kind = nullptr;
  kube::ObjectKey key = {};  // An empty name: the collection; an empty ns: all namespaces.
  std::string subresource = {};
  // As RBAC names it: get, list, watch, create, update, patch, delete, deletecollection.
  std::string verb = {};

  [[nodiscard]] const std::string& Query(std::string_view name) const;  // Absent: empty.
};

[[nodiscard]] Target ParseTarget(http::Method method, std::string_view path_and_query);

[[nodiscard]] inline bool IsWatch(const http::Request& request) {
  return ParseTarget(request.method, request.path).verb == "watch";
}

}  // namespace simulation
