// compute-domain-daemon: flags, signals, and one run; or one check for a probe.

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include "node/daemon/imex_setup.h"
#include "node/daemon/probe.h"
#include "node/daemon/run.h"
#include "node/daemon/scratch.h"
#include "node/daemon/settings.h"
#include "pkg/base/environment.h"
#include "pkg/base/file.h"
#include "pkg/base/heap.h"
#include "pkg/base/version.h"
#include "pkg/command_line/flags.h"
#include "pkg/command_line/frame.h"

namespace {

// Returns the folders in which this process and IMEX's scripts find programs.
std::string Search() { return base::GetEnv("PATH").value_or("/usr/bin:/bin"); }

// Returns the age of the container's first process, which is the daemon's.
std::chrono::milliseconds Age() {
  constexpr std::size_t kFileMax = 4096;
  const std::string stat = base::ReadFile("/proc/1/stat", kFileMax).value_or("");
  const std::string uptime = base::ReadFile("/proc/uptime", kFileMax).value_or("");
  return imex_daemon::AgeOf(stat, uptime, ::sysconf(_SC_CLK_TCK))
      .value_or(std::chrono::milliseconds::max());
}

base::Result<void> Run(const imex_daemon::Settings& settings, command_line::Frame& frame) {
  // IMEX needs time to tell its peers that it ends. The end of this process would kill it, so only
  // the kubelet may force that.
  frame.HandleSignals({SIGTERM, SIGINT}, {SIGCHLD}, command_line::Repeated::kIsIgnored);
  base::Logger& logger = frame.logger();
  logger.Info("Starting",
              {{"version", std::string(base::Version())},
               {"revision", std::string(base::Revision())},
               {"domain", settings.domain_namespace + "/" + settings.domain_name},
               {"uid", settings.self.domain},
               {"clique", settings.self.clique},
               {"node", settings.self.node},
               {"settings", command_line::Summary(settings, {{"nodeName", settings.self.node}})},
               {"featureGates", settings.feature_gates.ToJson()}});
  command_line::SayUnused(settings.unused_flags, logger);
  api::LogIgnored(settings.feature_gates.Ignored(false), logger);
  TRY(imex_daemon::EmptyScratch(settings.scratch_folders));
  imex_daemon::Programs programs;
  if (!settings.self.clique.empty()) programs = TRY(imex_daemon::Prepare(settings, Search()));
  return imex_daemon::Run(settings, programs, frame);
}

}  // namespace

int main(int argc, char** argv) {
  base::LimitHeaps(1);
  const imex_daemon::Parsed parsed =
      imex_daemon::Parse(std::vector<std::string>(argv + 1, argv + argc));
  if (parsed.exit) return command_line::Print(*parsed.exit);
  const imex_daemon::Settings& settings = parsed.settings;
  command_line::Frame frame("compute-domain-daemon", settings);
  if (settings.command == imex_daemon::Command::kRun) {
    return command_line::StatusOf(Run(settings, frame));
  }
  return command_line::StatusOf(imex_daemon::Check(settings, Search(), frame.environment(),
                                                   imex_daemon::PatienceFor(Age()), frame.clock()));
}
