// Serves metrics over TLS to users that the API server authorizes.
//
// A client sends a bearer token, which a TokenReview and a SubjectAccessReview check. For threads
// and bounds see http::Server. This server is separate from that of the probes: neither many
// connections nor a slow API server delays a probe. The second thread sends the reviews, one at a
// time; AccessReviews bounds them.
#pragma once

#include <optional>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/http/server.h"
#include "pkg/http/transport.h"
#include "pkg/kube/access/access_review.h"
#include "pkg/kube/runtime/metrics_page.h"
#include "pkg/tls/identity.h"

namespace kube {

struct MetricsServerOptions {
  std::string address = {};  // "host:port" or ":port". If empty, the server does not start.
  std::string path = "/metrics";
  Collectables metrics = {};
  // Paths of PEM files, read again every few seconds. If both are empty, the server uses a
  // self-signed certificate for `dns_name`, and replaces it every 30 days.
  std::string certificate_file = {};
  std::string key_file = {};
  std::string dns_name = {};
};

class MetricsServer {
 public:
  // `reviews` is used only by the server's second thread. `reviews`, `clock` and `logger` outlive
  // the server.
  MetricsServer(MetricsServerOptions options, http::Transport& reviews, const base::Clock& clock,
                base::Logger& logger);

  // Starts the server, and retries if that failed. Loads a new certificate once two reads of the
  // files are equal, because certificate and key are not written at the same time. An invalid pair
  // changes nothing. Logs failures, and the start. Call it often, on one thread.
  void Poll();
  void Stop() { server_.Stop(); }

 private:
  http::Server::Answer Answer(const http::ServerRequest& request);
  http::ServerReply Reply(const std::string& token);
  base::Result<tls::Identity> Load();
  base::Result<void> Start();
  base::Result<void> Renew();

  const MetricsServerOptions options_;
  const base::Clock& clock_;
  base::Logger& logger_;
  // Used by the thread that calls Poll().
  bool serves_ = false;
  tls::Identity used_ = {};
  // Last content of the files, if different from `used_`. Empty if equal.
  std::optional<tls::Identity> next_ = {};
  base::Clock::TimePoint next_look_ = {};
  base::Clock::TimePoint next_own_ = {};  // When to replace a self-signed certificate.
  std::string said_ = {};                 // Last error in the log. Empty if none.
  // Used by the server's second thread.
  AccessReviews reviews_;
  std::string said_of_reviews_ = {};
  http::Server server_;  // Last member, because it uses the others.
};

}  // namespace kube
