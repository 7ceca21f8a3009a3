// gpu-kubelet-plugin: flags, signals, and one run.

#include <linux/capability.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "node/dra/process/privileges.h"
#include "node/driver/proc_masks.h"
#include "node/gpu/api/gpu_api.h"
#include "node/gpu/api/node_status.h"
#include "node/gpu/preflight/probe.h"
#include "node/gpu/process/run.h"
#include "node/gpu/settings.h"
#include "pkg/base/heap.h"
#include "pkg/base/version.h"
#include "pkg/command_line/exit.h"
#include "pkg/command_line/flags.h"
#include "pkg/command_line/frame.h"
#include "pkg/http/curl_transport.h"
#include "pkg/kube/runtime/wait.h"

namespace {

int Serve(const gpu::Settings& settings, command_line::Frame& frame) {
  base::Logger& logger = frame.logger();
  logger.Info("Starting",
              {{"version", std::string(base::Version())},
               {"revision", std::string(base::Revision())},
               {"node", settings.node},
               {"namespace", settings.ns},
               {"settings", command_line::Summary(settings, {{"nodeName", settings.node}})},
               {"featureGates", settings.feature_gates.ToJson()}});
  command_line::SayUnused(settings.unused_flags, logger);
  api::LogIgnored(settings.feature_gates.IgnoredOfGpus(), logger);
  // If devices are read from another file than the kernel's, so are the driver's files.
  if (settings.devices.empty()) driver::UnmountProcMasks(logger);
  // In each thread: another one than the thread that handles them would take them.
  dra::BlockSignals();
  auto reader = dra::StartReader(settings.keeps_privileges, {}, logger);
  frame.HandleSignals(dra::EndSignals(), {}, command_line::Repeated::kEndsAtOnce, "main.RunPlugin");
  return command_line::StatusOf(gpu::Run(settings, frame, std::move(reader)));
}

// Returns what the API server says of the node. Empty if that cannot be read; does not wait.
gpu::NodeStatus StatusOfNode(const std::string& node, command_line::Frame& frame) {
  const auto config = frame.LoadConfig();
  if (!config) return {};
  http::CurlTransport transport(config->endpoint, *config->credentials,
                                base::UserAgent(gpu::kProgram));
  return gpu::ReadNodeStatus(transport, node).value_or(gpu::NodeStatus());
}

// Its output is the container's, so `kubectl describe pod` shows it.
int Preflight(const gpu::Settings& settings, command_line::Frame& frame) {
  dra::EndAtSignals();  // Nothing needs cleanup.
  // As the plugin, so that what succeeds here does there.
  if (!settings.keeps_privileges) dra::DropPrivileges({CAP_MKNOD, CAP_CHOWN}, frame.logger());
  const gpu::ProbeContext context = {
      .settings = settings,
      .clock = frame.clock(),
      // Each time: a device plugin may be removed meanwhile.
      .node_status = [&] { return StatusOfNode(settings.node, frame); },
      .say = [](const std::string& line) { std::fputs((line + "\n").c_str(), stderr); },
      .pause = [&](auto time) { kube::WaitUntil(frame.clock(), frame.clock().Now() + time, {}); }};
  return gpu::WaitForNode(context) ? 0 : command_line::kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  base::LimitHeaps(1);
  const gpu::Parsed parsed = gpu::Parse(std::vector<std::string>(argv + 1, argv + argc));
  if (parsed.exit) return command_line::Print(*parsed.exit);
  const gpu::Settings& settings = parsed.settings;
  command_line::Frame frame("gpu-kubelet-plugin", settings);
  if (settings.command == gpu::Command::kPreflight) return Preflight(settings, frame);
  return Serve(settings, frame);
}
