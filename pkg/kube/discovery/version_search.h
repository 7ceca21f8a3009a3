// Finds the version under which the API server serves a resource.
//
// A step function: Next() is the request to send, OnReply() takes its reply. One request for each
// version, in order, until one lists the resource. It looks for the resource and not for its group:
// a server may serve a version that holds other kinds only, as v1alpha3 of resource.k8s.io does.
// Used by one thread. Bounds: one request in flight, of 1 MiB at most.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/resource.h"

namespace kube {

class VersionSearch {
 public:
  // `versions` in order of preference. The version of `resource` itself is not looked at.
  // REQUIRES: `versions` is not empty.
  VersionSearch(Resource resource, std::vector<std::string> versions);

  [[nodiscard]] http::Request Next() const;

  // `reply` went through CheckStatus. The resource under the first version that lists it; empty:
  // send Next(). kNotFound: none does. Any other error: the version could not be asked; send Next()
  // again, later. After a resource or a kNotFound the search begins again.
  [[nodiscard]] base::Result<std::optional<Resource>> OnReply(
      const base::Result<http::Response>& reply);

 private:
  [[nodiscard]] Resource Candidate() const;

  const Resource resource_;
  const std::vector<std::string> versions_;
  std::size_t asked_ = 0;  // Which of `versions_` Next() asks for.
};

}  // namespace kube
