#include "pkg/http/curl_exchange.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "pkg/base/check.h"
#include "pkg/http/curl_outcome.h"
#include "pkg/http/retry_after.h"

namespace http {
namespace {

constexpr int kOk = 200;
constexpr long kStatusMin = 100;
constexpr long kStatusMax = 999;
constexpr std::size_t kStreamErrorBytesMax = 64U << 10;  // A Status object has a few hundred.

std::optional<std::string> HeaderOf(CURL* easy, const char* name) {
  curl_header* header = nullptr;
  constexpr int kLastReply = -1;
  if (curl_easy_header(easy, name, 0, CURLH_HEADER, kLastReply, &header) != CURLHE_OK) return {};
  return header->value;
}

}  // namespace

CurlExchange::CurlExchange(const CurlTarget& target, Request request, CurlMulti::Stream handlers)
    : target_(target),
      request_(std::move(request)),
      handlers_(std::move(handlers)),
      easy_(curl_easy_init()) {
  CHECK(easy_ != nullptr);
}

CurlExchange& CurlExchange::Of(CURL* easy) {
  char* exchange = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &exchange);
  return *reinterpret_cast<CurlExchange*>(exchange);
}

void CurlExchange::Prepare(const std::string& token) {
  CURL* const easy = easy_.get();
  target_.ApplyTo(easy);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_text_.data());
  curl_easy_setopt(easy, CURLOPT_URL, target_.UrlOf(request_.path).c_str());
  // The smallest. By default 64 KiB for each exchange, also of those that have no body, and as long
  // as a watch goes on.
  curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 16L << 10);
  if (request_.method != Method::kGet) {
    const std::string method(ToString(request_.method));
    const bool has_body = request_.method != Method::kDelete || !request_.body.empty();
    if (has_body) {
      curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request_.body.data());
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request_.body.size()));
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method.c_str());
  }
  curl_easy_setopt(
      easy, CURLOPT_WRITEFUNCTION,
      +[](char* data, std::size_t size, std::size_t count, void* self) noexcept {
        return static_cast<CurlExchange*>(self)->OnBody({data, size * count});
      });
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  if (IsStream()) {
    curl_easy_setopt(
        easy, CURLOPT_HEADERFUNCTION,
        +[](char* data, std::size_t size, std::size_t count, void* self) noexcept {
          return static_cast<CurlExchange*>(self)->OnHeader({data, size * count});
        });
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);  // Not those of a proxy.
  }
  curl_easy_setopt(
      easy, CURLOPT_PREREQFUNCTION,
      +[](void* self, char* /*remote_ip*/, char* /*local_ip*/, int /*remote_port*/,
          int /*local_port*/) noexcept { return static_cast<CurlExchange*>(self)->OnSending(); });
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, this);
  SetTimeout(request_.timeout);
  SetHeaders(token);
}

bool CurlExchange::PrepareAgain(const std::string& token) {
  if (std::exchange(tried_again_, true)) return false;
  curl_off_t microseconds = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_TOTAL_TIME_T, &microseconds);
  const auto taken = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::microseconds(microseconds));
  body_.clear();
  times_sent_ = 0;
  passed_its_bound_ = false;
  SetTimeout(request_.timeout - taken);
  SetHeaders(token);
  return true;
}

void CurlExchange::SetTimeout(std::chrono::milliseconds timeout) {
  // 0 would mean no limit.
  curl_easy_setopt(easy_.get(), CURLOPT_TIMEOUT_MS,
                   static_cast<long>(std::max<std::int64_t>(timeout.count(), 1)));
}

void CurlExchange::SetHeaders(const std::string& token) {
  CurlList headers = Append(nullptr, "Accept: " + request_.accept);
  // A header without a value removes libcurl's: a form's type, and a wait for "100 Continue".
  headers = Append(std::move(headers), request_.content_type.empty()
                                           ? "Content-Type:"
                                           : "Content-Type: " + request_.content_type);
  headers = Append(std::move(headers), "Expect:");
  if (!target_.host_header().empty()) {
    headers = Append(std::move(headers), "Host: " + target_.host_header());
  }
  if (!token.empty()) headers = Append(std::move(headers), "Authorization: Bearer " + token);
  curl_easy_setopt(easy_.get(), CURLOPT_HTTPHEADER, headers.get());
  headers_ = std::move(headers);
}

