#include "pkg/http/curl_transport.h"

#include <chrono>
#include <utility>

#include "pkg/http/curl_multi.h"

namespace http {
namespace {

constexpr int kConnectionsMax = 6;

}  // namespace

CurlTransport::CurlTransport(Endpoint endpoint, Credentials& credentials, std::string user_agent,
                             OnExchange on_exchange)
    : multi_(std::make_unique<CurlMulti>(std::move(endpoint), credentials, std::move(user_agent),
                                         kConnectionsMax)) {
  multi_->SetOnExchange(std::move(on_exchange));
}

CurlTransport::~CurlTransport() = default;

std::vector<base::Result<Response>> CurlTransport::SendAll(const std::vector<Request>& requests) {
  std::vector<base::Result<Response>> replies(
      requests.size(), base::Fail(base::ErrorCode::kUnavailable, "not sent"));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    multi_->Send(requests[i],
                 [&replies, i](base::Result<Response> reply) { replies[i] = std::move(reply); });
  }
  while (multi_->under_way() > 0) multi_->Poll(std::chrono::seconds(1));
  return replies;
}

}  // namespace http
