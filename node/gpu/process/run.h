// One run of the GPU driver, from start to end.
//
// Threads besides those of dra::DriverProcess: one watches the API server, four send requests, and
// one reads the host. They post to the deciding thread's TaskQueue.
#pragma once

#include <memory>

#include "node/gpu/settings.h"
#include "pkg/base/result.h"
#include "pkg/base/serial_executor.h"
#include "pkg/command_line/frame.h"

namespace gpu {

// Blocks until the frame's stop is requested and shutdown is complete, or until the kubelet cannot
// be served: then the error says why and what to do. `reader` reads the host.
base::Result<void> Run(const Settings& settings, command_line::Frame& frame,
                       std::unique_ptr<base::SerialExecutor> reader);

}  // namespace gpu
