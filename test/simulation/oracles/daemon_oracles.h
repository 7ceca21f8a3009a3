// What must always hold of the product's own daemons and their IMEX, and what must hold once
// everything has come to rest. As in oracles.h each looks at the truth alone: at all versions of
// all objects, at the requests that were sent, and at what was done to IMEX.
#pragma once

#include <cstddef>

#include "test/simulation/cluster/imex.h"
#include "test/simulation/oracles/oracles.h"

namespace simulation {

// I1: in a container IMEX is started once, and again only after it has ended by itself; nobody
// tells it to end before the container is to.
[[nodiscard]] Violations ImexIsKept(const ApiServer& server, const Fabric& fabric);
// I2: it is started under the index that its clique has for this pod on this node, or had as late
// as a watch may be; and in place under none but that or its own from before.
[[nodiscard]] Violations ImexStartsUnderItsIndex(const ApiServer& server, const Fabric& fabric);
// I3: where the controller writes cliques, a daemon writes its pod's label and annotation and reads
// nothing but its clique. Where daemons do, it writes no more than these and its own entry.
[[nodiscard]] Violations DaemonsWriteTheirOwn(const ApiServer& server, const Fabric& fabric);
// I7: an IMEX is not told twice within 5 s to look its peers up: it would not hear it.
[[nodiscard]] Violations SignalsAreHeard(const ApiServer& server, const Fabric& fabric);
// I8: a daemon that writes its own entry and was told to stop has taken it out, or says why not.
[[nodiscard]] Violations DaemonsLeave(const ApiServer& server, const Fabric& fabric);

// I4: at rest, what a daemon reports of its IMEX is the truth, and none is silent that should.
[[nodiscard]] Violations ReportsAreTrue(const ApiServer& server, const Fabric& fabric);
// I5: at rest, each daemon that runs is Ready: its IMEX, its pod and its entry. One that finds no
// room in its clique cannot be, nor one whose kubelet does not know how it is.
[[nodiscard]] Violations DaemonsAreReady(const ApiServer& server, const Fabric& fabric);
// I6: at rest, its domain says of each member whose IMEX runs under another index than its entry
// that it does, and of nobody else.
[[nodiscard]] Violations OtherIndicesAreTold(const ApiServer& server, const Fabric& fabric);
// I9: from request `since` on daemons send nothing but watches.
[[nodiscard]] Violations DaemonsAreQuiet(const ApiServer& server, std::size_t since);

// I1 to I3, I7 and I8; and I4 to I6.
[[nodiscard]] Violations CheckDaemons(const ApiServer& server, const Fabric& fabric);
[[nodiscard]] Violations CheckDaemonsAtRest(const ApiServer& server, const Fabric& fabric);

}  // namespace simulation
