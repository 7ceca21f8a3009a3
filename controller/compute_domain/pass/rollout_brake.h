// Limits how many cliques of the cluster are in a rollout at a time, and stops it if one fails.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>

#include "pkg/base/log.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/api/meta.h"

namespace compute_domain {

// Thread-safe.
class RolloutBrake {
 public:
  // `logger` must outlive it.
  RolloutBrake(int cliques_max, base::Logger& logger);

  // Says how many cliques of the domain are in a rollout.
  void Hold(const kube::Uid& domain_uid, std::size_t cliques);
  // The same, if the cluster has room for them. Returns whether it has.
  bool TryHold(const kube::Uid& domain_uid, std::size_t cliques);
  bool HasRoom() const;

  // Adds `waits`, if it is not empty, to the end of the domains that wait for room. Then returns
  // the first of them, and removes it. Empty if none waits, or if there is no room.
  kube::Uid NextInLine(const kube::Uid& waits);

  // Stops the rollout in all domains if `failed` says why. If it is empty, resumes a rollout that
  // this domain stopped. `name` is for the log.
  void StopOrResume(const kube::Uid& domain_uid, const std::string& name,
                    const std::string& failed);
  // Returns why no daemon is replaced in any domain. Empty if the rollout continues.
  std::string WhyStopped() const;

 private:
  struct State {
    std::map<kube::Uid, std::size_t> held = {};  // Without domains that hold none.
    std::size_t held_in_all = 0;
    std::deque<kube::Uid> waiting = {};  // Each once.
    std::string why_stopped = {};
    kube::Uid stopped_by = {};
  };
  void Hold(State& state, const kube::Uid& domain_uid, std::size_t cliques) const;

  const std::size_t cliques_max_;
  base::Logger& logger_;
  base::Guarded<State> state_;
};

}  // namespace compute_domain
