#include "test/simulation/cluster/watcher.h"

#include <algorithm>
#include <utility>

namespace simulation {

namespace {

constexpr auto kBookmarkPeriod = std::chrono::seconds(60);  // As the API server sends them.
constexpr auto kSilentFor = std::chrono::seconds(60);       // As a load balancer cuts what is idle.

}  // namespace

Time Watcher::EndOfStream() const {
  const auto timeout = stream_->timeout();
  return opened_ + (IsSilent() ? std::min<std::chrono::seconds>(timeout, kSilentFor) : timeout);
}

std::optional<std::string> Watcher::NextFrame(Revision view) {
  if (late_) {
    if (clock_.StoreTime() < late_->due) return {};
    return std::exchange(late_, {})->text;
  }
  if (IsSilent() && !is_expired_) return {};
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
    const bool is_cut = stream_->IsCut();
    if (!reflector_.OnStreamData(clock_.Now(), *frame)) {
      stream_.reset();
    } else if (is_cut) {
      stream_.reset();
      reflector_.OnStreamEnd(clock_.Now(),
                             base::Fail(base::ErrorCode::kUnavailable, "connection reset by peer"));
    }
    return true;
  }
  if (late_ || clock_.StoreTime() < EndOfStream()) return false;
  if (believes_silence_ && IsSilent()) {
    (void)reflector_.OnStreamData(
        clock_.Now(), R"({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": ")" +
                          std::to_string(stream_->position()) + R"("}}})" + "\n");
  }
  stream_.reset();
  reflector_.OnStreamEnd(clock_.Now(), {});
  return true;
}

void Watcher::Open(const http::Request& request, Revision view) {
  // As with other requests, no fault happens at the reply of a lagging server.
  base::Result<WatchStream> stream =
      view == kNewest && open_ ? open_(request) : server_.OpenWatch(client_, request, view);
  opened_ = last_frame_ = clock_.StoreTime();
  if (!stream) {
    reflector_.OnReply(clock_.Now(), tl::unexpected(stream.error()));
  } else if (stream->opening().status != 200) {
    reflector_.OnReply(clock_.Now(), stream->opening());
  } else {
    stream_.emplace(*std::move(stream));
    is_expired_ = false;
    // As of libcurl's, which hands on that the 200 has arrived.
    if (!reflector_.OnStreamData(clock_.Now(), {})) stream_.reset();
  }
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
      view = std::min(view, std::exchange(old_list_, {}).value_or(view));
      // The reply of a lagging server shows no new state, so no fault happens at it.
      reflector_.OnReply(clock_.Now(), view == kNewest
                                           ? serve_(next.request)
                                           : server_.Handle(client_, next.request, view));
      return true;
    case kube::Reflector::Next::Kind::kStream:
      Open(next.request, view);
      return true;
  }
  return true;
}

std::optional<Time> Watcher::NextDue() const {
  if (late_) return late_->due;
  if (stream_ && IsSilent()) {
    const Time end = EndOfStream();
    return until_ ? std::min(end, clock_.ToWall(*until_)) : end;
  }
  if (stream_) return std::min(last_frame_ + kBookmarkPeriod, EndOfStream());
  return until_ ? std::optional(clock_.ToWall(*until_)) : std::nullopt;
}

}  // namespace simulation
