// Keys that wait for a worker, handed out so that no flow and no mass of work delays the others.
//
// A key is kept once however often it is added, and is never held by two workers: one added while a
// worker holds it is handed out again after Done(), so a change that arrives mid-reconcile is not
// lost. Delayed keys wait in a heap of their own, where the earlier time wins.
//
// Fairness. Each key belongs to a flow, such as the namespace of its object, and is wanted with a
// priority. Normal keys go before low ones, but every fourth key is a low one while both wait.
// Within a priority the flow goes first that was served least recently; within a flow, the key that
// was added first. A flow may be kept from holding all workers.
//
// A value without threads or clocks, for one thread; runtime/blocking_queue.h puts a lock and a
// condition variable around it. Bounds: one entry for each key that waits, is held or rests; 1000
// flows that have none. A call costs the logarithm of those.
// Source: client-go, package workqueue, queue.go and delaying_queue.go; the two priorities are
// those of controller-runtime's priority queue, and flows those of API Priority and Fairness.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "pkg/base/clock.h"

namespace kube {

class WorkQueue {
 public:
  using TimePoint = base::Clock::TimePoint;

  // kLow: what may wait, such as a resync of all objects or a retry.
  enum class Priority { kNormal, kLow };
  // Of a key that is wanted several times, the higher priority counts.
  struct AddOptions {
    std::string flow = {};  // Empty: the one that the key is known by, or else one of its own kind.
    Priority priority = Priority::kNormal;
  };

  // `held_by_flow_max`: how many keys of one flow workers hold at once, at the most.
  explicit WorkQueue(int held_by_flow_max = std::numeric_limits<int>::max())
      : held_by_flow_max_(held_by_flow_max) {}

  // Hands `key` out as soon as may be; a delay that it still had is over.
  void Add(const std::string& key, TimePoint now, const AddOptions& options);
  void Add(const std::string& key, TimePoint now) { Add(key, now, {}); }
  // Hands `key` out at `when`, unless it is to be handed out earlier than that already.
  void AddAt(const std::string& key, TimePoint when, TimePoint now, const AddOptions& options);
  void AddAt(const std::string& key, TimePoint when, TimePoint now) { AddAt(key, when, now, {}); }

  // The next key that is due, if any. Call Done() on every key you get.
  std::optional<std::string> Get(TimePoint now);
  struct Ended {
    std::optional<std::chrono::nanoseconds> again_after = {};  // Empty: only when it is added.
    Priority priority = Priority::kNormal;                     // With which it is wanted then.
    bool failed = false;                                       // It counts as a retry then.
    std::chrono::nanoseconds rest{0};  // It is not handed out for so long, whatever happens.
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
    return keys_.at(key).held.value().waited;
  }
  // Keys that are due and not held.
  [[nodiscard]] std::size_t depth() const { return depth_; }

 private:
  static constexpr std::size_t kPriorities = 2;
  static constexpr int kNormalInARowMax = 3;
  static constexpr std::size_t kIdleFlowsMax = 1000;

  struct Held {
    std::string flow = {};
    TimePoint since = {};
    std::chrono::nanoseconds waited{0};
  };
  struct Key {
    std::string flow = {};
    Priority priority = Priority::kLow;   // With which it is dirty or due.
    std::optional<TimePoint> dirty = {};  // Ready, or to be after Done(); since when.
    std::optional<TimePoint> due = {};    // Delayed until then. Empty if it is dirty.
    std::uint64_t place = 0;              // Among the keys that are ready. 0: it is not.
    std::optional<TimePoint> rests_until = {};
    std::optional<Held> held = {};
  };
  // The keys of each priority that are ready, in order of their places.
  using Ready = std::array<std::map<std::uint64_t, std::string>, kPriorities>;
  // When a flow was served last, its first place, its name. Turns are taken in this order.
  using Turn = std::tuple<std::uint64_t, std::uint64_t, std::string>;
  struct Flow {
    Ready ready = {};
    std::uint64_t served = 0;  // Number of the hand-out. 0: none that is known.
    int held = 0;
    std::array<std::optional<Turn>, kPriorities> turns = {};  // As they are in `turns_`.
  };

  void MakeDirty(const std::string& name, Key& key, TimePoint since);
  void MakeReady(const std::string& name, Key& key);  // Unless it is held or rests.
  void MakeUnready(Key& key);
  void StopWaiting(const std::string& name, Key& key);
  void Want(Key& key, const AddOptions& options);
  void MoveDue(TimePoint now);
  void ForgetIfUnknown(const std::string& name);
  // Puts the flow where it belongs after a change: into turns, among the idle, or nowhere.
  void Place(const std::string& name);
  [[nodiscard]] std::optional<Priority> NextPriority();

  const int held_by_flow_max_;
  std::map<std::string, Key> keys_;
  std::set<std::pair<TimePoint, std::string>> by_due_;  // What is delayed, or dirty and rests.
  std::set<std::pair<TimePoint, std::string>> by_rest_;
  std::map<std::string, Flow> flows_;
  std::array<std::set<Turn>, kPriorities> turns_;
  // By when they were served last. The first are forgotten first: unknown flows go first as well.
  std::set<std::pair<std::uint64_t, std::string>> idle_flows_;
  std::size_t depth_ = 0;
  std::size_t in_progress_ = 0;
  std::uint64_t last_place_ = 0;
  std::uint64_t handed_out_ = 0;
  int normal_in_a_row_ = 0;  // While a low one waited.
  std::uint64_t adds_ = 0;
  std::uint64_t retries_ = 0;
};

}  // namespace kube
