// An EventRecorder that threads share: many record, one sends.
//
// Thread-safe.
// Bound: 1000 events that wait for the sending thread. Further events are dropped.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/mutex.h"
#include "pkg/base/random.h"
#include "pkg/base/task_queue.h"
#include "pkg/http/transport.h"
#include "pkg/kube/events/event_recorder.h"

namespace kube {

class EventLoop {
 public:
  // Arguments as in EventRecorder. The thread in Run() uses `random`.
  EventLoop(std::string controller, const std::string& instance, const base::Clock& clock,
            base::Random& random, base::Logger& logger);

  // Does not block, except for a lock.
  void Record(std::vector<Event> events);

  // Sends events until `stop` is requested. Then sends the rest for at most two seconds, and waits
  // for the request in flight. Call it once, on its own thread.
  void Run(const std::stop_token& stop, http::Transport& transport);

  EventRecorder::Counts counts() const;

 private:
  using TimePoint = base::Clock::TimePoint;
  struct Inbox {
    std::vector<Event> events = {};
    std::uint64_t overflow = 0;
    EventRecorder::Counts counts = {};  // Copied from the recorder.
  };

  void TakeInbox();

  const base::Clock& clock_;
  EventRecorder recorder_;  // Used by the thread in Run().
  base::Guarded<Inbox> inbox_;
  base::TaskQueue wakes_;  // Wakes Run() when events arrive.
};

}  // namespace kube
