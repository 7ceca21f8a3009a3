// Another actor of the cluster, as a step machine: each step looks at the truth and makes at most
// one write. The caller of Step() decides in which order the actors move and how far each lags
// behind.
//
// For one thread. Deterministic: a step depends on the store, the time and the actor's own state
// alone.
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
  // `store` outlives the peer. `name` is whom the store's history names as the actor; what it does
  // depends on objects of the kinds `concerns`, and on no others.
  Peer(std::string name, ObjectStore& store, std::vector<Kind> concerns)
      : name_(std::move(name)), store_(store), concerns_(std::move(concerns)) {}
  virtual ~Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

  // Whether it wrote something. After a false there is nothing to do until something changes that
  // concerns it, the time passes due(), or somebody wakes it; asking again is cheap.
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
  // When it wants to be asked again although nothing has changed, or hears of what has.
  [[nodiscard]] std::optional<Time> due() const {
    return hears_at_ && (!due_ || *hears_at_ < *due_) ? hears_at_ : due_;
  }
  // How late it hears of what happens while it is quiet; it is asked once for each time.
  void SetLag(std::function<std::chrono::microseconds()> lag) { lag_ = std::move(lag); }
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
  // How many changes there were that do.
  [[nodiscard]] std::size_t Concerning() const {
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
