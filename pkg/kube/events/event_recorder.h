// Records Kubernetes Events (events.k8s.io/v1) about objects.
//
// Best effort: an event may be lost, and no code waits for one. An event that repeats within six
// minutes becomes a series. Its first repeat is sent immediately, later ones in one patch every
// three minutes. Lost events are counted, and logged at most every ten minutes.
//
// Bounds: 1000 series; 25 new events of one object at once, then one every five minutes; 20
// requests a second. If Events are forbidden in a namespace, the recorder drops its events for one
// minute, and for longer after each refusal, up to one hour: a permission may be missing, or the
// namespace may be terminating. A failed event is retried alone. If two events fail in a row, the
// server counts as unavailable, and all events wait.
//
// A step function: Poll() returns what to send and when to call it again. For one thread.
// Source: client-go tools/events for series, tools/record for the bound of an object.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "pkg/base/backoff.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/random.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"
#include "pkg/kube/api/event.h"

namespace kube {

class EventRecorder {
 public:
  using TimePoint = base::Clock::TimePoint;

  struct Next {
    // Send it, then call OnReply(). Empty if there is none.
    std::optional<http::Request> request = {};
    TimePoint until = {};  // When to call Poll() again, if not after a Record().
  };
  struct Counts {
    std::uint64_t sent = 0;     // Requests that were accepted.
    std::uint64_t dropped = 0;  // Events that were lost.
  };

  // `controller` is a qualified name such as "example.com/controller", with at most 63 bytes after
  // the slash. `instance` names this process, and is cut after 128 bytes. The references outlive
  // the recorder.
  EventRecorder(std::string controller, const std::string& instance, const base::Clock& clock,
                base::Random& random, base::Logger& logger);

  void Record(Event event);

  // `until` is TimePoint::max() if no event waits.
  Next Poll();
  void OnReply(base::Result<http::Response> reply);

  const Counts& counts() const { return counts_; }

 private:
  // Identifies an event. The UID is not hashed, so that no event can pass for one of another
  // object.
  struct EventId {
    Uid regarding = {};
    std::size_t hash = 0;  // Of the whole event.
    friend auto operator<=>(const EventId&, const EventId&) = default;
  };
  static EventId IdOf(const Event& event);
  // An event in the API server, or one that will be sent.
  struct Series {
    // Null once the API server has all of it: there may be a thousand.
    std::unique_ptr<const Event> event = {};
    std::string name = {};
    base::Clock::WallTime began = {};
    base::Clock::WallTime last = {};
    TimePoint seen = {};     // Last Record().
    TimePoint due = {};      // Earliest time of the next request for it.
    std::int64_t count = 1;  // Number of Record() calls.
    // The count that the API server knows. 0 if it does not have the event.
    std::int64_t sent = 0;
    std::int64_t sending = 0;  // The count in the request in flight.
    int failures = 0;          // In a row.
  };
  // Token bucket for the new events of one object.
  struct Bucket {
    double tokens = 0;
    TimePoint at = {};
  };
  using AllSeries = std::map<EventId, Series>;

  bool TakeToken(const Uid& uid);
  bool MakeRoom();
  bool IsMuted(const std::string& ns);
  http::Request RequestFor(const Series& series) const;
  std::string NewName(const Event& event);
  void OnSent(Series& series);
  void OnError(AllSeries::iterator entry, const base::Error& error);
  void Mute(const std::string& ns, const base::Error& error);
  void Lose(std::uint64_t events, base::ErrorCode code, const std::string& why);

  const std::string controller_;
  const std::string instance_;
  const base::Clock& clock_;
  base::Random& random_;
  base::Logger& logger_;

  AllSeries series_;
  AllSeries::iterator under_way_ = series_.end();
  TimePoint not_before_ = TimePoint::min();  // Earliest time of the next request.
  std::string failed_;                       // Series whose request failed last. Empty if none.
  std::map<Uid, Bucket> buckets_;            // By object. A missing bucket is full.
  struct Muted {
    TimePoint until = {};
    base::Backoff backoff = {};
  };
  std::map<std::string, Muted> muted_;  // By namespace.
  Counts counts_;
  std::optional<base::ErrorCode> reported_;  // Last logged loss. Empty after a success.
  TimePoint next_report_ = TimePoint::min();
};

}  // namespace kube
