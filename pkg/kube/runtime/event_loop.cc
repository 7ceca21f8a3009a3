#include "pkg/kube/runtime/event_loop.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace kube {

namespace {

using base::MutexLock;

constexpr std::size_t kInboxMax = 1000;
constexpr std::chrono::seconds kFlush{2};

}  // namespace

EventLoop::EventLoop(std::string controller, const std::string& instance, const base::Clock& clock,
                     base::Random& random, base::Logger& logger)
    : clock_(clock), recorder_(std::move(controller), instance, clock, random, logger) {}

void EventLoop::Record(std::vector<Event> events) {
  if (events.empty()) return;
  const MutexLock lock(mutex_);
  for (Event& event : events) {
    if (inbox_.size() < kInboxMax) {
      inbox_.push_back(std::move(event));
    } else {
      ++overflow_;
    }
  }
  changed_cv_.notify_all();
}

void EventLoop::TakeInbox() {
  std::vector<Event> events;
  {
    const MutexLock lock(mutex_);
    events.swap(inbox_);
  }
  for (Event& event : events) recorder_.Record(std::move(event));
  const MutexLock lock(mutex_);
  counts_ = recorder_.counts();
}

// Returns early when there is something new, which may be that `stop` was requested.
void EventLoop::Wait(TimePoint until, const std::stop_token& stop, bool is_stopping) {
  const MutexLock lock(mutex_);
  if (!inbox_.empty() || stop.stop_requested() != is_stopping) return;
  if (until == TimePoint::max()) {
    changed_cv_.wait(mutex_);
  } else {
    changed_cv_.wait_for(mutex_, until - clock_.Now());
  }
}

void EventLoop::Run(const std::stop_token& stop, http::Transport& transport) {
  const std::stop_callback wake(stop, [this] {
    const MutexLock lock(mutex_);
    changed_cv_.notify_all();
  });
  std::optional<TimePoint> end;
  while (true) {
    if (stop.stop_requested() && !end) end = clock_.Now() + kFlush;
    if (end && clock_.Now() >= *end) return;
    TakeInbox();
    EventRecorder::Next next = recorder_.Poll();
    if (next.request) {
      recorder_.OnReply(transport.Send(*next.request));
      continue;
    }
    if (end && next.until >= *end) return;
    Wait(next.until, stop, end.has_value());
  }
}

EventRecorder::Counts EventLoop::counts() const {
  const MutexLock lock(mutex_);
  return {.sent = counts_.sent, .dropped = counts_.dropped + overflow_};
}

}  // namespace kube
