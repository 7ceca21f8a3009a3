// Serves /livez, /readyz, /healthz (the same as /livez), metrics and pages.
//
// A separate thread builds metrics and pages, so they do not delay probes. To serve them on
// different ports, use two servers.
// Bounds: see http::Server.
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
  std::string name = {};  // Only characters that a path segment may have.
  // Returns an error if the check fails. Runs on the server's thread, so it must not block.
  std::function<base::Result<void>()> run = {};
};

// Answers as Kubernetes components do: /readyz, /readyz?verbose, /readyz?exclude=name,
// /readyz/name. Unlike k8s.io/apiserver/pkg/server/healthz, a failed check gives its reason,
// because cdom's checks contain no secrets.
//
// Returns 200 and "ok" if all checks pass, except those that the request excludes; otherwise 500
// and a list. `notes` follow in lines of their own, and change no status. `request` is for
// "/<endpoint>" or "/<endpoint>/<name>". Returns 404 if no check has that name.
http::ServerReply AnswerHealth(const std::string& endpoint, const std::vector<HealthCheck>& checks,
                               const http::ServerRequest& request,
                               const std::vector<std::string>& notes = {});

struct HealthOptions {
  // The kubelet restarts the process if a check fails. Checks must not depend on the API server: if
  // it fails, all controllers of the cluster would restart together.
  std::vector<HealthCheck> live = {};
  // Pass if the process works, or stands by as a replica.
  std::vector<HealthCheck> ready = {};
  // What a person must know of a process that serves. Only /readyz has them.
  std::vector<std::string> ready_notes = {};
  std::string metrics_path = "/metrics";
  // Served in this order, for example a prometheus::Registry. If empty, metrics are not served.
  Collectables metrics = {};
  // Debug pages: a path, and a function that returns its JSON text. The parent folders of a path,
  // such as "/", list the pages below them.
  std::map<std::string, std::function<std::string()>> pages = {};
};

class HealthServer {
 public:
  // `clock` outlives the server.
  HealthServer(HealthOptions options, const base::Clock& clock);

  // Starts to serve on "host:port" or ":port" (0 for a free port). Returns the port. Call it once.
  // kInvalid: the address is invalid. kUnavailable: the server cannot listen on it; the message
  // says why.
  base::Result<int> Start(const std::string& address);
  void Stop() { server_.Stop(); }

 private:
  http::Server::Answer Answer(const http::ServerRequest& request) const;

  const HealthOptions options_;
  http::Server server_;
};

}  // namespace kube
