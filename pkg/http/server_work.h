#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "pkg/base/mutex.h"
#include "pkg/base/serial_executor.h"
#include "pkg/http/server.h"

namespace http {

// How many bytes the answers have that work made and that are not sent yet. Thread-safe.
class AnswerBytes {
 public:
  explicit AnswerBytes(std::size_t most) : most_(most) {}

  // False: there would be more than the bound.
  [[nodiscard]] bool TryTake(std::size_t bytes) {
    if (taken_.fetch_add(bytes) + bytes <= most_) return true;
    taken_ -= bytes;
    return false;
  }
  void GiveBack(std::size_t bytes) { taken_ -= bytes; }

 private:
  const std::size_t most_;
  std::atomic<std::size_t> taken_ = 0;
};

// An answer, which is counted for as long as it lives.
struct FreeCounted {
  AnswerBytes* bytes = nullptr;  // Null: it is not counted.
  void operator()(ServerReply* reply) const;
};
using HeldReply = std::unique_ptr<ServerReply, FreeCounted>;

// Does a server's work, one piece after the other, on a thread of its own.
class WorkThread {
 public:
  struct Made {
    std::uint64_t id = 0;
    HeldReply reply = {};  // Null: there was no room for it.
  };

  // `on_made` is called on the thread when there is something to take. `bytes` outlives this, and
  // all that was made. The destructor waits for the work that is done, and begins no other.
  WorkThread(AnswerBytes& bytes, std::function<void()> on_made);

  void Add(std::uint64_t id, ServerWork work);
  // Nobody waits for it any more: it is not begun. If it was, it will be among what was made.
  void Drop(std::uint64_t id);
  [[nodiscard]] std::vector<Made> TakeMade();

 private:
  [[nodiscard]] HeldReply Hold(ServerReply reply);

  AnswerBytes& bytes_;
  const std::function<void()> on_made_;
  base::Guarded<std::set<std::uint64_t>> waiting_;
  base::Guarded<std::vector<Made>> made_;
  base::SerialExecutor executor_;  // Last: it uses the others.
};

}  // namespace http
