// What a plugin's process may do, and the signals that end it.
//
// For the main thread, before it starts others. DropReadersRights() is for the reader.
#pragma once

#include <memory>
#include <vector>

#include "pkg/base/log.h"
#include "pkg/base/serial_executor.h"

namespace dra {

// The signals that end a plugin.
std::vector<int> EndSignals();
// Blocks them and SIGUSR2 in this thread, and in those that it starts.
void BlockSignals();

// Lets SIGTERM and SIGINT end this process at once, as failed. For one that has nothing to clean
// up.
void EndAtSignals();

// Drops capabilities but these, because root owns everything that a plugin reads and writes.
// Filters system calls: no runtime does, for a privileged container.
void DropPrivileges(const std::vector<int>& kept, base::Logger& logger);

// Starts the thread that reads the driver, and drops what only that thread needs. NVIDIA's library
// makes the driver's device nodes in /dev of this container if nobody else did: with a driver in a
// container they exist only there. So that thread keeps two capabilities until it has read all, and
// CAP_SETPCAP, by which it then limits programs that it starts. `kept` are those that all threads
// keep. With `keeps_all` nothing is dropped.
std::unique_ptr<base::SerialExecutor> StartReader(bool keeps_all, const std::vector<int>& kept,
                                                  base::Logger& logger);
// Drops all capabilities of this thread, the reader, which has read all. With `keeps_all` nothing
// is dropped.
void DropReadersRights(bool keeps_all, base::Logger& logger);

}  // namespace dra
