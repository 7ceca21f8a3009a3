#include "pkg/kube/runtime/event_loop.h"

#include <chrono>
#include <optional>
#include <utility>

namespace kube {

constexpr std::size_t kInboxMax = 1000;
constexpr std::chrono::seconds kFlush{2};
constexpr std::chrono::nanoseconds kWaitMost = std::chrono::hours(1);  // If nothing is due.

EventLoop::EventLoop(std::string controller, const std::string& instance, const base::Clock& clock,
                     base::Random& random, base::Logger& logger)
    : clock_(clock), recorder_(std::move(controller), instance, clock, random, logger) {}

void EventLoop::Record(std::vector<Event> events) {
  if (events.empty()) return;
  inbox_.With([&](Inbox& inbox) {
    for (Event& event : events) {
      if (inbox.events.size() < kInboxMax) {
        inbox.events.push_back(std::move(event));
      } else {
        ++inbox.overflow;
      }
    }
  });
  wakes_.Wake();
}

void EventLoop::TakeInbox() {
  std::vector<Event> events =
      inbox_.With([](Inbox& inbox) { return std::exchange(inbox.events, {}); });
  for (Event& event : events) recorder_.Record(std::move(event));
  inbox_.With([&](Inbox& inbox) { inbox.counts = recorder_.counts(); });
}

void EventLoop::Run(const std::stop_token& stop, http::Transport& transport) {
  const std::stop_callback wake(stop, [this] { wakes_.Wake(); });
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
    const bool is_due = next.until < clock_.Now() + kWaitMost;
    static_cast<void>(wakes_.Wait(is_due ? next.until - clock_.Now() : kWaitMost));
  }
}

EventRecorder::Counts EventLoop::counts() const {
  return inbox_.With([](const Inbox& inbox) {
    return EventRecorder::Counts{.sent = inbox.counts.sent,
                                 .dropped = inbox.counts.dropped + inbox.overflow};
  });
}

}  // namespace kube
