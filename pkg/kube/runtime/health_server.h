// Serves /livez, /readyz, /healthz (the same as /livez), metrics and pages; see http::Server for
// its bounds. Metrics and pages are made on a thread of their own, so probes wait for neither, and
// each may have a port of its own: make two.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/result.h"
#include "pkg/http/server.h"
#include "pkg/kube/runtime/metrics_page.h"

namespace kube {

struct HealthCheck {
  std::string name = {};  // Of the letters of a path segment.
  // Called on the server's thread: it looks at what others noted, and does not block.
  std::function<base::Result<void>()> run = {};
};

// Health in the words of Kubernetes: /readyz, /readyz?verbose, /readyz?exclude=name, /readyz/name.
// Unlike k8s.io/apiserver/pkg/server/healthz a failed check says why, since what we check holds
// nothing secret.
//
// 200 and "ok" if each check passes that the request does not exclude; 500 and a list otherwise.
// `request` is for "/<endpoint>" or "/<endpoint>/<name>"; 404 for a name that is not there.
[[nodiscard]] http::ServerReply AnswerHealth(const std::string& endpoint,
                                             const std::vector<HealthCheck>& checks,
                                             const http::ServerRequest& request);

struct HealthOptions {
  // Whether to restart the process. Must not depend on the API server, or all of a cluster's
  // controllers restart together when it is away.
  std::vector<HealthCheck> live = {};
  // Whether it does its work, or stands by for it.
  std::vector<HealthCheck> ready = {};
  std::string metrics_path = "/metrics";
  // In this order; empty: none are served. A prometheus::Registry is one.
  Collectables metrics = {};
  // For people: a path, and what makes its JSON text. The folders above a path, such as "/", list
  // the pages below them.
  std::map<std::string, std::function<std::string()>> pages = {};
};

class HealthServer {
 public:
  // `clock` outlives the server.
  HealthServer(HealthOptions options, const base::Clock& clock);

  // Begins to serve on "host:port" or ":port", 0 for one that is free; returns the port. Once only.
  // kInvalid: not an address; kUnavailable: it cannot be listened on, and the message says why.
  [[nodiscard]] base::Result<int> Start(const std::string& address);
  void Stop() { server_.Stop(); }

 private:
  [[nodiscard]] http::Server::Answer Answer(const http::ServerRequest& request) const;

  const HealthOptions options_;
  http::Server server_;
};

}  // namespace kube
