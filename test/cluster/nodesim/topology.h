// The simulated nodes and their cliques, from the settings.
#pragma once

#include <string>
#include <vector>

#include "pkg/base/result.h"
#include "test/cluster/nodesim/settings.h"
#include "test/cluster/nodesim/state.h"

namespace nodesim {

struct PlacedNode {
  Identity identity = {};
  std::string clique_id = {};  // Empty if there is no fabric.
};

// Returns kInvalid, with the option and the fix, if `settings` cannot be satisfied.
base::Result<void> Validate(const Settings& settings);

// Returns the nodes in order. Nodes with a fabric come first, in cliques of consecutive nodes whose
// sizes differ by at most one (or have `clique_size`). The same settings give the same nodes,
// identities and cliques, so that a restarted simulator finds its own nodes. REQUIRES:
// Validate(settings) succeeded.
std::vector<PlacedNode> PlaceNodes(const Settings& settings);

// Returns the number of different cliques.
int CountCliques(const std::vector<PlacedNode>& nodes);

}  // namespace nodesim
