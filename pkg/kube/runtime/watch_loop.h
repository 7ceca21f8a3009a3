// Drives reflectors over libcurl on the calling thread: one connection for each, one poll for all.
//
// What a reflector asks for is sent as it stands: its Request::timeout is the hard limit of a
// stream. A 401 invalidates the credentials and the request goes out once more; see CurlMulti.
// Bounds: one exchange for each reflector.
#pragma once

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
  // All outlive the loop, and so does every reflector added. `on_exchange` may be empty.
  WatchLoop(http::Endpoint endpoint, http::Credentials& credentials, std::string user_agent,
            const base::Clock& clock, http::OnExchange on_exchange = {});
  ~WatchLoop();

  // Before Run().
  void Add(Reflector& reflector);

  // Blocks until `stop` is requested; then drops what is under way. `on_turn` is called at least
  // once a second on this thread, after the reflectors took what had come (the watchdog's sign of
  // life, and the place to look at the reflectors' state).
  void Run(const std::stop_token& stop, const std::function<void()>& on_turn);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kube
