// gpu-kubelet-plugin: flags, signals, and one run.

#include <string>
#include <utility>
#include <vector>

#include "node/dra/process/privileges.h"
#include "node/driver/proc_masks.h"
#include "node/gpu/api/gpu_api.h"
#include "node/gpu/process/run.h"
#include "node/gpu/settings.h"
#include "pkg/base/heap.h"
#include "pkg/base/version.h"
#include "pkg/command_line/exit.h"
#include "pkg/command_line/flags.h"
#include "pkg/command_line/frame.h"

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

}  // namespace

int main(int argc, char** argv) {
  base::LimitHeaps(1);
  const gpu::Parsed parsed = gpu::Parse(std::vector<std::string>(argv + 1, argv + argc));
  if (parsed.exit) return command_line::Print(*parsed.exit);
  const gpu::Settings& settings = parsed.settings;
  command_line::Frame frame("gpu-kubelet-plugin", settings);
  return Serve(settings, frame);
}
