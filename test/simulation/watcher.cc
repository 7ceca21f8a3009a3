#include "test/simulation/watcher.h"

#include <algorithm>
#include <utility>

namespace simulation {

namespace {

constexpr auto kBookmarkPeriod = std::chrono::seconds(60);  // As the API server sends them.

}  // namespace

std::optional<std::string> Watcher::NextFrame(Revision view) {
  if (late_) {
    if (clock_.StoreTime() < late_->due) return {};
    return std::exchange(late_, {})->text;
  }
  std::optional<std::string> frame =
      std::exchange(is_expired_, false) ? stream_->Expire() : stream_->Next(view);
  if (!frame && clock_.StoreTime() - last_frame_ >= kBookmarkPeriod)
    frame = stream_->Bookmark(view);
  const auto lag = frame && lag_ ? lag_() : std::chrono::microseconds(0);
  if (lag == std::chrono::microseconds(0)) return frame;
  late_ = {.text = *std::move(frame), .due = clock_.StoreTime() + lag};
  return {};
}

bool Watcher::MoveStream(Revision view) {
  if (const std::optional<std::string> frame = NextFrame(view)) {
    last_frame_ = clock_.StoreTime();
    if (!reflector_.OnStreamData(clock_.Now(), *frame)) stream_.reset();
    return true;
  }
  if (late_ || clock_.StoreTime() - opened_ < stream_->timeout()) return false;
  stream_.reset();
  reflector_.OnStreamEnd(clock_.Now(), {});
  return true;
}

bool Watcher::Step(Revision view) {
  if (stream_ && MoveStream(view)) return true;
  kube::Reflector::Next next = reflector_.Poll(clock_.Now());
  if (next.abandon) {
    stream_.reset();
    late_.reset();
  }
  until_ = next.until;
  switch (next.kind) {
    case kube::Reflector::Next::Kind::kWait:
      return false;
    case kube::Reflector::Next::Kind::kSend:
      // What a lagging server answers never reaches the truth, so nothing strikes it.
      reflector_.OnReply(clock_.Now(), view == kNewest
                                           ? serve_(next.request)
                                           : server_.Handle(client_, next.request, view));
      return true;
    case kube::Reflector::Next::Kind::kStream: {
      WatchStream stream = server_.OpenWatch(client_, next.request, view);
      opened_ = last_frame_ = clock_.StoreTime();
      if (stream.opening().status == 200) {
        stream_.emplace(std::move(stream));
        is_expired_ = false;
      } else {
        reflector_.OnReply(clock_.Now(), stream.opening());
      }
      return true;
    }
  }
  return true;
}

std::optional<Time> Watcher::NextDue() const {
  if (late_) return late_->due;
  if (stream_) return std::min(last_frame_ + kBookmarkPeriod, opened_ + stream_->timeout());
  return until_ ? std::optional(clock_.ToWall(*until_)) : std::nullopt;
}

}  // namespace simulation
