// Lets one replica act at a time, by holding a coordination.k8s.io Lease.
//
// Promised: IsLeader() turns false at the latest `renew_deadline` after the last accepted renewal
// was *sent*, even if the API server, the network or the renewing thread hangs. Another replica
// waits `lease_duration` after it saw that renewal, which is later; so terms do not overlap while
// clocks run at the same rate. Readings of two clocks are never compared.
//
// That holds for a Lease that only electors write. A person who deletes it, empties it or names
// another holder ends our term as soon as we see it, which is within `retry_period` or two.
//
// Not promised: fencing. A request sent just before a term ended may be applied just after the next
// one began. Every write therefore carries a resourceVersion or UID precondition, and no plan may
// rely on being alone.
//
// A step function: Poll() says what to send and when to come back. IsLeader(), TermEnded() and
// term_began() are thread-safe; the rest is used by one thread. Bound: one request in flight, none
// longer than `retry_period`. Source: client-go tools/leaderelection for the timing; counting from
// the time of sending is ours.
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
  std::chrono::milliseconds lease_duration{
      15'000};  // Others wait this long after a renewal they saw.
  std::chrono::milliseconds renew_deadline{10'000};  // We act this long after a renewal we sent.
  // Between attempts. Up to 20 % at random come on top for a leader, and off for a standby: so it
  // sees every renewal within the period, and may take over `lease_duration` after that.
  std::chrono::milliseconds retry_period{2'000};
};

// kInvalid, naming the flags and the fix, unless 1.2 * retry_period < renew_deadline <
// lease_duration and lease_duration is at least one second.
[[nodiscard]] base::Result<void> Validate(const LeaseTiming& timing);

class LeaderElector {
 public:
  struct Next {
    std::optional<http::Request> request = {};  // Send it and call OnReply; else
    base::Clock::TimePoint until = {};          // Poll again then.
  };

  // All outlive the elector. `identity` is unique to this process: a restarted pod is somebody
  // else. REQUIRES: Validate(timing) succeeded.
  LeaderElector(ObjectKey lease, std::string identity, LeaseTiming timing, const base::Clock& clock,
                base::Random& random, base::Logger& logger);

  [[nodiscard]] Next Poll();
  void OnReply(const base::Result<http::Response>& reply);

  // True while a write may be sent. Reads the clock and nothing else, so ask before every write.
  [[nodiscard]] bool IsLeader() const;
  // Whether a term of ours began and is over: the process must end, so that no state of it
  // survives.
  [[nodiscard]] bool TermEnded() const { return term_began_ && !IsLeader(); }
  [[nodiscard]] bool term_began() const { return term_began_; }

  // Ends the term now, and gives the request that hands the Lease over without the wait, if we hold
  // it. Send it once the last write has returned; if it fails the Lease runs out by itself. Nothing
  // else is sent from then on.
  [[nodiscard]] std::optional<http::Request> Release();

 private:
  using TimePoint = base::Clock::TimePoint;
  enum class Request { kRead, kCreate, kUpdate };

  // What a Lease says. `holder` is empty when nobody holds it, and when there is no Lease.
  struct Record {
    std::string uid = {};
    std::string holder = {};
    std::string acquire_time = {};
    std::string renew_time = {};
    std::int64_t duration_seconds = 0;
    std::int64_t transitions = 0;
    friend bool operator==(const Record&, const Record&) = default;
  };

  [[nodiscard]] http::Request Start(TimePoint now);
  void OnRead(const base::Result<http::Response>& reply);
  void OnWritten(const http::Response& reply);
  void OnWriteError(const base::Error& error);
  // Takes note of the Lease in a reply: its record, and when that was first seen.
  [[nodiscard]] base::Result<void> Observe(const http::Response& reply);
  void Forget();  // There is no Lease.
  void Decide();  // What to do next, after a look at the Lease.
  void SendAtOnce(Request request);
  void Extend();
  void LoseTerm();
  void ReportFailure(Request request, const base::Error& error);
  void ReportSuccess();

  [[nodiscard]] bool OthersMayAct() const;
  [[nodiscard]] std::chrono::nanoseconds OthersDuration() const;
  [[nodiscard]] std::chrono::nanoseconds Period();
  [[nodiscard]] json::Value Written(const Record& record) const;
  [[nodiscard]] Record Ours() const;

  const ObjectKey lease_;
  const std::string identity_;
  const LeaseTiming timing_;
  const base::Clock& clock_;
  base::Random& random_;
  base::Logger& logger_;

  Request next_ = Request::kRead;
  bool under_way_ = false;
  bool at_once_ = false;  // The next request follows from the last reply, and waits for nothing.
  int at_once_count_ = 0;
  TimePoint next_attempt_ = TimePoint::min();
  TimePoint sent_at_ = {};

  // The Lease as it was last read or written, whole: what others wrote into it survives our writes.
  // Null if there was none.
  json::Value object_;
  Record record_;
  TimePoint record_seen_ = TimePoint::min();  // When it was seen for the first time as it is.

  std::atomic<bool> term_began_ = false;
  bool released_ = false;
  bool end_logged_ = false;
  std::optional<base::ErrorCode> reported_;  // The failure that was logged last.
  // A time and not a flag: a flag would need a live thread to clear it.
  std::atomic<std::int64_t> may_act_until_{
      std::numeric_limits<std::int64_t>::min()};  // Of the monotonic clock, in ns.
};

}  // namespace kube
