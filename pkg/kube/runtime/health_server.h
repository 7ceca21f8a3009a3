// Serves /livez, /readyz, /healthz (the same as /livez), metrics and pages; see http::Server for
// its bounds. Metrics and pages are made on a thread of their own, so probes wait for neither, and
// each may have a port of its own: make two.
#pragma once

#include <prometheus/collectable.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/result.h"
#include "pkg/http/server.h"
#include "pkg/kube/runtime/health_checks.h"

namespace kube {

struct HealthOptions {
  // Whether to start the process anew. Must not depend on the API server, or all of a cluster's
  // controllers restart together when it is away.
  std::vector<HealthCheck> live = {};
  // Whether it does its work, or stands by for it.
  std::vector<HealthCheck> ready = {};
  std::string metrics_path = "/metrics";
  // In this order; empty: none are served. A prometheus::Registry is one.
  std::vector<std::shared_ptr<const prometheus::Collectable>> metrics = {};
  // For people: a path, and what makes its JSON text.
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
  [[nodiscard]] http::ServerReply Metrics() const;

  const HealthOptions options_;
  http::Server server_;
};

}  // namespace kube
