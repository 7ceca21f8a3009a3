// Areas of work for one domain. Pure.
// Each area fails, waits and is retried independently.
#pragma once

namespace compute_domain {

enum class Concern {
  kFinalizer,   // The domain's finalizer: stored before the first child, removed last.
  kChildren,    // DaemonSet and claim templates.
  kMembership,  // Cliques.
  kLabels,      // Node labels.
  kRollout,     // Replacement of daemons.
  kReads,       // Live reads. Only the rule that needs one waits for it.
  kStatus,
};

}  // namespace compute_domain
