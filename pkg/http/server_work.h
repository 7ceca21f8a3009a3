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

// An answer. Those of a WorkThread are counted for as long as they live.
using HeldReply = std::shared_ptr<const ServerReply>;

// Does a server's work, one piece after the other, on a thread of its own.
class WorkThread {
 public:
  struct Made {
    std::uint64_t id = 0;
    HeldReply reply = {};  // Null: there was no room for it.
  };

  // `on_made` is called on the thread when there is something to take. All answers that live have
  // `bytes_max` together; they end before this. The destructor waits for the work that is done, and
  // begins no other.
  WorkThread(std::size_t bytes_max, std::function<void()> on_made);

  void Add(std::uint64_t id, ServerWork work);
  // Nobody waits for it any more: it is not begun. If it was, it will be among what was made.
  void Drop(std::uint64_t id);
  [[nodiscard]] std::vector<Made> TakeMade();

 private:
  [[nodiscard]] HeldReply Hold(ServerReply reply);

  const std::size_t bytes_max_;
  std::atomic<std::size_t> bytes_ = 0;  // Of the answers that live.
  const std::function<void()> on_made_;
  base::Guarded<std::set<std::uint64_t>> waiting_;
  base::Guarded<std::vector<Made>> made_;
  base::SerialExecutor executor_;  // Last: it uses the others.
};

}  // namespace http
