// Health in the words of Kubernetes: /readyz, /readyz?verbose, /readyz?exclude=name, /readyz/name.
// Source: k8s.io/apiserver/pkg/server/healthz. Unlike it, a failed check says why, since what we
// check holds nothing secret.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pkg/base/result.h"
#include "pkg/http/server.h"

namespace kube {

struct HealthCheck {
  std::string name = {};  // Of the letters of a path segment.
  // Called on the server's thread: it looks at what others noted, and does not block.
  std::function<base::Result<void>()> run = {};
};

// 200 and "ok" if each check passes that the request does not exclude; 500 and a list otherwise.
// `request` is for "/<endpoint>" or "/<endpoint>/<name>"; 404 for a name that is not there.
[[nodiscard]] http::ServerReply AnswerHealth(const std::string& endpoint,
                                             const std::vector<HealthCheck>& checks,
                                             const http::ServerRequest& request);

}  // namespace kube
