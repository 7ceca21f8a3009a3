// One run of the plugin, from start to end.
//
// Threads: the caller's decides, and alone writes files; gRPC's receive the kubelet's calls; one
// watches the API server, one more the clique that a claim waits for; four send requests; one reads
// the host. They post to the deciding thread's Mailbox.
#pragma once

#include "node/plugin/settings.h"
#include "pkg/base/result.h"
#include "pkg/command_line/frame.h"

namespace plugin {

// Blocks until the frame's stop is requested and shutdown is complete, or until the kubelet cannot
// be served: then the error says why and what to do.
[[nodiscard]] base::Result<void> Run(const Settings& settings, command_line::Frame& frame);

}  // namespace plugin
