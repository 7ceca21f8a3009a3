// Oracles for the product's own daemons and their IMEX.
//
// As in oracles.h, each looks at the ground truth only: all versions of all objects, the requests
// that were sent, and what was done to IMEX. Oracles of safety must always hold; oracles of rest
// must hold once nothing moves any more.
#pragma once

#include <cstddef>

#include "test/simulation/cluster/imex.h"
#include "test/simulation/oracles/oracles.h"

namespace simulation {

// I1: in a container IMEX is started once, and again only after it ended by itself. Nothing stops
// it before the container is stopped.
Violations ImexIsKept(const ApiServer& server, const Fabric& fabric);
// I2: IMEX starts with the index that its clique has for this pod on this node, or had within the
// delay of a watch. A later start in the same container uses that index or the earlier one.
Violations ImexStartsUnderItsIndex(const ApiServer& server, const Fabric& fabric);
// I3: with the controller as membership writer, a daemon writes only its pod's label and
// annotation, and reads only its clique. With daemons as writers, a daemon also writes its own
// entry, and nothing else.
Violations DaemonsWriteTheirOwn(const ApiServer& server, const Fabric& fabric);
// I7: an IMEX gets at most one signal to look up peers in 5 s. It would ignore the second.
Violations SignalsAreHeard(const ApiServer& server, const Fabric& fabric);
// I8: a daemon that writes its own entry has removed it after a stop, or reports why not.
Violations DaemonsLeave(const ApiServer& server, const Fabric& fabric);

// I4: at rest, each report about IMEX is true, and no daemon lacks a report that it must send.
Violations ReportsAreTrue(const ApiServer& server, const Fabric& fabric);
// I5: at rest, each running daemon is Ready: its IMEX, its pod and its entry. Exceptions: a daemon
// whose clique is full, and a daemon whose kubelet does not know its state.
Violations DaemonsAreReady(const ApiServer& server, const Fabric& fabric);
// I6: at rest, a domain reports exactly those members whose IMEX runs with another index than their
// entry has.
Violations OtherIndicesAreTold(const ApiServer& server, const Fabric& fabric);
// I10: at rest, MemoryShared is not True while a pod lives that used the domain when IMEX was
// started again under one of its pods. The reason ImexRestartedUnderJob is given only then. For
// daemons whose entries the controller writes, and only while one controller has seen both starts.
Violations LostMemoryIsTold(const ApiServer& server, const Fabric& fabric);
// I9: from request `since` on, daemons send only watches.
Violations DaemonsAreQuiet(const ApiServer& server, std::size_t since);

// CheckDaemons() checks I1 to I3, I7 and I8. CheckDaemonsAtRest() checks I4 to I6 and I10.
Violations CheckDaemons(const ApiServer& server, const Fabric& fabric);
Violations CheckDaemonsAtRest(const ApiServer& server, const Fabric& fabric);

}  // namespace simulation
