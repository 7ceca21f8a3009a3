// Drives reflectors over libcurl on the calling thread.
//
// Each reflector has its own connection; one poll serves all. Requests are sent unchanged:
// Request::timeout is the hard limit of a stream. A 401 invalidates the credentials, and the
// request is sent once more; see CurlMulti.
// Bound: one exchange for each reflector.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/http/endpoint.h"
#include "pkg/http/transport.h"
#include "pkg/kube/cache/reflector.h"

namespace kube {

class WatchLoop {
 public:
  // The references outlive the loop, and so does every added reflector. `on_exchange` may be empty.
  // A turn comes at least every `turn_max`.
  WatchLoop(http::Endpoint endpoint, http::Credentials& credentials, std::string user_agent,
            const base::Clock& clock, http::OnExchange on_exchange = {},
            std::chrono::milliseconds turn_max = std::chrono::seconds(1));
  ~WatchLoop();

  // Call it before Run().
  void Add(Reflector& reflector);

  // Blocks until `stop` is requested, and then drops the requests in flight. Calls `on_turn` on
  // this thread at every turn, after the reflectors have read their data. `on_turn` may read their
  // state, and tell a watchdog that the loop is alive.
  void Run(const std::stop_token& stop, const std::function<void()>& on_turn);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kube
