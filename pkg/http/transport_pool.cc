#include "pkg/http/transport_pool.h"

#include <utility>

namespace http {

std::vector<base::Result<Response>> TransportPool::SendAll(const std::vector<Request>& requests) {
  std::unique_ptr<Transport> transport;
  {
    const base::MutexLock lock(mutex_);
    if (free_.empty()) free_.push_back(make_());
    transport = std::move(free_.back());
    free_.pop_back();
  }
  std::vector<base::Result<Response>> replies = transport->SendAll(requests);
  const base::MutexLock lock(mutex_);
  free_.push_back(std::move(transport));
  return replies;
}

}  // namespace http
