// P8: the replica that leads is told to stop, or dies; the other one takes over.
#include <csignal>

#include "test/bench/rows.h"

namespace bench {

namespace {

using base::Result;
using std::chrono::seconds;

// Taking the Lease is the first write of a new leader.
bool IsLeaseWrite(const AuditEvent& event) {
  return event.user == kControllerUser && event.Succeeded() && event.IsOn("leases") &&
         event.IsWrite();
}

struct Replicas {
  std::unique_ptr<Process> leader = {};
  std::unique_ptr<Process> standby = {};
  std::size_t standby_is = 1;     // Which of the kubeconfigs.
  std::size_t standby_since = 0;  // In the audit log.
};

Result<void> StartStandby(Stage& stage, Replicas& replicas) {
  TRY(stage.audit().Read());
  replicas.standby_since = stage.audit().Mark();
  replicas.standby = TRY(stage.StartReplica(replicas.standby_is));
  return {};
}

// Ends the leader and measures how long nobody leads; the one that takes over gets a new standby.
Result<double> Measure(Stage& stage, Replicas& replicas, int signal) {
  AuditLog& audit = stage.audit();
  std::string leader;
  const auto both_are_there = [&]() -> Result<bool> {
    TRY(audit.Read());
    bool standby_is_there = false;
    for (const AuditEvent& event : audit.Since(replicas.standby_since)) {
      if (IsLeaseWrite(event)) leader = event.credential;
    }
    for (const AuditEvent& event : audit.Since(replicas.standby_since)) {
      standby_is_there = standby_is_there || (IsOurs(event) && event.credential != leader);
    }
    return !leader.empty() && standby_is_there;
  };
  TRY(stage.Await("the leader renews its Lease and the standby is there", seconds(60),
                  both_are_there));
  // It has read everything, so that leading is all it waits for.
  TRY(stage.AwaitQuiet("the standby stands by", std::chrono::milliseconds(2000), seconds(60),
                       IsOurs));
  const std::size_t mark = audit.Mark();
  const WallTime told = stage.clock().Wall();
  replicas.leader->Signal(signal);
  double gap = 0;
  const auto standby_leads = [&]() -> Result<bool> {
    TRY(audit.Read());
    for (const AuditEvent& event : audit.Since(mark)) {
      if (!IsLeaseWrite(event) || event.credential == leader) continue;
      gap = Seconds(event.completed - told);
      return true;
    }
    return false;
  };
  TRY(stage.Await("the standby leads", seconds(60), standby_leads));
  TRY(replicas.leader->AwaitEnd(stage.clock(), seconds(30)));
  replicas.leader = std::move(replicas.standby);
  replicas.standby_is = 1 - replicas.standby_is;
  TRY(StartStandby(stage, replicas));
  return gap;
}

Result<Row> MeasureAll(Stage& stage, Replicas& replicas, int signal, int times, double budget) {
  std::vector<double> gaps;
  for (int i = 0; i < times; ++i) gaps.push_back(TRY(Measure(stage, replicas, signal)));
  const bool graceful = signal == SIGTERM;
  const double longest = Percentile(gaps, 1);
  return Row{
      .id = "P8",
      .what = std::string(graceful ? "leader told to stop" : "leader killed") +
              ", until the standby leads (" + std::to_string(times) + " times)",
      .budget = Budget{.text = "<= " + std::to_string(static_cast<int>(budget)) + " s",
                       .value = longest,
                       .aim = budget},
      .yardstick = graceful ? "a standby looks every 2 s" : "the Lease lasts 15 s",
      .ours = "p50 " + Number(Percentile(gaps, 0.5)) + " s, longest " + Number(longest) + " s",
      .figure = longest};
}

}  // namespace

Rows MeasureFailover(Stage& stage, const Sizes& sizes) {
  Replicas replicas;
  replicas.leader = TRY(stage.StartController());
  TRY(StartStandby(stage, replicas));
  std::vector<Row> rows;
  rows.push_back(TRY(MeasureAll(stage, replicas, SIGTERM, sizes.hand_overs, 2)));
  rows.push_back(TRY(MeasureAll(stage, replicas, SIGKILL, sizes.crashes, 17)));
  TRY(stage.Stop(*replicas.standby));
  TRY(stage.Stop(*replicas.leader));
  return rows;
}

}  // namespace bench
