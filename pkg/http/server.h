// A small HTTP/1.1 server for probes, metrics and pages: GET and HEAD, one request for each
// connection, over libmicrohttpd; in clear text, or over TLS 1.2 and 1.3 by GnuTLS. Nothing is ever
// compressed.
//
// Two threads. One serves all connections and calls the handler, which answers at once or says what
// work makes the answer. The other does this work, one piece after the other. So neither work that
// takes long nor a client that is slow, silent or hostile keeps anybody waiting who is answered at
// once.
// Bounds: 100 connections, where a new one takes the place of the oldest; 8 KiB for the head of a
// request, whose body is thrown away; 5 s for a whole exchange, from the connection on and so with
// the handshake of TLS; 16 MiB for all the answers together
// that work made and that are not sent yet: beyond that it is 503 with Retry-After.
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
  std::string authorization = {};                      // The header. Empty: none.
};

struct ServerReply {
  int status = 200;  // With 401 goes that a bearer token is wanted.
  std::string body = {};
  std::string content_type = "text/plain; charset=utf-8";
};

using ServerWork = std::function<ServerReply()>;

class Server {
 public:
  // A reply that is given at once is small: its bytes are not counted.
  using Answer = std::variant<ServerReply, ServerWork>;
  using Handler = std::function<Answer(const ServerRequest& request)>;

  // `handler` is called on the server's thread and does not block; `clock` outlives the server.
  Server(Handler handler, const base::Clock& clock);
  ~Server();  // Stops.

  // Begins to serve; returns the port. See Listener::On for `address` and errors. Once only.
  [[nodiscard]] base::Result<int> Start(const std::string& address);
  // The same over TLS. kInvalid: GnuTLS does not take the identity.
  [[nodiscard]] base::Result<int> Start(const std::string& address, const tls::Identity& identity);
  // Serves with another identity once the exchanges that are under way have ended, 5 s at most; who
  // connects meanwhile waits. kInvalid: it stays as it was. REQUIRES: it was started over TLS. Not
  // to be called on several threads at once, or while it stops.
  [[nodiscard]] base::Result<void> Use(const tls::Identity& identity);
  // Returns once neither handler nor work runs any more; connections are cut.
  void Stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace http