int CurlExchange::status() const {
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  // After "HTTP/2" libcurl accepts any number as a status.
  return status < kStatusMin || status > kStatusMax ? 0 : static_cast<int>(status);
}

ExchangeReport CurlExchange::Report() const {
  curl_off_t microseconds = 0;
  curl_easy_getinfo(easy_.get(), IsStream() ? CURLINFO_STARTTRANSFER_TIME_T : CURLINFO_TOTAL_TIME_T,
                    &microseconds);
  return {.method = request_.method,
          .path = request_.path,
          .status = status(),
          .took = std::chrono::microseconds(microseconds)};
}

// libcurl calls this when it is connected and about to send the request. If a used connection dies
// without a reply, libcurl repeats the request on another, up to five times, for any method. The
// first may have been executed, so a write ends here.
int CurlExchange::OnSending() {
  const bool is_write = request_.method != Method::kGet;
  if (times_sent_ > 0 && is_write) return CURL_PREREQFUNC_ABORT;
  if (gate_ != nullptr) {
    if (const auto admitted = gate_->Admit(request_); !admitted) {
      refused_ = admitted.error();
      return CURL_PREREQFUNC_ABORT;
    }
  }
  ++times_sent_;
  return CURL_PREREQFUNC_OK;
}

std::size_t CurlExchange::OnBody(std::string_view bytes) {
  if (IsStream() && status() == kOk) {
    ended_by_us_ = !handlers_.on_data(bytes);
    return ended_by_us_ ? 0 : bytes.size();  // A smaller number ends the transfer.
  }
  const std::size_t bytes_max = IsStream() ? kStreamErrorBytesMax : request_.response_bytes_max;
  const std::size_t room = bytes_max - body_.size();
  passed_its_bound_ = bytes.size() > room;
  body_.append(bytes.substr(0, room));
  return passed_its_bound_ ? 0 : bytes.size();
}

std::size_t CurlExchange::OnHeader(std::string_view line) {
  const bool is_end = line == "\r\n" || line == "\n";
  if (!is_end || status() != kOk || handlers_.on_data({})) return line.size();
  ended_by_us_ = true;
  return 0;
}

void CurlExchange::Deliver(std::unique_ptr<CurlExchange> exchange, CURLcode code) {
  if (exchange->IsStream() && exchange->status() == kOk) {
    exchange->handlers_.on_end(exchange->EndOfStream(code));
  } else {
    exchange->handlers_.on_reply(exchange->Reply(code));
  }
}

base::Result<Response> CurlExchange::Reply(CURLcode code) {
  if (code == CURLE_OK && status() == 0) code = CURLE_WEIRD_SERVER_REPLY;
  const bool is_cut_off = IsStream() && passed_its_bound_;
  if (code != CURLE_OK && !is_cut_off) return tl::unexpected(Failure(code));
  Response response = {.status = status(), .body = std::move(body_)};
  if (const auto value = HeaderOf(easy_.get(), "Retry-After")) {
    // A date is compared with the server's clock, if the server sends it.
    const std::optional<std::string> date = HeaderOf(easy_.get(), "Date");
    const std::time_t server_time = date ? curl_getdate(date->c_str(), nullptr) : -1;
    response.retry_after =
        ParseRetryAfter(*value, server_time == -1 ? std::time(nullptr) : server_time);
  }
  return response;
}

base::Result<void> CurlExchange::EndOfStream(CURLcode code) const {
  if (code == CURLE_OK || ended_by_us_) return {};
  return tl::unexpected(Failure(code));
}

base::Error CurlExchange::Failure(CURLcode code) const {
  if (refused_) return *refused_;
  long os_error = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &os_error);
  return ToError({.code = code,
                  .detail = error_text_.data(),
                  .os_error = static_cast<int>(os_error),
                  .is_write = request_.method != Method::kGet,
                  .sent = times_sent_ > 0,
                  .passed_its_bound = passed_its_bound_,
                  .host_and_port = target_.host_and_port(),
                  .server_name = target_.server_name()});
}

}  // namespace http
