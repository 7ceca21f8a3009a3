// Decides which requests may start, and when to abandon those in flight.
//
// Each request asks twice: before it takes a connection, which may need seconds to open, and when
// the first byte is about to be sent. So a replica that loses leadership or shuts down sends no
// further write, even if that write was decided before.
//
// Thread-safe. Shared by the transports of one purpose, and by their test doubles.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>

#include "pkg/base/clock.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"

namespace http {

class Gate {
 public:
  using MayWrite = std::function<bool()>;

  // `may_write` is called on any thread, for each request that writes. `clock` outlives the gate.
  Gate(MayWrite may_write, const base::Clock& clock);

  // Returns success if the request may start. Returns kUnavailable if the gate is closed, or if the
  // request writes and `may_write` returns false.
  base::Result<void> Admit(const Request& request) const;

  // Admits no further request. Requests in flight have `drain` left.
  void Close(std::chrono::milliseconds drain);
  // Returns whether that time has passed.
  bool MustGiveUp() const;

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  const MayWrite may_write_;
  const base::Clock& clock_;
  std::atomic<std::int64_t> give_up_at_{kNever};  // Monotonic clock, in ns. kNever while open.
};

}  // namespace http
