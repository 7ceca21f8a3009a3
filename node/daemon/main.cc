// compute-domain-daemon: flags, signals, and one run; or one question for a probe.

#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "node/daemon/prepare.h"
#include "node/daemon/run.h"
#include "node/daemon/settings.h"
#include "pkg/base/environment.h"
#include "pkg/base/file.h"
#include "pkg/base/system_clock.h"
#include "pkg/base/task_queue.h"
#include "pkg/base/version.h"
#include "pkg/command_line/exit.h"
#include "pkg/command_line/flags.h"
#include "pkg/command_line/signals.h"
#include "pkg/kube/client/config.h"
#include "pkg/kube/client/exec_runner.h"
#include "pkg/logging/logger.h"

namespace {

// For the first answer of an exec plugin; only outside of a pod is there one.
constexpr auto kPluginPatience = std::chrono::seconds(5);

// Where we and IMEX's own scripts would find programs.
std::string Search() { return base::GetEnv("PATH").value_or("/usr/bin:/bin"); }

int Fail(const base::Error& error, int status) {
  std::fputs((error.message + "\n").c_str(), stderr);
  return status;
}

// Of the process that a container began with, which is the daemon's.
std::chrono::milliseconds Age() {
  constexpr std::size_t kFileMax = 4096;
  const auto stat = base::ReadFile("/proc/1/stat", kFileMax);
  const auto uptime = base::ReadFile("/proc/uptime", kFileMax);
  if (!stat || !uptime) return std::chrono::milliseconds::max();
  return imex_daemon::AgeOf(*stat, *uptime, ::sysconf(_SC_CLK_TCK))
      .value_or(std::chrono::milliseconds::max());
}

int Check(const imex_daemon::Settings& settings, const base::Clock& clock) {
  const auto ready = imex_daemon::Check(settings, Search(), base::Environment(),
                                        imex_daemon::PatienceFor(Age()), clock);
  return ready ? 0 : Fail(ready.error(), command_line::kFailed);
}

int Run(const imex_daemon::Settings& settings, const base::Clock& clock, base::Logger& logger) {
  base::TaskQueue tasks;
  std::atomic<bool> stopping = false;
  const std::jthread signals = command_line::HandleSignals({.ends = {SIGTERM, SIGINT},
                                                            .end =
                                                                [&] {
                                                                  stopping = true;
                                                                  tasks.Wake();
                                                                },
                                                            .wakes = {SIGCHLD},
                                                            .wake = [&] { tasks.Wake(); }},
                                                           logger);
  logger.Info("Starting", {{"version", std::string(base::Version())},
                           {"revision", std::string(base::Revision())},
                           {"domain", settings.domain_namespace + "/" + settings.domain_name},
                           {"uid", settings.self.domain},
                           {"clique", settings.self.clique},
                           {"node", settings.self.node}});
  command_line::SayUnused(settings.unused_flags, logger);
  imex_daemon::Programs programs;
  if (!settings.self.clique.empty()) {
    auto prepared = imex_daemon::Prepare(settings, Search());
    if (!prepared) return Fail(prepared.error(), command_line::kFailed);
    programs = *std::move(prepared);
  }
  kube::ExecRunner exec(base::Environment(), kPluginPatience, clock, logger);
  const imex_daemon::Context context = {
      .settings = settings,
      .clock = clock,
      .logger = logger,
      .programs = std::move(programs),
      .environment = base::Environment(),
      .load_config = [&] {
        return kube::LoadConfig(
            {.kubeconfig = settings.kubeconfig, .environment = base::GetEnv, .exec = &exec}, clock);
      }};
  const auto ended = imex_daemon::Run(context, tasks, [&] { return stopping.load(); });
  return ended ? 0 : Fail(ended.error(), command_line::kFailed);
}

}  // namespace

int main(int argc, char** argv) {
  // A heap for each thread would be most of what this process needs.
  mallopt(M_ARENA_MAX, 1);
  const imex_daemon::Parsed parsed =
      imex_daemon::Parse(std::vector<std::string>(argv + 1, argv + argc));
  if (parsed.exit) {
    std::fputs(parsed.exit->text.c_str(), parsed.exit->status == 0 ? stdout : stderr);
    return parsed.exit->status;
  }
  const imex_daemon::Settings& settings = parsed.settings;
  const base::SystemClock clock;
  std::signal(SIGCHLD, SIG_DFL);  // Or how a program ends is hidden, if it was ignored.
  if (settings.command == imex_daemon::Command::kCheck) {
    return Check(settings, clock);
  }
  const auto logger = logging::MakeLogger({.format = *logging::ParseFormat(settings.log_format),
                                           .verbosity = settings.verbosity,
                                           .identifier = "compute-domain-daemon"},
                                          clock);
  return Run(settings, clock, *logger);
}
