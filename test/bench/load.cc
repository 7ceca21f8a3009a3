#include "test/bench/load.h"

#include <utility>

#include "pkg/kube/client/request.h"

namespace bench {

using base::Result;

Load::Load(const http::Endpoint& endpoint, http::Credentials& credentials, int in_flight)
    : in_flight_(static_cast<std::size_t>(in_flight)),
      multi_(endpoint, credentials, "cdom-bench", in_flight) {}

void Load::Add(http::Request request, OnReply on_reply) {
  waiting_.push_back({.request = std::move(request), .on_reply = std::move(on_reply)});
}

void Load::AddNext(http::Request request, OnReply on_reply) {
  waiting_.push_front({.request = std::move(request), .on_reply = std::move(on_reply)});
}

Result<void> Load::Take(const Item& item, Result<http::Response> reply) {
  const http::Response response = TRY(kube::CheckStatus(std::move(reply), item.request.method));
  if (!item.on_reply) return {};
  return item.on_reply(response);
}

void Load::Begin(Item item) {
  http::Request request = item.request;
  multi_.Send(std::move(request), [this, item = std::move(item)](Result<http::Response> reply) {
    const Result<void> taken = Take(item, std::move(reply));
    if (taken || failure_) return;
    failure_ = base::While(std::string(http::ToString(item.request.method)) + " " +
                           item.request.path)(taken.error());
  });
}

Result<void> Load::Run() {
  constexpr std::chrono::milliseconds kTurn{100};
  while (!waiting_.empty() || multi_.under_way() > 0) {
    if (failure_) return tl::unexpected(*failure_);
    while (!waiting_.empty() && multi_.under_way() < in_flight_) {
      Item item = std::move(waiting_.front());
      waiting_.pop_front();
      Begin(std::move(item));
    }
    multi_.Poll(kTurn);
  }
  if (failure_) return tl::unexpected(*failure_);
  return {};
}

}  // namespace bench
