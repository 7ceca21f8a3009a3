// Whether the policies that put a domain's pods into one clique are in force.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "controller/compute_domain/controller.h"
#include "pkg/base/backoff.h"
#include "pkg/base/clock.h"
#include "pkg/base/result.h"
#include "pkg/http/transport.h"

namespace process {

// Sends a GET for each binding of manifests/placement, with a timeout of 3 s each, in the newest
// version of them that is served. Never returns kUnknown: a GET that is refused or not answered is
// an error.
base::Result<compute_domain::PlacementPolicy> FindPlacementPolicy(http::Transport& transport);

// When to look again: every 30 minutes. While a policy is missing, an administrator may be about to
// install it: then after 10 s, 20 s and so on, if domains changed since. A cluster in which nothing
// happens is asked nothing.
class PlacementLooks {
 public:
  using TimePoint = base::Clock::TimePoint;
  // How many passes the controller has made. Empty for a standby, which makes none.
  using Passes = std::optional<std::uint64_t>;

  // Returns whether to look now. Remembers `passes` from the time on when changes count.
  bool TakeTurn(TimePoint now, Passes passes);
  // `is_news`: the look showed something else than the one before, so each domain gets a pass.
  void Looked(TimePoint now, Passes passes, bool is_missing, bool is_news);
  // When to take the next turn.
  TimePoint Next(TimePoint now) const;

 private:
  TimePoint soon_ = {};  // When the next look is due if something has changed.
  TimePoint late_ = {};  // When it is due though nothing has.
  // At the last look. If that was news: at `soon_`, and empty before. The passes that news causes
  // show no change.
  std::optional<Passes> passes_;
  base::Backoff backoff_;
};

// Looks when the controller can serve, and then as PlacementLooks says, until `stop` is requested,
// and tells the controller. A standby looks too, so that a new leader does not first say otherwise.
// There is no watch: it would be one more connection for what changes once in months.
void LookForPlacement(compute_domain::Controller& controller,
                      const std::function<std::unique_ptr<http::Transport>()>& make_transport,
                      const base::Clock& clock, base::Logger& logger, const std::stop_token& stop);

}  // namespace process
