// Finds the version under which the API server serves a resource.
//
// A step function: Next() returns the request to send, OnReply() takes its reply. It sends one
// request for each version, in order, until one lists the resource. It looks for the resource, not
// for its group: a server may serve a version with other kinds only, such as v1alpha3 of
// resource.k8s.io.
//
// For one thread.
// Bound: one request in flight, with a reply of at most 1 MiB.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/resource.h"

namespace kube {

// Returns whether `body`, the reply to ResourceListRequest(), names the resource `plural`. If it
// does not, the resource has no objects. kUnavailable if a proxy wrote something else.
base::Result<bool> ListsResource(std::string_view body, std::string_view plural);
// Returns whether `body`, the reply to GroupListRequest(), names the group and version of
// `resource`. kUnavailable if a proxy wrote something else.
base::Result<bool> ListsVersion(std::string_view body, const Resource& resource);

class VersionSearch {
 public:
  // `versions` are in order of preference. `resource.version` is ignored. REQUIRES: `versions` is
  // not empty.
  VersionSearch(Resource resource, std::vector<std::string> versions);

  http::Request Next() const;

  // Returns the resource under the first version that lists it. Empty if the caller must send
  // Next(). kNotFound: no version lists it. On any other error, the caller must send Next() again
  // later. After a resource or kNotFound, the search starts again. `reply` is a result of
  // CheckStatus().
  base::Result<std::optional<Resource>> OnReply(const base::Result<http::Response>& reply);

 private:
  Resource Candidate() const;

  const Resource resource_;
  const std::vector<std::string> versions_;
  std::size_t asked_ = 0;  // Index in `versions_` of the version that Next() asks for.
};

}  // namespace kube
