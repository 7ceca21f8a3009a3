// Another actor of the cluster, as a step machine: each step looks at the truth and makes at most
// one write. Whoever calls Step() decides in which order the actors move and how far each lags
// behind.
//
// For one thread. Deterministic: a step depends on the store, the time and the actor's own state
// alone. Leases are the controllers' own business, and no peer looks at them.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "test/simulation/object_store.h"

namespace simulation {

class Peer {
 public:
  // `store` outlives the peer. `name` is whom the store's history names as the actor.
  Peer(std::string name, ObjectStore& store) : name_(std::move(name)), store_(store) {}
  virtual ~Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

  // Whether it wrote something. After a false there is nothing to do until the store changes, the
  // time passes due(), or somebody wakes it; asking again is cheap.
  bool Step(Time now) {
    const std::size_t before = Changes();
    const bool is_due = due_ && *due_ <= now;
    if (quiet_at_ == before && !is_due) return false;
    due_.reset();
    Act(now);
    quiet_at_.reset();
    if (Changes() != before) return true;
    quiet_at_ = before;
    return false;
  }
  // When it wants to be asked again although nothing has changed.
  [[nodiscard]] std::optional<Time> due() const { return due_; }
  // Something other than the store changed.
  void Wake() { quiet_at_.reset(); }

 protected:
  // Makes at most one write.
  virtual void Act(Time now) = 0;

  void AskAgainAt(Time time) {
    if (!due_ || time < *due_) due_ = time;
  }
  [[nodiscard]] ObjectStore& store() { return store_; }
  [[nodiscard]] const ObjectStore& store() const { return store_; }

 private:
  // Of anything that concerns a peer: not of Leases, which are renewed while all else is quiet.
  [[nodiscard]] std::size_t Changes() const {
    const History& history = store_.history();
    return history.changes().size() - history.ChangesOf(Kind::kLease).size();
  }

  const std::string name_;
  ObjectStore& store_;
  std::optional<std::size_t> quiet_at_ = {};  // Changes() when there was nothing to do.
  std::optional<Time> due_ = {};
};

}  // namespace simulation
