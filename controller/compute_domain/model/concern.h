// What a domain needs done. Each concern fails, waits and is tried again by itself. Pure.
#pragma once

namespace compute_domain {

enum class Concern {
  kFinalizer,   // Of the domain: stored before its first child, removed last.
  kChildren,    // DaemonSet and claim templates.
  kMembership,  // Cliques.
  kLabels,      // Of nodes.
  kRollout,     // Replacement of daemons.
  kReads,       // Live reads. A rule that lacks one waits, and no other does.
  kStatus,
};

}  // namespace compute_domain
