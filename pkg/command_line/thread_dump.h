// Describes what each thread of this process does, for a process that seems to hang.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/log.h"

namespace command_line {

// Makes the process answer SIGURG, by which DescribeThreads() interrupts its threads. Call it
// before another thread starts. No other code of the process may use SIGURG.
void PrepareThreadDump();

// Returns a text of several lines for each thread: its number, name and state, and the functions in
// which it is, the innermost first. A function without a name in the program is a file and an
// offset. A thread that does not answer within a second has no functions.
//
// Interrupts each thread once, and a system call of it may end with EINTR. For one thread.
// Bounds: 128 threads, 40 functions each.
// REQUIRES: PrepareThreadDump().
std::vector<std::string> DescribeThreads();

// Writes DescribeThreads() to the file `path`, after a line with `title`. If that fails, as on a
// read-only file system, writes it to the log. `path` may lie in a folder that others write to.
void DumpThreads(const std::string& path, std::string_view title, base::Logger& logger);

}  // namespace command_line
