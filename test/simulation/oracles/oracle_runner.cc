#include "test/simulation/oracles/oracle_runner.h"

#include <utility>

namespace simulation {

OracleRunner::OracleRunner(const ApiServer& server, const SystemUnderTest& system)
    : OracleRunner(server, system, {ReleaseGate,         NoStrangers,
                                    StatusFollows,       FailoverIsFast,
                                    LeaderServes,        OneDomainPerNode,
                                    IndexUniqueness,     IndexStability,
                                    NoPruneWithoutProof, OwnOnly,
                                    LiveChildrenAreSafe, DaemonsInUseStay,
                                    FinalizerDiscipline, NoDuplicateChild,
                                    NothingRefused,      Confinement,
                                    OnlyTheLeaderWrites, ReadinessHasCause,
                                    LiveJobsKeepAll,     RequestsHaveABudget,
                                    RepetitionsArePaced, DaemonsHaveTheSameNames}) {}

OracleRunner::OracleRunner(const ApiServer& server, const SystemUnderTest& system,
                           const std::vector<MakeOracle>& oracles)
    : server_(server) {
  for (const MakeOracle make : oracles) {
    oracles_.push_back(make({.server = server, .system = system, .violations = violations_}));
  }
}

void OracleRunner::ShowChanges(Revision up_to) {
  const Numbered<Change>& changes = server_.store().history().changes();
  for (; changes_ < changes.size() && changes[changes_].revision() <= up_to; ++changes_) {
    for (const Oracle& oracle : oracles_) {
      if (oracle.on_change) oracle.on_change(truth_, changes[changes_]);
    }
    truth_.Apply(changes[changes_]);
  }
}

void OracleRunner::CatchUp() {
  for (; requests_ < server_.requests().size(); ++requests_) {
    const RequestRecord& request = server_.requests()[requests_];
    ShowChanges(request.revision);
    for (const Oracle& oracle : oracles_) {
      if (oracle.on_request) oracle.on_request(truth_, request);
    }
  }
  ShowChanges(kNewest);
}

Violations OracleRunner::Finish() {
  CatchUp();
  for (const Oracle& oracle : oracles_) {
    if (oracle.at_end) oracle.at_end(truth_, server_.store().now());
  }
  return std::move(violations_);
}

}  // namespace simulation
