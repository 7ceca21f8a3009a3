// Domains in relevant states, for targets that corrupt their objects.
#pragma once

#include "test/fixtures/pass_world.h"
#include "test/fuzz/hostile.h"

namespace fuzz {

inline compute_domain::Observed AnyWorld(Input& input) {
  switch (input.ConsumeIntegralInRange(0, 7)) {
    case 0:
      return fixtures::Fresh();
    case 1:
      return fixtures::Marked();
    case 2:
      return fixtures::JustDeleted();
    case 3:
      return fixtures::DeletingUnused();
    case 4:
      return fixtures::Orphans();
    case 5: {  // A pod waits, and the daemons are outdated.
      compute_domain::Observed observed = fixtures::Converged();
      observed.children.claims.push_back(fixtures::MakeWaitingClaim("train-2"));
      for (api::DaemonPod& pod : observed.children.daemon_pods) pod.template_hash = "old";
      return observed;
    }
    default:
      return fixtures::Converged();
  }
}

}  // namespace fuzz
