// A small HTTP/1.1 server for probes and metrics: GET and HEAD, one request for each connection.
//
// One thread serves all connections and runs the handler, which must not block. A slow, silent or
// hostile client costs a bounded amount and keeps nobody else waiting.
// Bounds: 100 connections, where a new one takes the place of the oldest; 8 KiB for a request,
// whose body is not read; 5 s for a whole exchange.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/base/result.h"

namespace http {

struct ServerRequest {
  std::string path = {};                               // Without the query.
  std::multimap<std::string, std::string> query = {};  // Decoded; "?verbose" has an empty value.
};

struct ServerReply {
  int status = 200;
  std::string body = {};
  std::string content_type = "text/plain; charset=utf-8";
};

class Server {
 public:
  using Handler = std::function<ServerReply(const ServerRequest& request)>;

  // `handler` is called on the server's thread; `clock` outlives the server.
  Server(Handler handler, const base::Clock& clock);
  ~Server();  // Stops.
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Begins to serve; returns the port. See Listener::On for `address` and errors. Once only.
  [[nodiscard]] base::Result<int> Start(const std::string& address);
  // Returns once no handler runs any more; connections are cut.
  void Stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace http
