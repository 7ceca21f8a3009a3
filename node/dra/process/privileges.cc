#include "node/dra/process/privileges.h"

#include <linux/capability.h>

#include <csignal>
#include <cstdlib>

#include "pkg/base/capabilities.h"
#include "pkg/base/system_call_filter.h"
#include "pkg/command_line/exit.h"

namespace dra {

namespace {

void WarnIfKept(const base::Result<void>& dropped, base::Logger& logger) {
  if (!dropped) logger.Warning("Capabilities are kept", {{"err", dropped.error().message}});
}

}  // namespace

std::vector<int> EndSignals() { return {SIGTERM, SIGINT, SIGHUP, SIGQUIT}; }

void BlockSignals() {
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int signal : EndSignals()) sigaddset(&blocked, signal);
  sigaddset(&blocked, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
}

// Process 1 of a container gets only signals with a handler.
void EndAtSignals() {
  for (const int signal : {SIGTERM, SIGINT}) {
    std::signal(signal, [](int /*signal*/) { std::_Exit(command_line::kFailed); });
  }
}

void DropPrivileges(const std::vector<int>& kept, base::Logger& logger) {
  WarnIfKept(base::KeepCapabilities(kept), logger);
  if (const auto filtered = base::FilterSystemCalls(); !filtered) {
    logger.Warning("System calls are not filtered", {{"err", filtered.error().message}});
  }
}

std::unique_ptr<base::SerialExecutor> StartReader(bool keeps_all, const std::vector<int>& kept,
                                                  base::Logger& logger) {
  if (keeps_all) return std::make_unique<base::SerialExecutor>();
  std::vector<int> of_reader = {CAP_MKNOD, CAP_CHOWN, CAP_SETPCAP};
  of_reader.insert(of_reader.end(), kept.begin(), kept.end());
  DropPrivileges(of_reader, logger);
  auto reader = std::make_unique<base::SerialExecutor>();
  WarnIfKept(base::KeepThreadCapabilities(kept), logger);
  return reader;
}

void DropReadersRights(bool keeps_all, base::Logger& logger) {
  if (!keeps_all) WarnIfKept(base::KeepThreadCapabilities({}), logger);
}

}  // namespace dra
