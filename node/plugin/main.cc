// compute-domain-kubelet-plugin: flags, signals, and one run.

#include <linux/capability.h>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/dra/process/privileges.h"
#include "node/driver/proc_masks.h"
#include "node/plugin/api/api_calls.h"
#include "node/plugin/api/plugin_api.h"
#include "node/plugin/preflight/probe.h"
#include "node/plugin/process/run.h"
#include "node/plugin/settings.h"
#include "pkg/base/heap.h"
#include "pkg/base/version.h"
#include "pkg/command_line/exit.h"
#include "pkg/command_line/flags.h"
#include "pkg/command_line/frame.h"
#include "pkg/http/curl_transport.h"
#include "pkg/kube/runtime/wait.h"

namespace {

int Serve(const plugin::Settings& settings, command_line::Frame& frame) {
  base::Logger& logger = frame.logger();
  logger.Info("Starting",
              {{"version", std::string(base::Version())},
               {"revision", std::string(base::Revision())},
               {"node", settings.node},
               {"namespace", settings.ns},
               {"settings", command_line::Summary(settings, {{"nodeName", settings.node}})},
               {"featureGates", settings.feature_gates.ToJson()}});
  command_line::SayUnused(settings.unused_flags, logger);
  api::LogIgnored(settings.IgnoredGates(), logger);
  // If devices are read from another file than the kernel's, so are the driver's files.
  if (settings.devices.empty()) driver::UnmountProcMasks(logger);
  // In each thread: another one than the thread that handles them would take them.
  dra::BlockSignals();
  // Before threads that must not have its rights. A query to the host's IMEX runs in the driver's
  // root.
  const std::vector<int> kept =
      settings.host_managed ? std::vector<int>{CAP_SYS_CHROOT} : std::vector<int>();
  auto reader = dra::StartReader(settings.keeps_privileges, kept, logger);
  frame.HandleSignals(dra::EndSignals(), {}, command_line::Repeated::kEndsAtOnce, "main.RunPlugin");
  return command_line::StatusOf(plugin::Run(settings, frame, std::move(reader)));
}

// Returns the runtime that the API server names. Empty if that cannot be read; does not wait.
std::string Runtime(const std::string& node, command_line::Frame& frame) {
  const auto config = frame.LoadConfig();
  if (!config) return {};
  http::CurlTransport transport(config->endpoint, *config->credentials,
                                base::UserAgent(plugin::kProgram));
  return plugin::ReadRuntime(transport, node).value_or("");
}

// Its output is the container's, so `kubectl describe pod` shows it.
int Preflight(const plugin::Settings& settings, command_line::Frame& frame) {
  dra::EndAtSignals();  // Nothing needs cleanup.
  // As the plugin, so that what succeeds here does there. It starts nvidia-imex in the driver's
  // root.
  if (!settings.keeps_privileges) {
    dra::DropPrivileges({CAP_MKNOD, CAP_CHOWN, CAP_SYS_CHROOT}, frame.logger());
  }
  std::optional<std::string> runtime;
  const plugin::ProbeContext context = {
      .settings = settings,
      .clock = frame.clock(),
      .runtime =
          [&] {
            if (!runtime) runtime = Runtime(settings.node, frame);
            return *runtime;
          },
      .say = [](const std::string& line) { std::fputs((line + "\n").c_str(), stderr); },
      .pause = [&](auto time) { kube::WaitUntil(frame.clock(), frame.clock().Now() + time, {}); }};
  return plugin::WaitForNode(context) ? 0 : command_line::kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  base::LimitHeaps(1);
  const plugin::Parsed parsed = plugin::Parse(std::vector<std::string>(argv + 1, argv + argc));
  if (parsed.exit) return command_line::Print(*parsed.exit);
  const plugin::Settings& settings = parsed.settings;
  command_line::Frame frame("compute-domain-kubelet-plugin", settings);
  if (settings.command == plugin::Command::kPreflight) return Preflight(settings, frame);
  return Serve(settings, frame);
}
