// Transports of more threads than send at one time. A thread has one for as long as its requests
// take, and the one that was given back last is the next to be taken: so there are as many
// connections as were needed at once, and not six for each thread.
//
// Thread-safe. Bound: a transport for each thread that sends at one time; they live as long as the
// pool.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "pkg/base/mutex.h"
#include "pkg/http/transport.h"

namespace http {

class TransportPool final : public Transport {
 public:
  // `make` is called on any thread, one at a time; what it makes is used by one thread at a time.
  explicit TransportPool(std::function<std::unique_ptr<Transport>()> make)
      : make_(std::move(make)) {}

  [[nodiscard]] std::vector<base::Result<Response>> SendAll(
      const std::vector<Request>& requests) override;

 private:
  base::Mutex mutex_;
  const std::function<std::unique_ptr<Transport>()> make_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Transport>> free_ GUARDED_BY(mutex_);
};

}  // namespace http
