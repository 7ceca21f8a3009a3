// Many requests to the API server, with a bounded number in flight.
//
// Used by one thread, which also does all of the TLS.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>

#include "pkg/base/result.h"
#include "pkg/http/curl_multi.h"
#include "pkg/http/endpoint.h"
#include "pkg/http/transport.h"

namespace bench {

class Load {
 public:
  // Called with each 2xx reply; may add further requests. An Error ends the load.
  using OnReply = std::function<base::Result<void>(const http::Response& reply)>;

  // `credentials` must outlive the load.
  Load(const http::Endpoint& endpoint, http::Credentials& credentials, int in_flight);

  void Add(http::Request request, OnReply on_reply = {});
  // The same, before all waiting requests. For requests that follow from a reply: so one object is
  // finished before the next is started, as a controller does.
  void AddNext(http::Request request, OnReply on_reply = {});

  // Blocks until every request is answered. Returns the error of the first reply that is not 2xx,
  // and then drops the rest. After a success the load may be filled and run again.
  base::Result<void> Run();

 private:
  struct Item {
    http::Request request = {};
    OnReply on_reply = {};
  };

  void Begin(Item item);
  base::Result<void> Take(const Item& item, base::Result<http::Response> reply);

  const std::size_t in_flight_;
  http::CurlMulti multi_;
  std::deque<Item> waiting_;
  std::optional<base::Error> failure_;
};

}  // namespace bench
