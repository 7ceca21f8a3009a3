// An EventRecorder that threads share: some record, one sends what there is to tell.
//
// Thread-safe. Bound: 1000 events that the sending thread has not looked at yet; more are dropped.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/log.h"
#include "pkg/base/mutex.h"
#include "pkg/base/random.h"
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

  void TakeInbox();
  void Wait(TimePoint until, const std::stop_token& stop, bool is_stopping);

  const base::Clock& clock_;
  EventRecorder recorder_;  // Used by the thread in Run().
  mutable base::Mutex mutex_;
  std::condition_variable_any changed_cv_;
  std::vector<Event> inbox_ GUARDED_BY(mutex_);
  std::uint64_t overflow_ GUARDED_BY(mutex_) = 0;
  EventRecorder::Counts counts_ GUARDED_BY(mutex_);  // Of the recorder.
};

}  // namespace kube
