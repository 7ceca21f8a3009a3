// Elects a leader among replicas with a coordination.k8s.io Lease.
//
// Guarantee: IsLeader() becomes false at most `renew_deadline` after the last accepted renewal was
// *sent*, even if the API server, the network or the renewing thread hangs. Another replica waits
// `lease_duration` after it saw that renewal, which is later. So terms do not overlap while clocks
// run at the same rate. The elector never compares times of two clocks.
//
// The guarantee requires that only electors write the Lease. If a person deletes it, clears it or
// names another holder, the term ends once the leader reads that, within one or two `retry_period`.
//
// No guarantee: fencing. The API server may apply a request that was sent just before a term ended,
// after the next term began. So every write carries a resourceVersion or UID precondition, and no
// code may assume that it is the only writer.
//
// A step function: Poll() returns what to send and when to call it again. IsLeader(), TermEnded()
// and term_began() are thread-safe; the other functions are for one thread.
// Bound: one request in flight, for at most `retry_period`.
// Source: client-go tools/leaderelection for the timing. To count from the time of sending is our
// own rule.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/random.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/json/value.h"
#include "pkg/kube/api/meta.h"

namespace kube {

struct LeaseTiming {
  // Standbys wait this long after the last renewal that they saw.
  std::chrono::milliseconds lease_duration{15'000};
  // The leader acts for this long after it sent its last accepted renewal.
  std::chrono::milliseconds renew_deadline{10'000};
  // Time between attempts. A leader adds up to 20 % at random, and a standby subtracts up to 20 %.
  // So a standby sees every renewal within the period, and may take over `lease_duration` later.
  std::chrono::milliseconds retry_period{2'000};
};

// Returns kInvalid, with the flags and the fix, unless 1.2 * retry_period < renew_deadline <
// lease_duration, and lease_duration is at least one second.
base::Result<void> Validate(const LeaseTiming& timing);

class LeaderElector {
 public:
  struct Next {
    // Send it, then call OnReply(). Empty if there is none.
    std::optional<http::Request> request = {};
    base::Clock::TimePoint until = {};  // When to call Poll() again.
  };

  // `identity` is unique to this process: a restarted pod needs another one. The references outlive
  // the elector. REQUIRES: Validate(timing) succeeded.
  LeaderElector(ObjectKey lease, std::string identity, LeaseTiming timing, const base::Clock& clock,
                base::Random& random, base::Logger& logger);

  Next Poll();
  void OnReply(const base::Result<http::Response>& reply);

  // Returns whether this process may write. It only reads the clock, so call it before every write.
  bool IsLeader() const;
  // Returns whether this process was the leader and no longer is. Another term needs another
  // elector, so that no state of this one survives.
  bool TermEnded() const { return term_began_ && !IsLeader(); }
  bool term_began() const { return term_began_; }

  // Ends the term now. Returns the request that releases the Lease, so that a standby need not
  // wait. Empty if this process does not hold it. Send it after the last write has returned. If it
  // fails, the Lease expires. The elector sends nothing else afterwards.
  std::optional<http::Request> Release();

 private:
  using TimePoint = base::Clock::TimePoint;
  enum class Request { kRead, kCreate, kUpdate };

  // The content of a Lease. `holder` is empty if the Lease has no holder or does not exist.
  struct Record {
    std::string uid = {};
    std::string holder = {};
    std::string acquire_time = {};
    std::string renew_time = {};
    std::int64_t duration_seconds = 0;
    std::int64_t transitions = 0;
    friend bool operator==(const Record&, const Record&) = default;
  };

  http::Request Start(TimePoint now);
  void OnRead(const base::Result<http::Response>& reply);
  void OnWritten(const http::Response& reply);
  void OnWriteError(const base::Error& error);
  // Stores the Lease of a reply, and when its record was first seen.
  base::Result<void> Observe(const http::Response& reply);
  void Forget();  // The Lease does not exist.
  void Decide();  // Chooses the next request, after the Lease was read.
  void SendAtOnce(Request request);
  void Extend();
  void LoseTerm();
  void ReportFailure(Request request, const base::Error& error);
  void ReportSuccess();

  bool OthersMayAct() const;
  std::chrono::nanoseconds OthersDuration() const;
  std::chrono::nanoseconds Period();
  json::Value Written(const Record& record) const;
  Record Ours() const;

  const ObjectKey lease_;
  const std::string identity_;
  const LeaseTiming timing_;
  const base::Clock& clock_;
  base::Random& random_;
  base::Logger& logger_;

  Request next_ = Request::kRead;
  bool under_way_ = false;
  // The next request follows the last reply without a pause.
  bool at_once_ = false;
  int at_once_count_ = 0;
  TimePoint next_attempt_ = TimePoint::min();
  TimePoint sent_at_ = {};

  // The whole Lease as last read or written, so that a write keeps the fields of other writers.
  // Null if it does not exist.
  json::Value object_;
  Record record_;
  TimePoint record_seen_ = TimePoint::min();  // When this record was first seen.

  std::atomic<bool> term_began_ = false;
  bool released_ = false;
  bool end_logged_ = false;
  std::optional<base::ErrorCode> reported_;  // Last logged failure. Empty if none.
  // A time, because a flag would need a running thread to clear it.
  // Monotonic clock, in ns.
  std::atomic<std::int64_t> may_act_until_{std::numeric_limits<std::int64_t>::min()};
};

}  // namespace kube
