#include "pkg/http/curl_multi.h"

#include <algorithm>
#include <csignal>
#include <mutex>

#include "pkg/base/check.h"
#include "pkg/http/curl_exchange.h"

namespace http {
namespace {

constexpr int kUnauthorized = 401;

CURLM* NewMulti() {
  static std::once_flag once;
  std::call_once(once, [] {
    CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    // With CURLOPT_NOSIGNAL the program must do this. Otherwise a peer that hangs up would end it.
    std::signal(SIGPIPE, SIG_IGN);
  });
  CURLM* const multi = curl_multi_init();
  CHECK(multi != nullptr);
  return multi;
}

}  // namespace

CurlMulti::CurlMulti(Endpoint endpoint, Credentials& credentials, std::string user_agent,
                     int connections_max)
    : target_(std::move(endpoint), std::move(user_agent)),
      credentials_(credentials),
      multi_(NewMulti()) {
  curl_multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS, static_cast<long>(connections_max));
}

CurlMulti::~CurlMulti() {
  for (const auto& [id, exchange] : exchanges_) curl_multi_remove_handle(multi_, exchange->easy());
  exchanges_.clear();
  curl_multi_cleanup(multi_);
}

CurlMulti::Id CurlMulti::Send(Request request, OnReply on_reply) {
  return Begin(std::make_unique<CurlExchange>(target_, std::move(request),
                                              Stream{.on_reply = std::move(on_reply)}));
}

CurlMulti::Id CurlMulti::Open(Request request, Stream stream) {
  return Begin(std::make_unique<CurlExchange>(target_, std::move(request), std::move(stream)));
}

CurlMulti::Id CurlMulti::Begin(std::unique_ptr<CurlExchange> exchange) {
  const Id id = ++last_id_;
  exchange->id = id;
  exchange->SetGate(gate_);
  exchange->Prepare(credentials_.BearerToken());
  CHECK(curl_multi_add_handle(multi_, exchange->easy()) == CURLM_OK);
  exchanges_.emplace(id, std::move(exchange));
  return id;
}

void CurlMulti::Abandon(Id id) {
  const auto it = exchanges_.find(id);
  if (it == exchanges_.end()) return;
  curl_multi_remove_handle(multi_, it->second->easy());
  exchanges_.erase(it);
}

void CurlMulti::Poll(std::chrono::milliseconds most) {
  const int wait = static_cast<int>(std::clamp<std::int64_t>(most.count(), 0, 3'600'000));
  CHECK(curl_multi_poll(multi_, nullptr, 0, wait, nullptr) == CURLM_OK);
  int running = 0;
  CHECK(curl_multi_perform(multi_, &running) == CURLM_OK);
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg == CURLMSG_DONE) Finish(message->easy_handle, message->data.result);
  }
}

void CurlMulti::Finish(CURL* easy, CURLcode code) {
  CurlExchange& exchange = CurlExchange::Of(easy);
  curl_multi_remove_handle(multi_, easy);
  if (exchange.status() == kUnauthorized) {
    credentials_.Invalidate();
    const bool may_begin = gate_ == nullptr || gate_->Admit(exchange.request());
    if (may_begin && exchange.PrepareAgain(credentials_.BearerToken())) {
      CHECK(curl_multi_add_handle(multi_, easy) == CURLM_OK);
      return;
    }
  }
  if (on_exchange_) on_exchange_(exchange.Report());
  auto node = exchanges_.extract(exchange.id);
  CurlExchange::Deliver(std::move(node.mapped()), code);
}

void CurlMulti::Wake() { curl_multi_wakeup(multi_); }

}  // namespace http
