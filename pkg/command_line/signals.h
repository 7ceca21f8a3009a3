// Handles the signals of a program that runs until a signal.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "pkg/base/log.h"

namespace command_line {

// The effect of a further signal after the program was asked to end.
enum class Repeated {
  kEndsAtOnce,
  kIsIgnored,  // For a program that must finish its shutdown.
};

struct Signals {
  std::vector<int> ends;  // Signals that ask the program to end.
  std::function<void()> end;
  std::vector<int> wakes = {};
  std::function<void()> wake = {};
  std::function<void()> dump = {};  // For SIGUSR2.
  Repeated repeated = Repeated::kEndsAtOnce;
};

// Starts a thread that calls `end` once, and `wake` or `dump` for each signal, until the returned
// thread is destroyed. Blocks the signals in the calling thread, and in threads that it starts
// later, so call it before any other thread starts. Ignores SIGPIPE.
std::jthread HandleSignals(Signals signals, base::Logger& logger);

}  // namespace command_line
