// What a daemon reads from its clique, and writes to it.
//
// Pure. A daemon writes only its own entry, and only if daemons are the membership writer. Other
// clients write the clique too: entries with impossible values are ignored.
#pragma once

#include <vector>

#include "controller/api/types.h"
#include "node/daemon/identity.h"
#include "node/imex/hosts_file.h"
#include "pkg/base/result.h"
#include "pkg/json/value.h"

namespace imex_daemon {

// Returns this daemon's entry. Null if there is none with its address and a valid index.
const api::Member* OwnEntry(const api::Clique& clique, const DaemonIdentity& self);

// Returns the addresses of the clique's daemons, by index. If entries share an index, this daemon's
// entry wins, else the first. Ignores an entry with this daemon's address on another node: its pod
// is deleted. `runs_as` is the index that IMEX runs with, or -1. If this daemon's entry is missing,
// the daemon stays in the result under that index.
std::vector<imex::HostsEntry> HostsIn(const api::Clique& clique, const DaemonIdentity& self,
                                      int runs_as);

// Returns whether this daemon may join: its node has an entry, or an index is free.
bool HasRoom(const api::Clique& clique, const DaemonIdentity& self);

// Returns a new clique, with only this daemon's entry.
json::Value NewClique(const DaemonIdentity& self, bool ready);

// Adds or corrects this daemon's entry in `clique`, an object from the API server, and adds its pod
// to the owners. Returns whether that changed anything; kInvalid if no index is free.
base::Result<bool> PutOwnEntry(json::Value& clique, const DaemonIdentity& self, bool ready);

// Removes this daemon's entry. Returns whether there was one.
bool TakeOutOwnEntry(json::Value& clique, const DaemonIdentity& self);

}  // namespace imex_daemon
