#pragma once

#include <chrono>
#include <functional>

#include "pkg/http/transport.h"

namespace http {

// What an exchange tells whoever counts them, at its end. One that was abandoned tells nothing.
struct ExchangeReport {
  Method method = Method::kGet;
  int status = 0;                     // 0: there was no reply.
  std::chrono::microseconds took{0};  // Of a stream: until its first byte.
};

// Called on the thread that drives the exchange; must not block.
using OnExchange = std::function<void(const ExchangeReport& report)>;

}  // namespace http
