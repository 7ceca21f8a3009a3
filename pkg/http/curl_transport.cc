#include "pkg/http/curl_transport.h"

#include <chrono>
#include <utility>

#include "pkg/http/curl_multi.h"

namespace http {
namespace {

constexpr int kInFlightMax = 6;

}  // namespace

CurlTransport::CurlTransport(Endpoint endpoint, Credentials& credentials, std::string user_agent,
                             OnExchange on_exchange, InFlight* in_flight)
    : own_(kInFlightMax),
      in_flight_(in_flight == nullptr ? own_ : *in_flight),
      multi_(std::make_unique<CurlMulti>(std::move(endpoint), credentials, std::move(user_agent),
                                         in_flight_.most())) {
  multi_->SetOnExchange(std::move(on_exchange));
}

CurlTransport::~CurlTransport() = default;

std::vector<base::Result<Response>> CurlTransport::SendAll(const std::vector<Request>& requests) {
  std::vector<base::Result<Response>> replies(
      requests.size(), base::Fail(base::ErrorCode::kUnavailable, "not sent"));
  std::size_t next = 0;
  const auto send = [&] {
    std::size_t i = next++;
    multi_->Send(requests[i], [&, i](base::Result<Response> reply) {
      in_flight_.GiveBack();
      replies[i] = std::move(reply);
    });
  };
  while (next < requests.size() || multi_->under_way() > 0) {
    // To wait is right only for who holds nothing that others may wait for.
    if (next < requests.size() && multi_->under_way() == 0) {
      in_flight_.Take();
      send();
    }
    while (next < requests.size() && in_flight_.TryTake()) send();
    multi_->Poll(std::chrono::seconds(1));
  }
  return replies;
}

}  // namespace http
