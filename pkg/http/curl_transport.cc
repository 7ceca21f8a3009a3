#include "pkg/http/curl_transport.h"

#include <chrono>
#include <map>
#include <utility>

#include "pkg/http/curl_multi.h"

namespace http {
namespace {

constexpr int kInFlightMax = 6;
constexpr std::chrono::milliseconds kLookAround{200};  // Between checks of the gate.

base::Result<Response> GivenUp(const Request& request) {
  const bool reads = request.method == Method::kGet;
  return base::Fail(reads ? base::ErrorCode::kUnavailable : base::ErrorCode::kUnknownOutcome,
                    "given up: this process ends");
}

}  // namespace

CurlTransport::CurlTransport(Endpoint endpoint, Credentials& credentials, std::string user_agent,
                             OnExchange on_exchange, InFlight* in_flight, const Gate* gate)
    : own_(kInFlightMax),
      in_flight_(in_flight == nullptr ? own_ : *in_flight),
      gate_(gate),
      multi_(std::make_unique<CurlMulti>(std::move(endpoint), credentials, std::move(user_agent),
                                         in_flight_.most())) {
  multi_->SetOnExchange(std::move(on_exchange));
  multi_->SetGate(gate);
}

CurlTransport::~CurlTransport() = default;

std::vector<base::Result<Response>> CurlTransport::SendAll(const std::vector<Request>& requests) {
  std::vector<base::Result<Response>> replies(requests.size(), base::Unavailable("not sent"));
  InFlight::Sender slots(in_flight_);
  std::size_t next = 0;
  std::map<std::size_t, CurlMulti::Id> under_way;
  const auto finish = [&](std::size_t i, base::Result<Response> reply) {
    slots.GiveBack();
    under_way.erase(i);
    replies[i] = std::move(reply);
  };
  const auto send = [&] {
    const std::size_t i = next++;
    if (gate_ != nullptr) {
      if (const auto admitted = gate_->Admit(requests[i]); !admitted) {
        return finish(i, tl::unexpected(admitted.error()));
      }
    }
    under_way[i] = multi_->Send(
        requests[i], [&, i](base::Result<Response> reply) { finish(i, std::move(reply)); });
  };
  while (next < requests.size() || !under_way.empty()) {
    if (gate_ != nullptr && gate_->MustGiveUp()) {
      while (!under_way.empty()) {
        const auto [i, id] = *under_way.begin();
        multi_->Abandon(id);
        finish(i, GivenUp(requests[i]));
      }
    }
    // A sender may wait only while it holds no slot, because others may wait for its slots.
    if (next < requests.size() && under_way.empty()) {
      slots.Take();
      send();
    }
    while (next < requests.size() && slots.TryTake()) send();
    if (!under_way.empty()) multi_->Poll(kLookAround);
  }
  return replies;
}

}  // namespace http
