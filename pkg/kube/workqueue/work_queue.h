// Keys waiting for a worker. A key is kept once however often it is added, and is never held by two
// workers: one added while a worker holds it is handed out again after Done(), so a change that
// arrives mid-reconcile is not lost. Delayed keys wait in a heap of their own, where the earlier
// time wins.
//
// A value without threads or clocks, for one thread; runtime/blocking_queue.h puts a lock and a
// condition variable around it. Bound: one entry for each key.
// Source: client-go, package workqueue, queue.go and delaying_queue.go.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "pkg/base/backoff.h"
#include "pkg/base/clock.h"
#include "pkg/base/random.h"

namespace kube {

class WorkQueue {
 public:
  using TimePoint = base::Clock::TimePoint;

  // For keys that fail.
  static constexpr base::BackoffPolicy kBackoff = {
      .first = std::chrono::milliseconds(5), .most = std::chrono::seconds(30), .jitter = 0.2};

  explicit WorkQueue(base::Random& random, const base::BackoffPolicy& backoff = kBackoff)
      : random_(random), backoff_(backoff) {}

  // Hands `key` out as soon as may be; a delay that it still had is over.
  void Add(const std::string& key, TimePoint now);
  // Hands `key` out at `when`, unless it is to be handed out earlier than that already.
  void AddAt(const std::string& key, TimePoint when, TimePoint now);
  // After a failure: later with each one in a row. `at_least` is what a server asked for; with the
  // jitter on top it is never less.
  void AddAfterFailure(const std::string& key, TimePoint now, std::chrono::seconds at_least = {});
  // The key did well: its failures are forgotten.
  void Forget(const std::string& key) { failures_.erase(key); }

  // The next key that is due, if any. Call Done() on every key you get.
  std::optional<std::string> Get(TimePoint now);
  struct Ended {
    std::optional<std::chrono::nanoseconds> again_after = {};  // Empty: only when it is added.
    bool failed = false;                                       // It counts as a retry then.
  };
  void Done(const std::string& key, TimePoint now, const Ended& ended);
  void Done(const std::string& key, TimePoint now) { Done(key, now, {}); }

  // When the next delayed key is due; nothing if none waits.
  [[nodiscard]] std::optional<TimePoint> NextDue() const;
  // For metrics. `adds` counts a key once from when it was added until it is handed out.
  struct Stats {
    std::size_t depth = 0;
    std::size_t in_progress = 0;
    std::uint64_t adds = 0;
    std::uint64_t retries = 0;               // After a failure.
    std::chrono::nanoseconds unfinished{0};  // Since they were handed out, over all that are held.
    std::chrono::nanoseconds longest_held{0};
  };
  [[nodiscard]] Stats StatsAt(TimePoint now) const;
  // How long a key that is held had been ready.
  [[nodiscard]] std::chrono::nanoseconds Waited(const std::string& key) const {
    return in_progress_.at(key).waited;
  }
  [[nodiscard]] std::size_t depth() const { return ready_.size(); }

 private:
  struct Held {
    TimePoint since = {};
    std::chrono::nanoseconds waited{0};
  };

  void MakeReady(const std::string& key, TimePoint now);
  void StopWaiting(const std::string& key);
  void MoveDue(TimePoint now);

  base::Random& random_;
  const base::BackoffPolicy backoff_;
  std::deque<std::string> ready_;
  std::map<std::string, TimePoint> dirty_;   // Waits in `ready_`, or for Done(); since when.
  std::map<std::string, Held> in_progress_;  // Held by a worker until Done().
  std::map<std::string, TimePoint> waiting_;
  std::set<std::pair<TimePoint, std::string>> by_time_;  // The same, in order of time.
  std::map<std::string, base::Backoff> failures_;        // Since the last Forget().
  std::uint64_t adds_ = 0;
  std::uint64_t retries_ = 0;
};

}  // namespace kube
