// Transports that threads borrow while they send.
//
// The last returned transport is used next. So there are only as many connections as the threads
// used at the same time, not six for each thread. Transports that nobody uses are closed.
//
// Thread-safe.
// Bound: `most` transports. Further threads wait for one, in the order in which they came.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"
#include "pkg/http/in_flight.h"
#include "pkg/http/transport.h"

namespace http {

class TransportPool final : public Transport {
 public:
  static constexpr std::chrono::seconds kIdleMax{10};

  // `make` is called on any thread, one call at a time. One thread at a time uses each transport.
  TransportPool(std::function<std::unique_ptr<Transport>()> make, int most,
                const base::Clock& clock)
      : clock_(clock), lent_(most), make_(std::move(make)) {}

  std::vector<base::Result<Response>> SendAll(const std::vector<Request>& requests) override;

  // Closes the transports that were not used for kIdleMax.
  void CloseIdle();

 private:
  struct Free {
    std::unique_ptr<Transport> transport;
    base::Clock::TimePoint since;
  };

  const base::Clock& clock_;
  InFlight lent_;
  base::Mutex mutex_;
  const std::function<std::unique_ptr<Transport>()> make_ GUARDED_BY(mutex_);
  std::vector<Free> free_ GUARDED_BY(mutex_);  // The last returned one is last.
};

}  // namespace http
