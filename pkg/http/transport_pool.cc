#include "pkg/http/transport_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace http {

std::vector<base::Result<Response>> TransportPool::SendAll(const std::vector<Request>& requests) {
  InFlight::Sender place(lent_);
  place.Take();
  std::unique_ptr<Transport> transport;
  {
    const base::MutexLock lock(mutex_);
    if (free_.empty()) free_.push_back({.transport = make_(), .since = {}});
    transport = std::move(free_.back().transport);
    free_.pop_back();
  }
  std::vector<base::Result<Response>> replies = transport->SendAll(requests);
  {
    const base::MutexLock lock(mutex_);
    free_.push_back({.transport = std::move(transport), .since = clock_.Now()});
  }
  place.GiveBack();
  return replies;
}

void TransportPool::CloseIdle() {
  std::vector<Free> idle;  // Closed without the lock.
  const base::MutexLock lock(mutex_);
  const auto is_in_use = [now = clock_.Now()](const Free& one) {
    return now < one.since + kIdleMax;
  };
  const auto end = std::ranges::find_if(free_, is_in_use);
  idle.assign(std::move_iterator(free_.begin()), std::move_iterator(end));
  free_.erase(free_.begin(), end);
}

}  // namespace http
