// One request over one libcurl handle, and what came back. For CurlMulti alone.
//
// The handle refers to the exchange, which therefore never moves. Used by one thread.
#pragma once

#include <curl/curl.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "pkg/base/result.h"
#include "pkg/http/curl_multi.h"
#include "pkg/http/curl_target.h"
#include "pkg/http/transport.h"

namespace http {

class CurlExchange {
 public:
  CurlExchange(const CurlTarget& target, Request request, CurlMulti::Stream handlers);

  // Makes the handle ready to be sent, with `token` if it is not empty.
  void Prepare(const std::string& token);
  // Ready once more, in what is left of the time. Once only; false the second time.
  [[nodiscard]] bool PrepareAgain(const std::string& token);

  // Passes the outcome to one of the handlers. Call it last: they may destroy the exchange.
  static void Deliver(std::unique_ptr<CurlExchange> exchange, CURLcode code);

  [[nodiscard]] CURL* easy() const { return easy_.get(); }
  [[nodiscard]] const Request& request() const { return request_; }
  [[nodiscard]] int status() const;  // 0: there is none, or what was sent is not one.
  [[nodiscard]] ExchangeReport Report() const;
  static CurlExchange& Of(CURL* easy);

  CurlMulti::Id id = 0;

 private:
  struct EasyDeleter {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };

  [[nodiscard]] bool IsStream() const { return handlers_.on_data != nullptr; }
  [[nodiscard]] std::size_t OnBody(std::string_view bytes);
  [[nodiscard]] std::size_t OnHeader(std::string_view line);
  [[nodiscard]] int OnSending();
  [[nodiscard]] base::Result<Response> Reply(CURLcode code);
  [[nodiscard]] base::Result<void> EndOfStream(CURLcode code) const;
  [[nodiscard]] base::Error Failure(CURLcode code) const;
  void SetHeaders(const std::string& token);
  void SetTimeout(std::chrono::milliseconds timeout);

  const CurlTarget& target_;
  const Request request_;
  const CurlMulti::Stream handlers_;
  const std::unique_ptr<CURL, EasyDeleter> easy_;
  CurlList headers_;
  std::array<char, CURL_ERROR_SIZE> error_text_ = {};  // Libcurl writes it, with its NUL.
  std::string body_;
  int times_sent_ = 0;  // In this attempt.
  bool tried_again_ = false;
  bool passed_its_bound_ = false;
  bool ended_by_us_ = false;
};

}  // namespace http
