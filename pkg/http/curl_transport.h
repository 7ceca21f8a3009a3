// A Transport over libcurl: HTTP/1.1, TLS, reused connections; see CurlMulti.
//
// For one thread; make one for each worker.
// Bound: `in_flight` limits the requests in flight, each on its own connection. Without it, the
// limit is six. Other requests wait; their `timeout` and the check of the gate start when they are
// sent.
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
  // `credentials`, `in_flight` and `gate` outlive the transport. `user_agent` is such as
  // "cdom/1.2.3 (linux/amd64)". `on_exchange` may be empty. Without `gate`, all requests are
  // admitted.
  CurlTransport(Endpoint endpoint, Credentials& credentials, std::string user_agent,
                OnExchange on_exchange = {}, InFlight* in_flight = nullptr,
                const Gate* gate = nullptr);
  ~CurlTransport() override;

  std::vector<base::Result<Response>> SendAll(const std::vector<Request>& requests) override;

 private:
  InFlight own_;
  InFlight& in_flight_;
  const Gate* const gate_;
  std::unique_ptr<CurlMulti> multi_;
};

}  // namespace http
