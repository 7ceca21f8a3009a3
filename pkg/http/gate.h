// Whether requests may begin, asked where each of them starts, and when those in flight are given
// up. A replica that leads no more, or that ends, writes nothing from that moment on, however much
// was decided before.
//
// Thread-safe. Shared by the transports of one purpose, and by whatever stands in for them.
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

  // `may_write` is called on any thread, with each request that writes. `clock` outlives the gate.
  Gate(MayWrite may_write, const base::Clock& clock);

  // The request may begin; or kUnavailable, and it must not: it writes and may not, or the gate is
  // closed.
  [[nodiscard]] base::Result<void> Admit(const Request& request) const;

  // Nothing begins any more; what is in flight has `drain` left.
  void Close(std::chrono::milliseconds drain);
  // Whether that time is over.
  [[nodiscard]] bool MustGiveUp() const;

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  const MayWrite may_write_;
  const base::Clock& clock_;
  std::atomic<std::int64_t> give_up_at_{kNever};  // Of the monotonic clock; kNever: it is open.
};

}  // namespace http
