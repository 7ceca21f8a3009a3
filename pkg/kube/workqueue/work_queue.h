// Keys that wait for a worker, shared fairly among flows.
//
// The queue keeps a key once, however often it is added, and never gives it to two workers. A key
// that is added while a worker holds it is returned again after Done(). So a change that arrives
// during a reconcile is not lost. Delayed keys wait in a separate heap; if a key has two times, the
// earlier wins.
//
// Fairness: each key has a flow, such as the namespace of its object, and a priority. Normal keys
// go before low ones, but while both wait, every fourth key is a low one. Within a priority, the
// flow that was served least recently goes first; within a flow, the key that was added first. A
// limit can keep one flow from holding all workers.
//
// A value without threads or clocks, for one thread. runtime/blocking_queue.h adds a lock and a
// condition variable.
// Bounds: one entry for each key that waits, is held or rests, and 1000 flows without keys. A call
// costs the logarithm of that.
// Source: client-go, package workqueue, queue.go and delaying_queue.go. The priorities are those of
// controller-runtime's priority queue, the flows those of API Priority and Fairness.
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

  // kLow is for keys that can wait, such as a resync of all objects or a retry.
  enum class Priority { kNormal, kLow };
  // If a key is added several times, the higher priority counts.
  struct AddOptions {
    // Empty for the flow that the key already has, or the unnamed flow.
    std::string flow = {};
    Priority priority = Priority::kNormal;
  };

  // `held_by_flow_max` limits the keys of one flow that workers hold at the same time.
  explicit WorkQueue(int held_by_flow_max = std::numeric_limits<int>::max())
      : held_by_flow_max_(held_by_flow_max) {}

  // Makes `key` ready now, and cancels its delay.
  void Add(const std::string& key, TimePoint now, const AddOptions& options);
  void Add(const std::string& key, TimePoint now) { Add(key, now, {}); }
  // Makes `key` ready at `when`, unless it is ready earlier.
  void AddAt(const std::string& key, TimePoint when, TimePoint now, const AddOptions& options);
  void AddAt(const std::string& key, TimePoint when, TimePoint now) { AddAt(key, when, now, {}); }

  // Returns the next key that is due. Empty if none is. Call Done() on every key.
  std::optional<std::string> Get(TimePoint now);
  struct Ended {
    // Adds the key again after this time. Empty if only Add() brings it back.
    std::optional<std::chrono::nanoseconds> again_after = {};
    Priority priority = Priority::kNormal;  // Of that retry.
    bool failed = false;                    // Whether to count a retry.
    // Minimum time before Get() returns the key again, even if it is added.
    std::chrono::nanoseconds rest{0};
  };
  void Done(const std::string& key, TimePoint now, const Ended& ended);
  void Done(const std::string& key, TimePoint now) { Done(key, now, {}); }

  // Returns when the next delayed or resting key is due. Empty if none waits.
  std::optional<TimePoint> NextDue() const;
  // For metrics. `adds` counts a key once between Add() and Get().
  struct Stats {
    std::size_t depth = 0;
    std::size_t in_progress = 0;
    std::uint64_t adds = 0;
    std::uint64_t retries = 0;  // Calls of Done() with `failed`.
    // Sum over all held keys of the time since Get().
    std::chrono::nanoseconds unfinished{0};
    std::chrono::nanoseconds longest_held{0};
  };
  Stats StatsAt(TimePoint now) const;
  // Returns how long a held key was ready before Get(). REQUIRES: `key` is held.
  std::chrono::nanoseconds Waited(const std::string& key) const {
    return keys_.at(key).held.value().waited;
  }
  // The number of keys that are ready and not held.
  std::size_t depth() const { return depth_; }

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
    Priority priority = Priority::kLow;  // Highest priority of its adds since the last Get().
    // When it was added or its delay ended. Empty if neither happened since Get().
    std::optional<TimePoint> dirty = {};
    std::optional<TimePoint> due = {};  // When its delay ends. Empty if it has none or is dirty.
    std::uint64_t place = 0;            // Its number among the ready keys. 0 if it is not ready.
    std::optional<TimePoint> rests_until = {};
    std::optional<Held> held = {};
  };
  // The ready keys of each priority, sorted by `Key::place`.
  using Ready = std::array<std::map<std::uint64_t, std::string>, kPriorities>;
  // `Flow::served`, the flow's first place, and its name. The smallest turn goes first.
  using Turn = std::tuple<std::uint64_t, std::uint64_t, std::string>;
  struct Flow {
    Ready ready = {};
    // Number of the last Get() that served it. 0 if unknown.
    std::uint64_t served = 0;
    int held = 0;
    // Its entries in `turns_`. Empty if it has none.
    std::array<std::optional<Turn>, kPriorities> turns = {};
  };

  void MakeDirty(const std::string& name, Key& key, TimePoint since);
  void MakeReady(const std::string& name, Key& key);  // Waits if the key is held or rests.
  void MakeUnready(Key& key);
  void StopWaiting(const std::string& name, Key& key);
  void Want(Key& key, const AddOptions& options);
  void MoveDue(TimePoint now);
  void ForgetIfUnknown(const std::string& name);
  // Updates the flow's turns after a change, or moves it to the idle flows, or forgets an idle
  // flow.
  void Place(const std::string& name);
  std::optional<Priority> NextPriority();

  const int held_by_flow_max_;
  std::map<std::string, Key> keys_;
  // Delayed keys, and keys that are dirty and rest.
  std::set<std::pair<TimePoint, std::string>> by_due_;
  std::set<std::pair<TimePoint, std::string>> by_rest_;
  std::map<std::string, Flow> flows_;
  std::array<std::set<Turn>, kPriorities> turns_;
  // Sorted by `Flow::served`. The first is forgotten first; a forgotten flow counts as never
  // served, so it goes first when it returns.
  std::set<std::pair<std::uint64_t, std::string>> idle_flows_;
  std::size_t depth_ = 0;
  std::size_t in_progress_ = 0;
  std::uint64_t last_place_ = 0;
  std::uint64_t handed_out_ = 0;
  int normal_in_a_row_ = 0;  // Normal keys in a row while a low key waited.
  std::uint64_t adds_ = 0;
  std::uint64_t retries_ = 0;
};

}  // namespace kube
