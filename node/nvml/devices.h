// Reads the GPUs of a machine. Only for node/nvml and its tests.
#pragma once

#include "node/nvml/functions.h"

namespace nvml {

// Returns all of a machine but its driver's version. Returns kInvalid, with the reason, if NVML
// cannot say how many GPUs there are.
base::Result<Machine> ReadGpus(const Library::Functions& functions);

}  // namespace nvml
