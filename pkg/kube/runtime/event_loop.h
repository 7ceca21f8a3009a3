// An EventRecorder that threads share: some record, one sends what there is to tell.
//
// Thread-safe. Bound: 1000 events that the sending thread has not looked at yet; more are dropped.
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
  // As EventRecorder's. `random` is used by the thread in Run().
  EventLoop(std::string controller, const std::string& instance, const base::Clock& clock,
            base::Random& random, base::Logger& logger);

  // Waits for nothing but a lock.
  void Record(std::vector<Event> events);

  // Blocks until `stop` is requested, and then for two seconds at most to tell what is left, and
  // for the request under way. Once only, on a thread of its own.
  void Run(const std::stop_token& stop, http::Transport& transport);

  [[nodiscard]] EventRecorder::Counts counts() const;

 private:
  using TimePoint = base::Clock::TimePoint;
  struct Inbox {
    std::vector<Event> events = {};
    std::uint64_t overflow = 0;
    EventRecorder::Counts counts = {};  // Of the recorder.
  };

  void TakeInbox();

  const base::Clock& clock_;
  EventRecorder recorder_;  // Used by the thread in Run().
  base::Guarded<Inbox> inbox_;
  base::TaskQueue wakes_;  // Tells Run() that there is something new.
};

}  // namespace kube
