// The interface between decisions and the network.
//
// The simulation runs all code above it unchanged. Requests go out as values, replies come back as
// values.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/result.h"
#include "pkg/http/body.h"

namespace http {

enum class Method { kGet, kPost, kPut, kPatch, kDelete };

constexpr std::string_view ToString(Method method) {
  constexpr std::array<std::string_view, 5> kNames = {"GET", "POST", "PUT", "PATCH", "DELETE"};
  return kNames.at(static_cast<std::size_t>(method));
}

struct Request {
  Method method = Method::kGet;
  std::string path = {};  // Starts with '/'. Escaped, with the query, without scheme and host.
  std::string content_type = {};  // Of the body. Empty if there is no body.
  std::string accept = "application/json";
  std::string body = {};
  std::chrono::milliseconds timeout{30'000};   // For the whole exchange.
  std::size_t response_bytes_max = 64U << 20;  // A larger body is kTooLarge.

  friend bool operator==(const Request&, const Request&) = default;
};

struct Response {
  int status = 0;  // 100 to 999, as the server sent it. Not an error, whatever it is.
  Body body = {};
  std::optional<std::chrono::seconds> retry_after = {};
};

// Report of an exchange at its end. An abandoned exchange sends none.
struct ExchangeReport {
  Method method = Method::kGet;
  std::string_view path = {};         // As in the request. Only valid during the call.
  int status = 0;                     // 0 if there was no reply.
  std::chrono::microseconds took{0};  // Until the first byte, for a stream.
};

// Called on the thread that drives the exchange; must not block.
using OnExchange = std::function<void(const ExchangeReport& report)>;

// Sends requests and waits for the replies.
//
// A write whose connection dies before the reply is kUnknownOutcome. It is never repeated, although
// libcurl would repeat it.
// - kUnavailable: the request did not reach the server.
// - kDeadlineExceeded (reads), kUnknownOutcome (writes): no reply within `timeout`.
// - kTooLarge: the body passed its bound.
// - kUnauthorized is not used here: a 401 is a reply.
class Transport {
 public:
  virtual ~Transport() = default;

  // Sends the requests concurrently. Returns when all are answered, replies in the order of the
  // requests.
  virtual std::vector<base::Result<Response>> SendAll(const std::vector<Request>& requests) = 0;

  base::Result<Response> Send(const Request& request) {
    return std::move(SendAll({request}).front());
  }
};

}  // namespace http
