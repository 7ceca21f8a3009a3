// Which names a domain's nodes have in IMEX. Pure.
//
// IMEX connects only nodes that have the same names, so a domain keeps its names while one of its
// daemons may run. Its DaemonSet records them. Releases before 0.2 recorded nothing: all domains
// shared their names.
#pragma once

#include <optional>
#include <string>

#include "controller/compute_domain/model/action.h"
#include "controller/compute_domain/model/observed.h"

namespace compute_domain {

// REQUIRES: observed.domain, here and below.

daemon_set::NodeNames NodeNamesOf(const Observed& observed);

// Returns the live read that must show that no daemon runs before the DaemonSet gets other names.
// Empty if nothing is left to read, or if its names do not change.
std::optional<Action> ReadBeforeNamesChange(const Observed& observed);

// Returns `memory.rendered.daemon_set`. Empty if it was rendered with other names.
std::string RenderedDaemonSet(const Observed& observed);

}  // namespace compute_domain
