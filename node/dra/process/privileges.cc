#include "node/dra/process/privileges.h"

#include <linux/capability.h>

#include <csignal>

#include "pkg/base/capabilities.h"
#include "pkg/base/system_call_filter.h"

namespace dra {

std::vector<int> EndSignals() { return {SIGTERM, SIGINT, SIGHUP, SIGQUIT}; }

void BlockSignals() {
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int signal : EndSignals()) sigaddset(&blocked, signal);
  sigaddset(&blocked, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
}

void DropPrivileges(const std::vector<int>& kept, base::Logger& logger) {
  if (const auto dropped = base::KeepCapabilities(kept); !dropped) {
    logger.Warning("Capabilities are kept", {{"err", dropped.error().message}});
  }
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
  if (const auto dropped = base::KeepThreadCapabilities(kept); !dropped) {
    logger.Warning("Capabilities are kept", {{"err", dropped.error().message}});
  }
  return reader;
}

}  // namespace dra
