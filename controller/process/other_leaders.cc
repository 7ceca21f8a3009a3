#include "controller/process/other_leaders.h"

#include <algorithm>
#include <set>
#include <string>

#include "controller/api/names.h"
#include "pkg/json/value.h"
#include "pkg/kube/api/resource.h"
#include "pkg/kube/client/request.h"
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
                    "--leader-election-lease-lock-name and --namespace"}});
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

base::Result<std::vector<std::string>> ListDriverNamespaces(http::Transport& transport,
                                                            std::chrono::milliseconds timeout) {
  http::Request request = kube::ListRequest(
      kube::kNamespaces,
      {.label_selector = std::string(api::kDriverNamespaceLabel) + "=true", .metadata_only = true});
  request.timeout = timeout;
  const http::Response reply = TRY(kube::CheckStatus(transport.Send(request), request.method));
  json::Parser parser;
  const json::View list = TRY(parser.Parse(reply.body));
  std::vector<std::string> names;
  list["items"].ForEach(
      [&](json::View one) { names.emplace_back(one["metadata"]["name"].AsString()); });
  return names;
}

}  // namespace

std::vector<kube::ObjectKey> FindLeasesElsewhere(const std::string& ns, http::Transport& transport,
                                                 const OtherLeadersContext& context,
                                                 const std::stop_token& stop) {
  Teller teller(context.logger);
  std::vector<kube::ObjectKey> leases;
  for (; !stop.stop_requested(); Pause(context, stop)) {
    const auto found = ListDriverNamespaces(transport, context.period);
    if (!found && found.error().code == base::ErrorCode::kForbidden) return {};
    if (!found) {
      teller.Failed(found.error());
      continue;
    }
    for (const std::string& other : *found) {
      if (other == ns) continue;
      for (const std::string_view name : api::kLeaseNames) {
        leases.push_back({.ns = other, .name = std::string(name)});
      }
    }
    return leases;
  }
  return leases;
}

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
