#include "test/simulation/apiserver/watch_stream.h"

#include <algorithm>
#include <utility>

#include "test/simulation/apiserver/object_store.h"

namespace simulation {

std::string WatchFrame(std::string_view type, std::string_view object) {
  std::string frame = "{\"type\":\"";
  frame.reserve(frame.size() + type.size() + object.size() + 16);
  frame.append(type).append("\",\"object\":").append(object).append("}\n");
  return frame;
}

WatchStream::WatchStream(const History& history, const KindInfo& kind, std::string ns,
                         Selector selector, Revision start, std::deque<std::string> initial,
                         std::chrono::seconds timeout)
    : opening_{.status = 200},
      history_(&history),
      kind_(&kind),
      ns_(std::move(ns)),
      selector_(std::move(selector)),
      position_(start),
      initial_(std::move(initial)),
      timeout_(timeout) {
  const auto& places = history_->ChangesOf(kind_->kind);
  const auto it = std::ranges::upper_bound(
      places, start, {}, [&](std::size_t place) { return history_->changes()[place].revision(); });
  next_ = places.NumberOf(it);
}

bool WatchStream::Selects(const Object& object) const {
  return (ns_.empty() || object.key().ns == ns_) && selector_.Matches(object);
}

// An object that comes to match a selector is added to what the watcher sees, and one that no
// longer does is deleted from it, with its earlier content under the new version.
std::optional<std::string> WatchStream::FrameOf(const Change& change) const {
  const bool was = change.before && Selects(*change.before);
  const bool is = change.type != Change::Type::kDeleted && Selects(*change.after);
  if (is) return WatchFrame(was ? "MODIFIED" : "ADDED", change.after->text());
  if (!was) return std::nullopt;
  if (change.type == Change::Type::kDeleted) return WatchFrame("DELETED", change.after->text());
  json::Value last = change.before->value();
  last["metadata"]["resourceVersion"] = std::to_string(change.revision());
  return WatchFrame("DELETED", json::Serialize(last));
}

bool WatchStream::Shows(const Change& change) const {
  const bool was = change.before && Selects(*change.before);
  const bool is = change.type != Change::Type::kDeleted && Selects(*change.after);
  return was || is;
}

const Change* WatchStream::Peek(Revision view) {
  const auto& places = history_->ChangesOf(kind_->kind);
  for (; next_ < places.size(); ++next_) {
    const Change& change = history_->changes()[places[next_]];
    if (change.revision() > view) return nullptr;
    if (Shows(change)) return &change;
  }
  return nullptr;
}

bool WatchStream::IsBehind() const {
  const auto& places = history_->ChangesOf(kind_->kind);
  for (std::size_t i = next_; i < places.size(); ++i) {
    if (Shows(history_->changes()[places[i]])) return true;
  }
  return false;
}

std::optional<std::string> WatchStream::Next(Revision view) {
  if (!IsOpen()) return std::nullopt;
  std::optional<std::string> frame = NextWhole(view);
  if (frame && breaks_) {
    frame->resize(frame->size() / 2);
    ended_ = true;
  }
  return frame;
}

std::optional<std::string> WatchStream::NextWhole(Revision view) {
  if (!initial_.empty()) {
    std::string frame = std::move(initial_.front());
    initial_.pop_front();
    return frame;
  }
  const Change* change = Peek(view);
  if (change == nullptr) return std::nullopt;
  ++next_;
  position_ = change->revision();
  return FrameOf(*change);
}

std::optional<std::string> WatchStream::Bookmark(Revision view) {
  if (!IsOpen() || !initial_.empty() || Peek(view) != nullptr) return std::nullopt;
  position_ = std::max(position_, std::min(view, history_->revision()));
  const json::Value object = json::Value::Object(
      {{"kind", kind_->resource.kind},
       {"apiVersion", kind_->resource.ApiVersion()},
       {"metadata", json::Value::Object({{"resourceVersion", std::to_string(position_)},
                                         {"creationTimestamp", json::Value()}})}});
  return WatchFrame("BOOKMARK", json::Serialize(object));
}

std::string WatchStream::Expire() {
  ended_ = true;
  breaks_ = false;
  const Reply reply = Failed(410, "Expired", "too old resource version");
  return WatchFrame("ERROR", json::Serialize(reply.status));
}

}  // namespace simulation
