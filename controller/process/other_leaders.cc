#include "controller/process/other_leaders.h"

#include <algorithm>
#include <set>
#include <string>

#include "pkg/kube/lease/lease_survey.h"
#include "pkg/kube/runtime/wait.h"

namespace process {

namespace {

using TimePoint = base::Clock::TimePoint;

// Logs each message once.
class Teller {
 public:
  explicit Teller(base::Logger& logger) : logger_(logger) {}

  void MayBeAlive(const kube::LeaseHolder& holder) {
    if (!IsNews("may be alive " + holder.name)) return;
    logger_.Info("Another Lease names a controller, waiting to see if it renews",
                 {{"lease", kube::ToString(holder.lease)}, {"holder", holder.name}});
  }
  void IsAlive(const kube::LeaseHolder& holder) {
    if (!IsNews("alive " + holder.name)) return;
    logger_.Error("Another controller leads under another Lease, waiting until it ends",
                  {{"lease", kube::ToString(holder.lease)},
                   {"holder", holder.name},
                   {"remedy",
                    "stop one of the two, or give both the same "
                    "--leader-election-lease-lock-name"}});
  }
  void Failed(const base::Error& error) {
    if (!IsNews("failed")) return;
    logger_.Warning("Cannot see whether another controller leads, will retry",
                    {{"err", error.message}});
  }
  void IsForbidden(const base::Error& error) {
    logger_.Info("Cannot see whether another controller leads, continuing",
                 {{"err", error.message}});
  }

 private:
  bool IsNews(const std::string& what) { return said_.insert(what).second; }

  base::Logger& logger_;
  std::set<std::string> said_;
};

void Pause(const OtherLeadersContext& context, const std::stop_token& stop) {
  constexpr auto kBeat = std::chrono::seconds(1);
  const TimePoint end = context.clock.Now() + context.period;
  while (!stop.stop_requested() && context.clock.Now() < end) {
    context.beat();
    kube::WaitUntil(context.clock, std::min(end, context.clock.Now() + kBeat), stop);
  }
}

}  // namespace

void WaitForOtherLeaders(const std::vector<kube::ObjectKey>& leases, http::Transport& transport,
                         const OtherLeadersContext& context, const std::stop_token& stop) {
  Teller teller(context.logger);
  kube::LeaseSurvey survey(leases);
  TimePoint began = context.clock.Now();
  for (; !stop.stop_requested(); Pause(context, stop)) {
    context.beat();
    survey.Look(transport, context.period, context.clock.Now() - began);
    const auto holder = survey.MayBeAlive(context.clock.Now() - began);
    const auto& error = survey.error();
    if (survey.alive()) {
      teller.IsAlive(*survey.alive());
      survey = kube::LeaseSurvey(leases);
      began = context.clock.Now();
    } else if (holder) {
      teller.MayBeAlive(*holder);
    } else if (error && error->code != base::ErrorCode::kForbidden) {
      teller.Failed(*error);
    } else {
      if (error) teller.IsForbidden(*error);
      return;
    }
  }
}

}  // namespace process
