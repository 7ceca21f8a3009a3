// Tells people what happened, in events.k8s.io/v1 Events beside the objects that it happened to.
//
// Best effort: an event may be lost, and nothing waits for one. The same event again within six
// minutes is a series: its first repeat is sent at once, later ones in one patch every three
// minutes. What is lost is counted, and logged at a pace.
//
// Bounds: 1000 series; 25 new events of one object at once, and one every five minutes after that;
// 20 requests a second. Where Events are forbidden they are dropped, by namespace, for a minute at
// first and for up to an hour at last: it may be a missing right, or a namespace that is on its way
// out. One that fails is tried again on its own; when two fail one after the other the server is
// away, and all wait.
//
// A step function: Poll() says what to send and when to come back. Used by one thread.
// Source: client-go tools/events for series, tools/record for the bound of an object.
#pragma once

#include <cstdint>
#include <map>
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
    std::optional<http::Request> request = {};  // Send it and call OnReply; else
    TimePoint until = {};                       // Poll again then, or after a Record().
  };
  struct Counts {
    std::uint64_t sent = 0;     // Requests that were accepted.
    std::uint64_t dropped = 0;  // Events that nobody will see.
  };

  // All outlive the recorder. `controller` is a qualified name such as "example.com/controller",
  // with at most 63 bytes behind the slash; `instance` is this process, cut at 128 bytes.
  EventRecorder(std::string controller, const std::string& instance, const base::Clock& clock,
                base::Random& random, base::Logger& logger);

  void Record(Event event);

  // `until` is TimePoint::max() if there is nothing to tell.
  [[nodiscard]] Next Poll();
  void OnReply(base::Result<http::Response> reply);

  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  // An event as the API server has it, or will have it.
  struct Series {
    std::string name = {};
    base::Clock::WallTime began = {};
    base::Clock::WallTime last = {};
    TimePoint seen = {};       // The last time.
    TimePoint due = {};        // Not sent again before.
    std::int64_t count = 1;    // How often it was seen.
    std::int64_t sent = 0;     // How often as the API server knows; 0: it knows nothing of it.
    std::int64_t sending = 0;  // The count in the request under way.
    int failures = 0;          // In a row.
  };
  // How many new events an object may have.
  struct Bucket {
    double tokens = 0;
    TimePoint at = {};
  };
  using AllSeries = std::map<Event, Series>;

  [[nodiscard]] bool TakeToken(const Uid& uid);
  [[nodiscard]] bool MakeRoom();
  [[nodiscard]] bool IsMuted(const std::string& ns);
  [[nodiscard]] http::Request RequestFor(const Event& event, const Series& series) const;
  [[nodiscard]] std::string NewName(const Event& event);
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
  TimePoint not_before_ = TimePoint::min();  // The next request.
  std::string failed_;                       // The name of whose request failed last, or none.
  std::map<Uid, Bucket> buckets_;            // Those that are not full.
  struct Muted {
    TimePoint until = {};
    base::Backoff backoff = {};
  };
  std::map<std::string, Muted> muted_;  // Namespaces.
  Counts counts_;
  std::optional<base::ErrorCode> reported_;  // The loss that was logged last.
  TimePoint next_report_ = TimePoint::min();
};

}  // namespace kube
