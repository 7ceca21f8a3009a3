// One watch: events, as far as the caller lets the client see.
//
// For one thread. Its history must outlive it.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <limits>
#include <optional>
#include <string>

#include "pkg/http/transport.h"
#include "test/simulation/apiserver/history.h"
#include "test/simulation/apiserver/selector.h"

namespace simulation {

inline constexpr Revision kNewest = std::numeric_limits<Revision>::max();

class WatchStream {
 public:
  // A refused watch. `refusal` is the whole reply.
  explicit WatchStream(http::Response refusal) : opening_(std::move(refusal)) {}
  // Returns the changes of `kind` after `start`. The frames of `initial` come first.
  WatchStream(const History& history, const KindInfo& kind, std::string ns, Selector selector,
              Revision start, std::deque<std::string> initial, std::chrono::seconds timeout);

  // Returns the reply: 200, or the refusal with its body.
  const http::Response& opening() const { return opening_; }
  bool IsOpen() const { return opening_.status == 200 && !ended_; }
  // Returns after what time the server ends the stream. The caller measures it.
  std::chrono::seconds timeout() const { return timeout_; }
  // Returns the revision up to which the client has seen everything.
  Revision position() const { return position_; }
  // Returns whether there are changes that the client has not seen.
  bool IsBehind() const;

  // Returns the next frame, with newline, from a server that knows the state up to `view`. Empty if
  // there is none.
  std::optional<std::string> Next(Revision view = kNewest);
  // Returns a BOOKMARK if everything up to `view` has been sent. Empty otherwise.
  std::optional<std::string> Bookmark(Revision view = kNewest);
  // Returns an ERROR event with 410 Expired, and ends the stream.
  std::string Expire();
  void Close() { ended_ = true; }
  // Cuts the connection in the middle of the next event.
  void Break() { breaks_ = true; }
  bool IsCut() const { return breaks_ && ended_; }

 private:
  std::optional<std::string> NextWhole(Revision view);
  std::optional<std::string> FrameOf(const Change& change) const;
  bool Selects(const Object& object) const;
  bool Shows(const Change& change) const;
  // Skips changes that this watch does not show. Returns the next change that it shows. Null if
  // `view` has none.
  const Change* Peek(Revision view);

  http::Response opening_ = {};
  const History* history_ = nullptr;
  const KindInfo* kind_ = nullptr;
  std::string ns_;
  Selector selector_;
  std::size_t next_ = 0;  // Index in History::ChangesOf.
  Revision position_ = 0;
  std::deque<std::string> initial_;
  std::chrono::seconds timeout_{0};
  bool ended_ = false;
  bool breaks_ = false;
};

// Returns {"type":...,"object":...} and a newline.
std::string WatchFrame(std::string_view type, std::string_view object);

}  // namespace simulation
