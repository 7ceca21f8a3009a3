// One request over one libcurl handle, and its reply. For CurlMulti only.
//
// The handle points to the exchange, so the exchange never moves. For one thread.
#pragma once

#include <curl/curl.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "pkg/base/result.h"
#include "pkg/http/curl_multi.h"
#include "pkg/http/curl_target.h"
#include "pkg/http/transport.h"

namespace http {

class CurlExchange {
 public:
  CurlExchange(const CurlTarget& target, Request request, CurlMulti::Stream handlers);

  // Asks the gate when the connection is open and the request is about to be sent: a connection may
  // take seconds, and the process may have lost its Lease meanwhile. It outlives the exchange.
  void SetGate(const Gate* gate) { gate_ = gate; }
  // Prepares the handle for sending. Sends `token` unless it is empty.
  void Prepare(const std::string& token);
  // Prepares the handle for a second attempt in the remaining time. Returns false if it was called
  // before.
  bool PrepareAgain(const std::string& token);

  // Passes the outcome to one of the handlers, and then destroys the exchange.
  static void Deliver(std::unique_ptr<CurlExchange> exchange, CURLcode code);

  CURL* easy() const { return easy_.get(); }
  const Request& request() const { return request_; }
  int status() const;  // 0 if none arrived, or if it is invalid.
  ExchangeReport Report() const;
  static CurlExchange& Of(CURL* easy);

  CurlMulti::Id id = 0;

 private:
  struct EasyDeleter {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };

  bool IsStream() const { return handlers_.on_data != nullptr; }
  std::size_t OnBody(std::string_view bytes);
  std::size_t OnHeader(std::string_view line);
  int OnSending();
  base::Result<Response> Reply(CURLcode code);
  base::Result<void> EndOfStream(CURLcode code) const;
  base::Error Failure(CURLcode code) const;
  void SetHeaders(const std::string& token);
  void SetTimeout(std::chrono::milliseconds timeout);

  const CurlTarget& target_;
  const Gate* gate_ = nullptr;  // Null if every request may be sent.
  const Request request_;
  const CurlMulti::Stream handlers_;
  const std::unique_ptr<CURL, EasyDeleter> easy_;
  CurlList headers_;
  std::array<char, CURL_ERROR_SIZE> error_text_ = {};  // Written by libcurl, with a NUL at the end.
  std::string body_;
  int times_sent_ = 0;                       // In the current attempt.
  std::optional<base::Error> refused_ = {};  // Why the gate did not let it be sent.
  bool tried_again_ = false;
  bool passed_its_bound_ = false;
  bool ended_by_us_ = false;
};

}  // namespace http
