// Signals of a program that runs until it is told to end.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "pkg/base/log.h"

namespace command_line {

// What a further signal does once the end is asked for.
enum class Repeated {
  kEndsAtOnce,
  kIsIgnored,  // For a program whose own end must be waited for.
};

struct Signals {
  std::vector<int> ends;  // Ask for the end.
  std::function<void()> end;
  std::vector<int> wakes = {};
  std::function<void()> wake = {};
  Repeated repeated = Repeated::kEndsAtOnce;
};

// Calls `end` once and `wake` as often as it hears of it, both on a thread of its own, until what
// it returns is destroyed. Blocks the signals in the caller's thread and those that it starts from
// now on, so it comes before all others; ignores SIGPIPE.
[[nodiscard]] std::jthread HandleSignals(Signals signals, base::Logger& logger);

}  // namespace command_line
