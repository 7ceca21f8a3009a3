// An actor of the cluster other than the controller, as a step machine.
//
// Each step sees the newest state and makes at most one write. The caller of Step() decides the
// order of the actors and the delay of each. For one thread. Deterministic: a step depends only on
// the store, the time and the actor's own state.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "test/simulation/apiserver/object_store.h"

namespace simulation {

class Peer {
 public:
  // `store` must outlive the peer. `name` is the actor in the store's history. Its actions depend
  // only on objects of the kinds in `concerns`.
  Peer(std::string name, ObjectStore& store, std::vector<Kind> concerns)
      : name_(std::move(name)), store_(store), concerns_(std::move(concerns)) {}
  virtual ~Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  const std::string& name() const { return name_; }

  // Returns whether it wrote. After false there is nothing to do until a concerned kind changes,
  // the time passes due(), or Wake() is called. A call without work is cheap.
  bool Step(Time now) {
    const std::size_t before = Concerning();
    const bool is_due = due_ && *due_ <= now;
    if (quiet_at_ == before && !is_due) return false;
    if (lag_ && !hears_at_) hears_at_ = now + lag_();
    if (hears_at_ && now < *hears_at_) return false;
    due_.reset();
    const std::size_t written = store_.history().changes().size();
    Act(now);
    quiet_at_.reset();
    if (store_.history().changes().size() != written) return true;
    quiet_at_ = before;
    hears_at_.reset();
    return false;
  }
  // Returns when to call it although nothing changes, or when it hears of a change. Empty if never.
  std::optional<Time> due() const {
    return hears_at_ && (!due_ || *hears_at_ < *due_) ? hears_at_ : due_;
  }
  // Sets its delay for changes while it is idle. Called once for each change.
  void SetLag(std::function<std::chrono::microseconds()> lag) { lag_ = std::move(lag); }
  // Call it when something other than the store has changed.
  void Wake() { quiet_at_.reset(); }

 protected:
  // Makes at most one write.
  virtual void Act(Time now) = 0;

  void AskAgainAt(Time time) {
    if (!due_ || time < *due_) due_ = time;
  }
  ObjectStore& store() { return store_; }
  const ObjectStore& store() const { return store_; }

 private:
  // Returns the number of changes of concerned kinds.
  std::size_t Concerning() const {
    std::size_t changes = 0;
    for (const Kind kind : concerns_) changes += store_.history().ChangesOf(kind).size();
    return changes;
  }

  const std::string name_;
  ObjectStore& store_;
  const std::vector<Kind> concerns_;
  std::optional<std::size_t> quiet_at_ = {};  // Concerning() when there was nothing to do.
  std::optional<Time> due_ = {};
  std::function<std::chrono::microseconds()> lag_ = {};
  std::optional<Time> hears_at_ = {};
};

}  // namespace simulation
