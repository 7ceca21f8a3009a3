// The seam between everything that decides and the network. Above it lies what simulation runs
// unchanged: requests as values out, replies as values in.
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

[[nodiscard]] constexpr std::string_view ToString(Method method) {
  constexpr std::array<std::string_view, 5> kNames = {"GET", "POST", "PUT", "PATCH", "DELETE"};
  return kNames.at(static_cast<std::size_t>(method));
}

struct Request {
  Method method = Method::kGet;
  std::string path = {};          // Starts with '/', escaped, with its query; no scheme or host.
  std::string content_type = {};  // Of the body; empty without one.
  std::string accept = "application/json";
  std::string body = {};
  std::chrono::milliseconds timeout{30'000};   // For the whole exchange.
  std::size_t response_bytes_max = 64U << 20;  // kTooLarge above it.

  friend bool operator==(const Request&, const Request&) = default;
};

struct Response {
  int status = 0;  // 100 to 999, as the server sent it; any status is a reply.
  Body body = {};
  std::optional<std::chrono::seconds> retry_after = {};
};

// What an exchange reports to its observer, at its end. One that was abandoned tells nothing.
struct ExchangeReport {
  Method method = Method::kGet;
  int status = 0;                     // 0: there was no reply.
  std::chrono::microseconds took{0};  // Of a stream: until its first byte.
};

// Called on the thread that drives the exchange; must not block.
using OnExchange = std::function<void(const ExchangeReport& report)>;

// Sends requests and waits for the replies.
//
// A request is sent at most once: a write whose connection dies before the reply is
// kUnknownOutcome, never repeated (libcurl would). kUnavailable: it did not reach the server.
// kDeadlineExceeded (reads) and kUnknownOutcome (writes): no reply within `timeout`.
// kTooLarge: the body passed its bound. kUnauthorized is not made here: a 401 is a reply.
class Transport {
 public:
  virtual ~Transport() = default;

  // Side by side; returns when all are answered, replies in the order of the requests.
  [[nodiscard]] virtual std::vector<base::Result<Response>> SendAll(
      const std::vector<Request>& requests) = 0;

  [[nodiscard]] base::Result<Response> Send(const Request& request) {
    return std::move(SendAll({request}).front());
  }
};

}  // namespace http
