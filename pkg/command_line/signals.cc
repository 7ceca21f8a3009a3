#include "pkg/command_line/signals.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>

#include "pkg/command_line/exit.h"

namespace command_line {

namespace {

void Handle(const std::stop_token& over, const sigset_t& heard, const Signals& signals,
            base::Logger& logger) {
  // One of these signals also ends the wait at shutdown, because nothing else does.
  const std::stop_callback enough(
      over, [self = pthread_self(), &signals] { pthread_kill(self, signals.ends.front()); });
  bool ending = false;
  while (true) {
    int signal = 0;
    sigwait(&heard, &signal);
    if (over.stop_requested()) return;
    if (signal == SIGUSR2) {
      signals.dump();
      continue;
    }
    if (std::ranges::count(signals.ends, signal) == 0) {
      signals.wake();
      continue;
    }
    if (std::exchange(ending, true)) {
      if (signals.repeated == Repeated::kEndsAtOnce) std::_Exit(kFailed);
      continue;
    }
    logger.Info("Stopping", {{"signal", std::to_string(signal)}});
    signals.end();
  }
}

}  // namespace

std::jthread HandleSignals(Signals signals, base::Logger& logger) {
  sigset_t heard;
  sigemptyset(&heard);
  for (const int signal : signals.ends) sigaddset(&heard, signal);
  for (const int signal : signals.wakes) sigaddset(&heard, signal);
  if (signals.dump) sigaddset(&heard, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &heard, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return std::jthread([heard, signals = std::move(signals), &logger](const std::stop_token& over) {
    Handle(over, heard, signals, logger);
  });
}

}  // namespace command_line
