// Reads the MIG instances of a GPU. Only for node/nvml.
#pragma once

#include <string_view>

#include "node/nvml/functions.h"
#include "node/nvml/gpu.h"
#include "node/nvml/questions.h"

namespace nvml {

// Adds the instances to `gpu`, whose memory is known. `ask` gets the error if the GPU cannot tell
// them. Errors of one instance are in the instance.
void ReadInstances(const Library::Functions& functions, abi::Device device, Questions& ask,
                   Gpu& gpu);

// Returns whether a text can be a UUID of NVML: the CDI spec and the environment of a container get
// it.
bool IsUuid(std::string_view text);

}  // namespace nvml
