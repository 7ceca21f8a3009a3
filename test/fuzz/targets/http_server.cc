// The server of probes and pages, from a socket that sends anything:
//  - it answers in HTTP or not at all, and never with success what is not a request for a page;
//  - a correct request afterwards is answered.
//
// Who sends half a request is cut after 5 s, for which nobody waits here.
#include "pkg/base/system_clock.h"
#include "pkg/http/server.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/loopback.h"

namespace {

constexpr const char* kProbe = "GET /livez?verbose HTTP/1.1\r\nHost: x\r\n\r\n";

http::Server::Answer Handle(const http::ServerRequest& request) {
  if (request.path == "/livez") return http::ServerReply{.body = "ok"};
  if (request.path == "/metrics") {
    return [size = request.query.size()] {
      return http::ServerReply{.body = "work " + std::to_string(size)};
    };
  }
  return http::ServerReply{.status = 404, .body = request.path};
}

int Port() {
  static const base::SystemClock clock;
  static http::Server server(&Handle, clock);
  static const int port = server.Start("127.0.0.1:0").value();
  return port;
}

}  // namespace

FUZZ_TARGET(http_server, bytes) {
  const std::string answer = fuzz::Exchange(Port(), bytes, std::chrono::milliseconds(5));
  CHECK(answer.empty() || answer.starts_with("HTTP/1."));
  const bool is_success = answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.0 200");
  if (is_success) CHECK(bytes.find("GET") != bytes.npos || bytes.find("HEAD") != bytes.npos);
  const std::string probe = fuzz::Exchange(Port(), kProbe, std::chrono::seconds(30));
  CHECK(probe.starts_with("HTTP/1.1 200") && probe.ends_with("ok"));
}
