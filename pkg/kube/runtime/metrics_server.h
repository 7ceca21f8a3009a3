// Serves metrics over TLS, to those whom the API server lets read them: a bearer token, which a
// TokenReview and a SubjectAccessReview judge.
//
// See http::Server for its threads and bounds: it is another one than that of probes, so neither a
// flood of connections nor an API server that is slow holds a probe up. Reviews are asked for on
// its second thread, one after the other, and AccessReviews bounds them.
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
  std::string address = {};  // "host:port" or ":port". Empty: nothing is served.
  std::string path = "/metrics";
  Collectables metrics = {};
  // Paths of PEM files, read again every few seconds. Both empty: a certificate that signs itself,
  // for `dns_name`, new every 30 days.
  std::string certificate_file = {};
  std::string key_file = {};
  std::string dns_name = {};
};

class MetricsServer {
 public:
  // `reviews` is used by the server's thread alone; it, `clock` and `logger` outlive the server.
  MetricsServer(MetricsServerOptions options, http::Transport& reviews, const base::Clock& clock,
                base::Logger& logger);

  // Call it often, on one thread. Begins to serve, also if that failed before, and takes another
  // certificate once the files have been the same twice in a row: they are written one after the
  // other. Logs what fails, and what begins. A pair that is invalid changes nothing.
  void Poll();
  void Stop() { server_.Stop(); }

 private:
  [[nodiscard]] http::Server::Answer Answer(const http::ServerRequest& request);
  [[nodiscard]] http::ServerReply Reply(const std::string& token);
  [[nodiscard]] base::Result<tls::Identity> Load();
  [[nodiscard]] base::Result<void> Start();
  [[nodiscard]] base::Result<void> Renew();

  const MetricsServerOptions options_;
  const base::Clock& clock_;
  base::Logger& logger_;
  // Of the thread that polls.
  bool serves_ = false;
  tls::Identity used_ = {};
  std::optional<tls::Identity> next_ = {};  // As the files said last, if not `used_`.
  base::Clock::TimePoint next_look_ = {};
  base::Clock::TimePoint next_own_ = {};  // When a certificate of ours gives way to another.
  std::string said_ = {};                 // The last error that was logged.
  // Of the server's second thread.
  AccessReviews reviews_;
  std::string said_of_reviews_ = {};
  http::Server server_;  // Last: it uses the others.
};

}  // namespace kube
