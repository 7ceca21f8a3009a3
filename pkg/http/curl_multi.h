// Exchanges with one endpoint over libcurl, any number side by side, driven by one thread.
//
// Every request carries the bearer token of the moment. A 401 says that nothing was done, so it
// invalidates the credentials and the request goes out once more; the second reply counts. A write
// is on the wire once and never again, whatever libcurl would do; a read whose kept connection
// turns out dead is sent again by libcurl. Connections are kept and used again; redirects are not
// followed.
//
// Used by one thread, save Wake(). SIGPIPE is ignored in the whole process from the first one on.
// Bounds: a reply by its request's response_bytes_max, connections by `connections_max`.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "pkg/base/result.h"
#include "pkg/http/curl_target.h"
#include "pkg/http/endpoint.h"
#include "pkg/http/gate.h"
#include "pkg/http/transport.h"

namespace http {

class CurlExchange;

class CurlMulti {
 public:
  using Id = std::uint64_t;  // Of an exchange; never 0, never given twice.
  using OnReply = std::function<void(base::Result<Response>)>;

  // A stream of which exactly one of `on_reply` and `on_end` is called, at its end.
  struct Stream {
    // Bytes of a 200's body, split anywhere; first none at all, when the 200 has arrived. False:
    // end the stream. Must not call the CurlMulti.
    std::function<bool(std::string_view bytes)> on_data = {};
    // It never became a stream: the server could not be reached, or its status was not 200. The
    // body is then cut off after 64 KiB.
    OnReply on_reply = {};
    // It is over: cleanly or by on_data, or by an error of the connection or of time.
    std::function<void(base::Result<void>)> on_end = {};
  };

  // `credentials` outlives it. `user_agent` such as "cdom/0.1.0 (linux/amd64)".
  // `connections_max` 0: no limit, for streams, each of which has a connection of its own.
  CurlMulti(Endpoint endpoint, Credentials& credentials, std::string user_agent,
            int connections_max);
  ~CurlMulti();

  // Before the first exchange. `gate`, which outlives it, is asked before a request goes out once
  // more; null: it may.
  void SetOnExchange(OnExchange on_exchange) { on_exchange_ = std::move(on_exchange); }
  void SetGate(const Gate* gate) { gate_ = gate; }

  // Begin an exchange; what becomes of it is told from Poll(), never from here.
  Id Send(Request request, OnReply on_reply);
  Id Open(Request request, Stream stream);

  // Drops an exchange and its connection. Nothing is told of it any more; of a write, nobody knows
  // what became. An unknown id is fine.
  void Abandon(Id id);

  // Moves bytes until something happened, Wake() was called or `most` has passed. Callbacks other
  // than on_data may begin and abandon exchanges.
  void Poll(std::chrono::milliseconds most);

  // Ends a Poll() that waits, or else the next one. From any thread.
  void Wake();

  [[nodiscard]] std::size_t under_way() const { return exchanges_.size(); }

 private:
  Id Begin(std::unique_ptr<CurlExchange> exchange);
  void Finish(CURL* easy, CURLcode code);

  const CurlTarget target_;
  Credentials& credentials_;
  CURLM* const multi_;
  OnExchange on_exchange_;
  const Gate* gate_ = nullptr;
  std::map<Id, std::unique_ptr<CurlExchange>> exchanges_;
  Id last_id_ = 0;
};

}  // namespace http
