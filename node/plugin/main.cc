// compute-domain-kubelet-plugin: flags, signals, and one run.

#include <malloc.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "node/plugin/api/api_calls.h"
#include "node/plugin/api/api_client.h"
#include "node/plugin/loop/run.h"
#include "node/plugin/preflight/probe.h"
#include "node/plugin/preflight/proc_mounts.h"
#include "node/plugin/settings.h"
#include "pkg/base/environment.h"
#include "pkg/base/system_clock.h"
#include "pkg/base/task_queue.h"
#include "pkg/base/version.h"
#include "pkg/command_line/exit.h"
#include "pkg/command_line/flags.h"
#include "pkg/command_line/signals.h"
#include "pkg/http/curl_transport.h"
#include "pkg/kube/client/config.h"
#include "pkg/kube/client/exec_runner.h"
#include "pkg/kube/runtime/wait.h"
#include "pkg/logging/logger.h"

namespace {

// For the first answer of an exec plugin; only outside of a pod is there one.
constexpr auto kPluginPatience = std::chrono::seconds(5);

int Fail(const base::Error& error) {
  std::fputs((error.message + "\n").c_str(), stderr);
  return command_line::kFailed;
}

int Run(const plugin::Settings& settings, const base::Clock& clock, base::Logger& logger) {
  base::TaskQueue tasks;
  std::atomic<bool> stopping = false;
  const std::jthread signals =
      command_line::HandleSignals({.ends = {SIGTERM, SIGINT, SIGHUP, SIGQUIT},
                                   .end =
                                       [&] {
                                         stopping = true;
                                         tasks.Wake();
                                       }},
                                  logger);
  logger.Info("Starting", {{"version", std::string(base::Version())},
                           {"revision", std::string(base::Revision())},
                           {"node", settings.node},
                           {"namespace", settings.ns}});
  command_line::SayUnused(settings.unused_flags, logger);
  // Where devices are read from another file than the kernel's, so are the driver's.
  if (settings.devices.empty()) plugin::UnmountProcMasks(logger);
  kube::ExecRunner exec(base::Environment(), kPluginPatience, clock, logger);
  const plugin::Context context = {
      .settings = settings, .clock = clock, .logger = logger, .load_config = [&] {
        return kube::LoadConfig(
            {.kubeconfig = settings.kubeconfig, .environment = base::GetEnv, .exec = &exec}, clock);
      }};
  const auto ended = plugin::Run(context, tasks, [&] { return stopping.load(); });
  return ended ? 0 : Fail(ended.error());
}

// What the API server says of it. Where that is not to be had, nobody waits.
std::string Runtime(const plugin::Settings& settings, const base::Clock& clock,
                    base::Logger& logger) {
  kube::ExecRunner exec(base::Environment(), kPluginPatience, clock, logger);
  auto config = kube::LoadConfig(
      {.kubeconfig = settings.kubeconfig, .environment = base::GetEnv, .exec = &exec}, clock);
  if (!config) return {};
  http::CurlTransport transport(config->endpoint, *config->credentials,
                                base::UserAgent(plugin::kProgram));
  return plugin::ReadRuntime(transport, settings.node).value_or("");
}

// Its words are the container's, and by that what `kubectl describe pod` shows.
int Preflight(const plugin::Settings& settings, const base::Clock& clock, base::Logger& logger) {
  // Nothing is begun that would have to be ended; and process 1 of a container hears what it asks
  // for.
  for (const int signal : {SIGTERM, SIGINT}) {
    std::signal(signal, [](int /*signal*/) { std::_Exit(command_line::kFailed); });
  }
  std::optional<std::string> runtime;
  const plugin::ProbeContext context = {
      .settings = settings,
      .clock = clock,
      .runtime =
          [&] {
            if (!runtime) runtime = Runtime(settings, clock, logger);
            return *runtime;
          },
      .say = [](const std::string& line) { std::fputs((line + "\n").c_str(), stderr); },
      .pause =
          [&](std::chrono::nanoseconds time) { kube::WaitUntil(clock, clock.Now() + time, {}); }};
  return plugin::WaitForNode(context) ? 0 : command_line::kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  // A heap for each thread would be most of what this process needs.
  mallopt(M_ARENA_MAX, 1);
  const plugin::Parsed parsed = plugin::Parse(std::vector<std::string>(argv + 1, argv + argc));
  if (parsed.exit) {
    std::fputs(parsed.exit->text.c_str(), parsed.exit->status == 0 ? stdout : stderr);
    return parsed.exit->status;
  }
  const plugin::Settings& settings = parsed.settings;
  const base::SystemClock clock;
  std::signal(SIGCHLD, SIG_DFL);  // Or how a program ends is hidden, if it was ignored.
  const auto logger = logging::MakeLogger({.format = *logging::ParseFormat(settings.log_format),
                                           .verbosity = settings.verbosity,
                                           .identifier = "compute-domain-kubelet-plugin"},
                                          clock);
  if (settings.command == plugin::Command::kPreflight) return Preflight(settings, clock, *logger);
  return Run(settings, clock, *logger);
}
