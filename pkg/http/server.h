// A small HTTP/1.1 server for probes, metrics and debug pages.
//
// GET and HEAD, one request for each connection, over libmicrohttpd. Clear text, or TLS 1.2 and 1.3
// by GnuTLS. No compression.
//
// Two threads. The first serves all connections and calls the handler, which returns a reply or a
// function that builds one. The second runs these functions, one at a time. So immediate replies
// never wait for a slow function, or for a slow, silent or hostile client.
// Bounds: 100 connections, where a new one replaces the oldest. 8 KiB for the head of a request;
// its body is dropped. 5 s for a whole exchange, with the TLS handshake. 16 MiB for all built
// replies that are not sent yet; beyond that the server answers 503 with Retry-After.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>

#include "pkg/base/clock.h"
#include "pkg/base/result.h"
#include "pkg/tls/identity.h"

namespace http {

struct ServerRequest {
  std::string path = {};                               // Decoded, without the query.
  std::multimap<std::string, std::string> query = {};  // Decoded; "?verbose" has an empty value.
  std::string authorization = {};                      // The header. Empty if none.
};

struct ServerReply {
  int status = 200;  // A 401 carries "WWW-Authenticate: Bearer".
  std::string body = {};
  std::string content_type = "text/plain; charset=utf-8";
};

using ServerWork = std::function<ServerReply()>;

class Server {
 public:
  // Immediate replies must be small, because their bytes are not counted.
  using Answer = std::variant<ServerReply, ServerWork>;
  using Handler = std::function<Answer(const ServerRequest& request)>;

  // `handler` runs on the server's first thread and must not block. `clock` outlives the server.
  Server(Handler handler, const base::Clock& clock);
  ~Server();  // Stops.

  // Starts to serve. Returns the port. See Listener::On() for `address` and errors. Call it once.
  base::Result<int> Start(const std::string& address);
  // The same over TLS. kInvalid: GnuTLS rejects the identity.
  base::Result<int> Start(const std::string& address, const tls::Identity& identity);
  // Replaces the identity, after the current exchanges have ended (at most 5 s). New connections
  // wait meanwhile. kInvalid: the old identity stays. REQUIRES: the server was started over TLS. Do
  // not call it on several threads at once, or during Stop().
  base::Result<void> Use(const tls::Identity& identity);
  // Cuts connections. Returns when neither the handler nor a function runs.
  void Stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace http
