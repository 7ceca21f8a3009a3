// What a daemon reads out of its clique, and what one that writes its own entry makes of it. Pure.
//
// A clique is written by others too: nothing in it is believed that could not be so.
#pragma once

#include <vector>

#include "controller/api/types.h"
#include "node/daemon/identity.h"
#include "node/imex/hosts_file.h"
#include "pkg/base/result.h"
#include "pkg/json/value.h"

namespace imexd {

// The entry of the daemon's node, if it is of this daemon and can be used: its own address, and an
// index that it may have. Null: none.
[[nodiscard]] const api::Member* OwnEntry(const api::Clique& clique, const DaemonIdentity& self);

// Where the daemons of the clique are, by index: this one first of all, and of several others under
// one index the first. An entry with this daemon's address on another node is of a pod that is
// gone. `runs_as`: the index that IMEX runs with, under which the daemon stays known to itself if
// its entry is missing; -1: none.
[[nodiscard]] std::vector<imex::Host> HostsIn(const api::Clique& clique, const DaemonIdentity& self,
                                              int runs_as);

// The clique as the first daemon of it makes it, with its own entry.
[[nodiscard]] json::Value NewClique(const DaemonIdentity& self, bool ready);

// Puts the daemon's entry into `clique`, an object as the API server has it, or puts it right, and
// the daemon's pod among its owners. Everything else stays as it is. Whether that changed anything;
// kInvalid: no index is free.
[[nodiscard]] base::Result<bool> PutOwnEntry(json::Value& clique, const DaemonIdentity& self,
                                             bool ready);

// Takes the daemon's entry out, if it is of this daemon. Whether there was one.
[[nodiscard]] bool TakeOutOwnEntry(json::Value& clique, const DaemonIdentity& self);

}  // namespace imexd
