// State that the stand-in for IMEX keeps after it ends.
//
// It keeps which nodes have imported its memory, with a hash of the nodes file. NVIDIA's guide to
// IMEX describes persist.dat like this.
#pragma once

#include <set>
#include <string>

#include "test/cluster/stubs/imex/config.h"

namespace standin {

// Returns the importers of an IMEX that did not end by SIGTERM. Empty if there is no such file, or
// if the nodes file has changed since.
std::set<int> ReadImporters(const Config& config);

// Replaces the importers in the file. If it cannot be written, there is none.
void NoteImporters(const Config& config, const std::set<int>& importers);

}  // namespace standin
