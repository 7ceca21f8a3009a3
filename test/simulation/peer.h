// Another actor of the cluster, as a step machine: each step looks at the truth and makes at most
// one write. Whoever calls Step() decides in which order the actors move and how far each lags
// behind.
//
// For one thread. Deterministic: a step depends on the store, the time and the actor's own state
// alone.
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
    const Revision before = store_.revision();
    const bool is_due = due_ && *due_ <= now;
    if (quiet_at_ == before && !is_due) return false;
    due_.reset();
    Act(now);
    quiet_at_ = store_.revision() == before ? before : 0;
    return quiet_at_ == 0;
  }
  // When it wants to be asked again although nothing has changed.
  [[nodiscard]] std::optional<Time> due() const { return due_; }
  // Something other than the store changed.
  void Wake() { quiet_at_ = 0; }

 protected:
  // Makes at most one write.
  virtual void Act(Time now) = 0;

  void AskAgainAt(Time time) {
    if (!due_ || time < *due_) due_ = time;
  }
  [[nodiscard]] ObjectStore& store() { return store_; }
  [[nodiscard]] const ObjectStore& store() const { return store_; }

 private:
  const std::string name_;
  ObjectStore& store_;
  Revision quiet_at_ = 0;  // The truth at which there was nothing to do; 0: none.
  std::optional<Time> due_ = {};
};

}  // namespace simulation
