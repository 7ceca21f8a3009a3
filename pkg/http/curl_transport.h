// The Transport over libcurl: HTTP/1.1, TLS, connections kept and used again; see CurlMulti.
//
// Used by one thread; make one for every worker. Bound: as many requests in flight, each on a
// connection of its own, as `in_flight` has left; by itself six. The others wait for their turn,
// and their `timeout` begins with it; so does the question to the gate whether they may begin.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pkg/http/endpoint.h"
#include "pkg/http/gate.h"
#include "pkg/http/in_flight.h"
#include "pkg/http/transport.h"

namespace http {

class CurlMulti;

class CurlTransport final : public Transport {
 public:
  // `credentials`, `in_flight` and `gate` outlive the transport. `user_agent` such as
  // "cdom/0.1.0 (linux/amd64)". `on_exchange` may be empty; without `gate` everything may begin.
  CurlTransport(Endpoint endpoint, Credentials& credentials, std::string user_agent,
                OnExchange on_exchange = {}, InFlight* in_flight = nullptr,
                const Gate* gate = nullptr);
  ~CurlTransport() override;

  [[nodiscard]] std::vector<base::Result<Response>> SendAll(
      const std::vector<Request>& requests) override;

 private:
  InFlight own_;
  InFlight& in_flight_;
  const Gate* const gate_;
  std::unique_ptr<CurlMulti> multi_;
};

}  // namespace http
