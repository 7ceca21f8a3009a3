// One watch: the events that a client asked for, handed out as far as the caller lets it see.
//
// For one thread. The history that it reads outlives it.
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
  // A watch that was refused: `refusal` is the whole reply.
  explicit WatchStream(http::Response refusal) : opening_(std::move(refusal)) {}
  // Hands out the changes of `kind` after `start`. `initial` are frames that come before them.
  WatchStream(const History& history, const KindInfo& kind, std::string ns, Selector selector,
              Revision start, std::deque<std::string> initial, std::chrono::seconds timeout);

  // 200, or the refusal with its body.
  [[nodiscard]] const http::Response& opening() const { return opening_; }
  [[nodiscard]] bool IsOpen() const { return opening_.status == 200 && !ended_; }
  // After which the server ends the stream by itself; the caller keeps the time.
  [[nodiscard]] std::chrono::seconds timeout() const { return timeout_; }
  // The client has been shown everything up to this.
  [[nodiscard]] Revision position() const { return position_; }

  // The next frame, newline included, that a server sends which knows the truth up to `view`;
  // nothing if there is none.
  [[nodiscard]] std::optional<std::string> Next(Revision view = kNewest);
  // A BOOKMARK: everything up to `view` has been sent. Nothing while that is not so.
  [[nodiscard]] std::optional<std::string> Bookmark(Revision view = kNewest);
  // An ERROR event with 410 Expired, after which there is nothing more.
  [[nodiscard]] std::string Expire();
  void Close() { ended_ = true; }
  // Of its next event half arrives, and nothing after it: the connection is cut.
  void Break() { breaks_ = true; }
  [[nodiscard]] bool IsCut() const { return breaks_ && ended_; }

 private:
  [[nodiscard]] std::optional<std::string> NextWhole(Revision view);
  [[nodiscard]] std::optional<std::string> FrameOf(const Change& change) const;
  [[nodiscard]] bool Selects(const Object& object) const;
  // Steps over changes that this watch does not show; the next one that it does, if `view` has it.
  [[nodiscard]] const Change* Peek(Revision view);

  http::Response opening_ = {};
  const History* history_ = nullptr;
  const KindInfo* kind_ = nullptr;
  std::string ns_;
  Selector selector_;
  std::size_t next_ = 0;  // In History::ChangesOf.
  Revision position_ = 0;
  std::deque<std::string> initial_;
  std::chrono::seconds timeout_{0};
  bool ended_ = false;
  bool breaks_ = false;
};

// {"type":...,"object":...} and a newline.
[[nodiscard]] std::string WatchFrame(std::string_view type, std::string_view object);

}  // namespace simulation
