// Transports that threads borrow while they send.
//
// The last returned transport is used next. So there are only as many connections as the threads
// used at the same time, not six for each thread.
//
// Thread-safe.
// Bound: one transport for each thread that sends at the same time. Transports live as long as the
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
  // `make` is called on any thread, one call at a time. One thread at a time uses each transport.
  explicit TransportPool(std::function<std::unique_ptr<Transport>()> make)
      : make_(std::move(make)) {}

  std::vector<base::Result<Response>> SendAll(const std::vector<Request>& requests) override;

 private:
  base::Mutex mutex_;
  const std::function<std::unique_ptr<Transport>()> make_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Transport>> free_ GUARDED_BY(mutex_);
};

}  // namespace http
