// What the stand-in for IMEX keeps over its end: which nodes have imported its memory, under a key
// of the nodes file. As NVIDIA's guide to IMEX describes persist.dat.
#pragma once

#include <set>
#include <string>

#include "test/cluster/stubs/imex/config.h"

namespace standin {

// Returns the importers that an IMEX noted which did not end by SIGTERM. Empty if there is no such
// file, or if the nodes file is another one since.
std::set<int> ReadImporters(const Config& config);

// Notes these importers in the place of those before. A file that cannot be written is none.
void NoteImporters(const Config& config, const std::set<int>& importers);

}  // namespace standin
