// Runs concurrent exchanges with one endpoint over libcurl, on one thread.
//
// Every request carries the current bearer token. A 401 means that the server did nothing: it
// invalidates the credentials, and the request is sent once more. The second reply counts. A write
// is sent only once, even where libcurl would repeat it. A read is repeated by libcurl if its
// reused connection is dead. Connections are reused; redirects are not followed.
//
// For one thread, except Wake(). The first instance makes the whole process ignore SIGPIPE.
// Bounds: a reply has its request's response_bytes_max; there are `connections_max` connections.
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
  using Id = std::uint64_t;  // Of an exchange. Never 0, never reused.
  using OnReply = std::function<void(base::Result<Response>)>;

  // Handlers of a stream. Exactly one of `on_reply` and `on_end` is called, at its end.
  struct Stream {
    // Takes bytes of a 200's body, split anywhere. The first call has no bytes: the 200 has
    // arrived. Returns false to end the stream. Must not call the CurlMulti.
    std::function<bool(std::string_view bytes)> on_data = {};
    // Called if there was no stream: the server was unreachable, or its status was not 200. The
    // body is then cut after 64 KiB.
    OnReply on_reply = {};
    // Called when the stream has ended. Without error if the server or on_data ended it; otherwise
    // with an error of the connection, or a timeout.
    std::function<void(base::Result<void>)> on_end = {};
  };

  // `credentials` outlives it. `user_agent` is such as "cdom/1.2.3 (linux/amd64)".
  // `connections_max` 0 means no limit, for streams: each has its own connection.
  CurlMulti(Endpoint endpoint, Credentials& credentials, std::string user_agent,
            int connections_max);
  ~CurlMulti();

  // Call these before the first exchange. `gate` outlives it, and must admit a request before it is
  // sent once more. If null, all are admitted.
  void SetOnExchange(OnExchange on_exchange) { on_exchange_ = std::move(on_exchange); }
  void SetGate(const Gate* gate) { gate_ = gate; }

  // Start an exchange. Handlers are called from Poll(), never from here.
  Id Send(Request request, OnReply on_reply);
  Id Open(Request request, Stream stream);

  // Drops an exchange and its connection, without a call of its handlers. The outcome of a write is
  // then unknown. An unknown id is ignored.
  void Abandon(Id id);

  // Transfers bytes until an exchange makes progress, Wake() is called or `most` has passed.
  // Callbacks other than on_data may start and abandon exchanges.
  void Poll(std::chrono::milliseconds most);

  // Ends the current or the next Poll(). Thread-safe.
  void Wake();

  std::size_t under_way() const { return exchanges_.size(); }

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
