#pragma once

#include <string>
#include <vector>

#include "pkg/base/result.h"
#include "test/cluster/nodesim/settings.h"
#include "test/cluster/nodesim/state.h"

namespace nodesim {

struct PlacedNode {
  Identity identity = {};
  std::string clique_id = {};  // Empty: no fabric.
};

// kInvalid, naming the option and the fix, if no nodes can be made of `settings`.
[[nodiscard]] base::Result<void> Validate(const Settings& settings);

// The nodes in order. Those with a fabric come first, in cliques of consecutive nodes whose sizes
// differ by one at most (or of `clique_size`). The same settings give the same nodes, identities
// and cliques, so that a simulator that is started again finds its own. REQUIRES:
// Validate(settings) succeeded.
[[nodiscard]] std::vector<PlacedNode> PlaceNodes(const Settings& settings);

// How many different cliques there are.
[[nodiscard]] int CountCliques(const std::vector<PlacedNode>& nodes);

}  // namespace nodesim
