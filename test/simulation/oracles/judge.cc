#include "test/simulation/oracles/judge.h"

#include <utility>

namespace simulation {

Judge::Judge(const ApiServer& server, const Suspects& suspects)
    : Judge(server, suspects,
            {ReleaseGate, StatusFollows, FailoverIsFast, OneDomainPerNode, IndexUniqueness,
             IndexStability, NoPruneWithoutProof, OwnOnly, LiveChildrenAreSafe, DaemonsInUseStay,
             FinalizerDiscipline, NoDuplicateChild, NothingRefused, Confinement,
             OnlyTheLeaderWrites}) {}

Judge::Judge(const ApiServer& server, const Suspects& suspects,
             const std::vector<MakeOnlooker>& oracles)
    : server_(server) {
  for (const MakeOnlooker make : oracles) {
    oracles_.push_back(make({.server = server, .suspects = suspects, .violations = violations_}));
  }
}

void Judge::LookAtChanges(Revision up_to) {
  const std::vector<Change>& changes = server_.store().history().changes();
  for (; changes_ < changes.size() && changes[changes_].revision() <= up_to; ++changes_) {
    for (const Onlooker& oracle : oracles_) {
      if (oracle.on_change) oracle.on_change(truth_, changes[changes_]);
    }
    truth_.Apply(changes[changes_]);
  }
}

void Judge::Look() {
  for (; requests_ < server_.requests().size(); ++requests_) {
    const RequestRecord& request = server_.requests()[requests_];
    LookAtChanges(request.revision);
    for (const Onlooker& oracle : oracles_) {
      if (oracle.on_request) oracle.on_request(truth_, request);
    }
  }
  LookAtChanges(kNewest);
}

Violations Judge::Conclude() {
  Look();
  for (const Onlooker& oracle : oracles_) {
    if (oracle.at_end) oracle.at_end(truth_, server_.store().now());
  }
  return std::move(violations_);
}

}  // namespace simulation
