// Finds prepared claims that no longer exist.
//
// Used by the deciding thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "node/dra/api/driver_api.h"
#include "node/dra/rules/checkpoint_text.h"
#include "node/kubelet/claims.h"
#include "pkg/base/clock.h"
#include "pkg/base/log.h"

namespace dra {

class ClaimLookUps {
 public:
  using TimePoint = base::Clock::TimePoint;
  struct Uses {
    // Returns the state of a claim in the checkpoint. Empty if it is not there.
    std::function<std::optional<ClaimState>(const std::string& uid)> state = {};
    // Called for a claim that does not exist: it is to be unprepared.
    std::function<void(const kubelet::ClaimName& claim)> take_back = {};
    // Called with the time at which a claim is to be looked up again.
    std::function<void(TimePoint time)> look_again = {};
  };
  ClaimLookUps(const base::Clock& clock, base::Logger& logger, Uses uses)
      : clock_(clock), logger_(logger), uses_(std::move(uses)) {}

  // Reads the claim live. A container may outlive its claim, if the pod was deleted by force. The
  // kubelet ends it, and then unprepares the claim. So a prepared claim is taken back only if it is
  // still missing after a minute.
  void LookUp(DriverApi& api, const kubelet::ClaimName& claim);

 private:
  void OnLookUp(const kubelet::ClaimName& claim, bool exists);

  const base::Clock& clock_;
  base::Logger& logger_;
  const Uses uses_;
  // By UID, the prepared claims that a live read did not find, and since when.
  std::map<std::string, TimePoint> missing_;
};

}  // namespace dra
